// SPDX-License-Identifier: BSD-3-Clause
//
// Bit packing, which all encodings of columns use. Values are packed in frames of 64, with as many
// bits a value as the largest one of the frame needs. A rare large value (a slow call, a jump in a
// file) therefore widens only 64 values.
//
//   packed = form [base] [width of each frame] frames     see docs/format.md
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "base/bytes.hpp"

namespace iotrail::store {

inline constexpr std::size_t kFrameValues = 64;

// The packer subtracts `base` and drops the trailing zero bits that all values share. With zigzag
// it then folds small negative numbers to small positive ones.
struct PackedForm {
  std::uint64_t base = 0;
  bool zigzag = false;
};

// The better form for these values, and the bits that packing takes with it.
struct PackedChoice {
  PackedForm form;
  std::uint64_t bits = 0;
};
PackedChoice choose_form(std::span<const std::uint64_t> values);

// Takes values in order, then writes them. Keeps its memory. Not thread-safe.
class Packer {
public:
  // Calls `value(i)` once for each i below `count`, in order. `count` is at most kBlockRowsMax.
  template <class Value> void fill(std::size_t count, Value value);

  std::uint64_t bits_used() const { return bits_used_; } // used by any of the values
  std::uint64_t min() const;                             // smallest value as a signed number

  // Writes the values, from which the caller has subtracted `form.base`, and consumes them.
  void write(PackedForm form, ByteWriter& out);

  // Writes values of at most one byte, not all 0, as write() would with base 0.
  void write_bytes(std::span<const std::uint8_t> values, ByteWriter& out);

private:
  template <class Value>
  static std::uint64_t fill_frame(std::uint64_t* __restrict out, std::size_t count, Value& value) {
    std::uint64_t used = 0;
    for (std::size_t i = 0; i < count; ++i)
      used |= out[i] = value(i);
    return used;
  }

  std::size_t count_ = 0;
  std::uint64_t bits_used_ = 0;
  std::vector<std::uint64_t> values_; // whole frames, the last one padded with zeros
  std::vector<std::uint64_t> used_;   // bits used, for each frame
  std::vector<std::uint8_t> widths_;  // of each frame
  std::vector<std::uint64_t> words_;  // packed frames; only grows
};

template <class Value> void Packer::fill(std::size_t count, Value value) {
  const std::size_t frames = (count + kFrameValues - 1) / kFrameValues;
  values_.resize(frames * kFrameValues);
  used_.resize(frames);
  count_ = count;
  bits_used_ = 0;
  for (std::size_t frame = 0; frame < frames; ++frame) {
    const std::size_t first = frame * kFrameValues;
    const auto from_first = [&value, first](std::size_t i) { return value(first + i); };
    std::uint64_t* out = &values_[first];
    if (count - first >= kFrameValues) { // a loop of known length, which the compiler vectorizes
      used_[frame] = fill_frame(out, kFrameValues, from_first);
    } else {
      used_[frame] = fill_frame(out, count - first, from_first);
      std::fill(out + (count - first), out + kFrameValues, 0);
    }
    bits_used_ |= used_[frame];
  }
}

// Fills `values`. Afterwards in.ok() is false if the bytes did not suffice.
void read_packed(ByteReader& in, std::span<std::uint64_t> values);

} // namespace iotrail::store
