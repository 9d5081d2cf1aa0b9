// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/next_program.hpp"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/preload/recorder.hpp"
#include "capture/preload/syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr io_u32 kHeadBytes = 1024; // holds the program headers of what linkers make

bool is_elf(const unsigned char* head, long size) {
  return size >= static_cast<long>(sizeof(Elf64_Ehdr)) && memcmp(head, ELFMAG, SELFMAG) == 0;
}

// The program asks for a dynamic linker; true also where that is not known.
bool asks_for_linker(const unsigned char* head, long size) {
  Elf64_Ehdr elf;
  memcpy(&elf, head, sizeof(elf));
  for (io_u32 i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    const io_u64 at = elf.e_phoff + static_cast<io_u64>(i) * elf.e_phentsize;
    if (at + sizeof(segment) > static_cast<io_u64>(size))
      return true;
    memcpy(&segment, head + at, sizeof(segment));
    if (segment.p_type == PT_INTERP)
      return true;
  }
  return false;
}

bool changes_identity(const struct stat& attributes) {
  const bool user = (attributes.st_mode & S_ISUID) != 0 &&
                    attributes.st_uid != static_cast<uid_t>(raw_syscall(SYS_geteuid));
  const bool group = (attributes.st_mode & S_ISGID) != 0 &&
                     attributes.st_gid != static_cast<gid_t>(raw_syscall(SYS_getegid));
  return user || group;
}

} // namespace

void count_if_not_followed(const char* path) {
  if (g_recording.arena == nullptr || g_recording.off || path == nullptr)
    return;
  const long file = raw_syscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return;
  unsigned char head[kHeadBytes];
  struct stat attributes{};
  const long size = raw_syscall(SYS_pread64, file, address(head), sizeof(head), 0);
  const bool is_known = raw_syscall(SYS_fstat, file, address(&attributes)) == 0;
  raw_syscall(SYS_close, file);
  if (!is_known || !is_elf(head, size))
    return;
  if (head[EI_CLASS] != ELFCLASS64 || !asks_for_linker(head, size) || changes_identity(attributes))
    __atomic_fetch_add(&g_recording.arena->not_followed, 1, __ATOMIC_RELAXED);
}

} // namespace iotrail::capture::preload
