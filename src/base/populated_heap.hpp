// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace iotrail {

// During its lifetime, this thread's allocator has `bytes` of memory that the kernel has already
// populated. Otherwise the first touch of each page of a large allocation costs a fault. That is 10
// us in some virtual machines, or 14 ms for 5 MB. Free memory returns to the kernel at the end.
// Changes malloc settings of the whole process; use one at a time.
class PopulatedHeap {
public:
  explicit PopulatedHeap(std::size_t bytes) {
    constexpr int kNever = 32 << 20;     // the maximum that mallopt accepts for the first
    ::mallopt(M_MMAP_THRESHOLD, kNever); // allocate large blocks from the heap too
    ::mallopt(M_TRIM_THRESHOLD, kNever); // do not return freed memory
    void* memory = std::malloc(bytes);
    if (memory == nullptr)
      return;
    constexpr std::size_t kPage = 4096;
    void* pages = memory;
    std::size_t room = bytes;
    if (std::align(kPage, kPage, pages, room) !=
        nullptr) // since Linux 5.14; before, pages are populated one by one
      ::madvise(pages, room / kPage * kPage, MADV_POPULATE_WRITE);
    std::free(memory);
  }
  ~PopulatedHeap() {
    constexpr int kUsual = 128 << 10;
    ::mallopt(M_MMAP_THRESHOLD, kUsual);
    ::mallopt(M_TRIM_THRESHOLD, kUsual);
    ::malloc_trim(0);
  }
  PopulatedHeap(const PopulatedHeap&) = delete;
  PopulatedHeap& operator=(const PopulatedHeap&) = delete;
};

} // namespace iotrail
