// SPDX-License-Identifier: BSD-3-Clause
//
// An object in memory that a test shares with its children.
#pragma once

#include <sys/mman.h>

#include <new>

#include "base/result.hpp"

namespace iotrail::live {

template <class T> class Shared {
public:
  Shared() {
    void* const memory =
        ::mmap(nullptr, sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    IOTRAIL_CHECK(memory != MAP_FAILED);
    object_ = new (memory) T{};
  }
  ~Shared() { ::munmap(object_, sizeof(T)); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;

  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }

private:
  T* object_;
};

} // namespace iotrail::live
