// SPDX-License-Identifier: BSD-3-Clause
//
// The structures of Arrow's C data interface, in which the engine gives types and values of a
// chunk. Their layout is part of that interface and never changes. Both own what they point to,
// until release().
#pragma once

#include <cstdint>

extern "C" {

struct ArrowSchema {
  const char* format; // the type in letters: "l" is a signed integer of 64 bits
  const char* name;
  const char* metadata; // of types that Arrow itself lacks; nullptr: none
  std::int64_t flags;
  std::int64_t n_children;
  ArrowSchema** children;
  ArrowSchema* dictionary; // of values that are numbers of others; nullptr: they are not
  void (*release)(ArrowSchema*);
  void* private_data;
};

struct ArrowArray {
  std::int64_t length;
  std::int64_t null_count;
  std::int64_t offset;
  std::int64_t n_buffers;
  std::int64_t n_children;
  const void** buffers; // the first has a bit for each value: 0 is NULL; nullptr: none is NULL
  ArrowArray** children;
  ArrowArray* dictionary;
  void (*release)(ArrowArray*);
  void* private_data;
};

} // extern "C"

namespace iotrail::analysis {

// The flag of a field with values that may be NULL.
inline constexpr std::int64_t kArrowNullable = 2;

template <class T> class OwnedArrow {
public:
  OwnedArrow() = default;
  OwnedArrow(const OwnedArrow&) = delete;
  OwnedArrow& operator=(const OwnedArrow&) = delete;
  ~OwnedArrow() {
    if (value_.release != nullptr)
      value_.release(&value_);
  }

  T* operator->() { return &value_; }
  T& operator*() { return value_; }

private:
  T value_{};
};

} // namespace iotrail::analysis
