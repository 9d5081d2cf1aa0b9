// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/library/readable.hpp"

#include <sys/uio.h>

#include "abi.h"
#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr iot_u64 kPageBytes = 4096; // the smallest
constexpr iot_u64 kPointers = 32;    // at once

// Number of bytes copied from the pieces, up to the first that cannot be read; or an error.
long copy_pieces(void* to, const iovec* pieces, iot_u64 count) {
  iot_u64 bytes = 0;
  for (iot_u64 i = 0; i < count; ++i)
    bytes += pieces[i].iov_len;
  const iovec local{to, bytes};
  return raw_syscall(SYS_process_vm_readv, raw_syscall(SYS_getpid), address(&local), 1,
                     address(pieces), static_cast<long>(count), 0);
}

// Those that lie in one page: it can be read as a whole or not at all.
iot_u64 pointers_of_page(const char* const* list) {
  const iot_u64 left =
      (kPageBytes - static_cast<iot_u64>(address(list)) % kPageBytes) / sizeof(*list);
  return left == 0 ? 1 : left < kPointers ? left : kPointers;
}

} // namespace

bool is_readable(const char* text) {
  char byte = 0;
  const iovec piece{const_cast<char*>(text), 1};
  return copy_pieces(&byte, &piece, 1) != -EFAULT;
}

bool are_readable(const char* const* list) {
  while (list != nullptr) {
    const char* texts[kPointers];
    const iot_u64 pointers = pointers_of_page(list);
    const iovec all{const_cast<char**>(list), pointers * sizeof(*list)};
    const long copied = copy_pieces(texts, &all, 1);
    if (copied != static_cast<long>(all.iov_len))
      return copied < 0 && copied != -EFAULT;
    iovec firsts[kPointers];
    iot_u64 count = 0;
    for (; count < pointers && texts[count] != nullptr; ++count)
      firsts[count] = {const_cast<char*>(texts[count]), 1};
    char bytes[kPointers];
    const long seen = count == 0 ? 0 : copy_pieces(bytes, firsts, count);
    if (seen != static_cast<long>(count))
      return seen < 0 && seen != -EFAULT;
    list = count < pointers ? nullptr : list + pointers;
  }
  return true;
}

} // namespace iotrail::capture::preload
