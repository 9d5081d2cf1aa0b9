// SPDX-License-Identifier: BSD-3-Clause
//
// Removes a file from the page cache.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "await.hpp"
#include "base/fd.hpp"

namespace iotrail::live {

// Whether any page of this file is in the page cache. Also true if that is unknown.
inline bool is_cached(int fd) {
  struct stat status{};
  if (::fstat(fd, &status) != 0)
    return true;
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes == 0)
    return false;
  void* memory = ::mmap(nullptr, bytes, PROT_READ, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    return true;
  const auto page_bytes = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages((bytes + page_bytes - 1) / page_bytes);
  const bool is_known = ::mincore(memory, bytes, pages.data()) == 0;
  ::munmap(memory, bytes);
  return !is_known ||
         std::ranges::any_of(pages, [](unsigned char page) { return (page & 1) != 0; });
}

// Removes all pages of this file from the page cache. False: some stay. Repeats, since the kernel
// skips pages that it is moving or freeing itself.
inline bool evict(const std::string& path) {
  // O_NOATIME: is_cached() maps the file, which would change its access time and cause a later
  // commit.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOATIME));
  bool is_refused = false;
  const bool is_evicted = await([&] {
    is_refused =
        ::fsync(file.get()) != 0 || ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0;
    return is_refused || !is_cached(file.get());
  });
  return is_evicted && !is_refused;
}

} // namespace iotrail::live
