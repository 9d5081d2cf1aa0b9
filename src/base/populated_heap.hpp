// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <malloc.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace iotrail {

// While it lives, the allocator of this thread has `bytes` at hand that the kernel has put in place at once. Otherwise each
// page of a large allocation costs a fault when it is touched first: 10 us in some virtual machines, where a step of 5 MB takes 14 ms.
// What is free at its end goes back to the kernel. Changes settings of malloc for the whole process; for one at a time.
class PopulatedHeap {
public:
  explicit PopulatedHeap(std::size_t bytes) {
    constexpr int kNever = 32 << 20;     // the most that mallopt takes for the first
    ::mallopt(M_MMAP_THRESHOLD, kNever); // large ones from the heap too
    ::mallopt(M_TRIM_THRESHOLD, kNever); // which keeps what is given back
    void* memory = std::malloc(bytes);
    if (memory == nullptr)
      return;
    constexpr std::size_t kPage = 4096;
    void* pages = memory;
    std::size_t room = bytes;
    if (std::align(kPage, kPage, pages, room) !=
        nullptr) // since Linux 5.14; before, pages come one by one
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
