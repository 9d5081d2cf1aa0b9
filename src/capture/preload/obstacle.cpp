// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/obstacle.hpp"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/preload/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr iot_u32 kHeadBytes = 1024; // holds the program headers of what linkers make
constexpr int kInterpretersMost = 4; // as the kernel: scripts of scripts
constexpr char kLinkerName[] = "/ld-linux";

struct Head {
  unsigned char bytes[kHeadBytes + 1]; // a zero behind what was read
  long size;
  struct stat attributes;
};

bool read_head(const char* path, Head* head) {
  const long file = raw_syscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC);
  if (file < 0)
    return false;
  head->size = raw_syscall(SYS_pread64, file, address(head->bytes), kHeadBytes, 0);
  const bool is_known = raw_syscall(SYS_fstat, file, address(&head->attributes)) == 0;
  raw_syscall(SYS_close, file);
  if (!is_known || head->size < 0)
    return false;
  head->bytes[head->size] = 0;
  return true;
}

// "#! /usr/bin/env -S python3": what the kernel executes, cut out where it stands; null: it is no script.
const char* interpreter_of(Head* head) {
  char* at = reinterpret_cast<char*>(head->bytes);
  if (strncmp(at, "#!", 2) != 0)
    return nullptr;
  at += 2;
  at += strspn(at, " \t");
  at[strcspn(at, " \t\n")] = 0;
  return at;
}

bool is_elf(const Head& head) {
  return head.size >= static_cast<long>(sizeof(Elf64_Ehdr)) &&
         memcmp(head.bytes, ELFMAG, SELFMAG) == 0;
}

// A linker of another C library would not find what the library needs.
Obstacle obstacle_of_linker(const Head& head, const Elf64_Phdr& segment) {
  if (segment.p_offset >= static_cast<iot_u64>(head.size))
    return Obstacle::none;
  return strstr(reinterpret_cast<const char*>(head.bytes) + segment.p_offset, kLinkerName) !=
                 nullptr
             ? Obstacle::none
             : Obstacle::other_linker;
}

Obstacle obstacle_of_elf(const Head& head) {
  if (head.bytes[EI_CLASS] != ELFCLASS64)
    return Obstacle::other_class;
  Elf64_Ehdr elf;
  memcpy(&elf, head.bytes, sizeof(elf));
  for (iot_u32 i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    const iot_u64 at = elf.e_phoff + static_cast<iot_u64>(i) * elf.e_phentsize;
    if (at + sizeof(segment) > static_cast<iot_u64>(head.size))
      return Obstacle::none;
    memcpy(&segment, head.bytes + at, sizeof(segment));
    if (segment.p_type == PT_INTERP)
      return obstacle_of_linker(head, segment);
  }
  return Obstacle::is_static;
}

bool changes_identity(const struct stat& attributes) {
  const bool user = (attributes.st_mode & S_ISUID) != 0 &&
                    attributes.st_uid != static_cast<uid_t>(raw_syscall(SYS_geteuid));
  const bool group = (attributes.st_mode & S_ISGID) != 0 &&
                     attributes.st_gid != static_cast<gid_t>(raw_syscall(SYS_getegid));
  return user || group;
}

} // namespace

Obstacle obstacle_of_path(const char* path) {
  Head head;
  char interpreter[kHeadBytes + 1];
  for (int depth = 0; depth <= kInterpretersMost; ++depth) {
    if (!read_head(path, &head))
      return Obstacle::none;
    if (const char* const next = interpreter_of(&head); next != nullptr) {
      memcpy(interpreter, next, strlen(next) + 1);
      path = interpreter;
      continue;
    }
    if (!is_elf(head))
      return Obstacle::none;
    return changes_identity(head.attributes) ? Obstacle::changes_identity : obstacle_of_elf(head);
  }
  return Obstacle::none;
}

} // namespace iotrail::capture::preload
