// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/shared/obstacle.hpp"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/preload/shared/raw_syscalls.hpp"

namespace iotrail::capture::preload {

namespace {

constexpr iot_u32 kHeadBytes = 1024; // holds the program headers of common linkers' output
constexpr int kInterpretersMost = 4; // the kernel's limit for scripts of scripts
constexpr char kLinker[] = "ld-linux";
constexpr char kSanitizer[] = "libasan.so"; // GCC's; clang's is part of the program
constexpr iot_u32 kNeededMost = 64;         // entries of the dynamic section to check

struct Head {
  unsigned char bytes[kHeadBytes + 1]; // a zero after the data
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

// The program that the kernel executes for "#! /usr/bin/env -S python3", cut out in place; null:
// not a script.
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

struct Program {
  long file;
  const Head& head;
  Elf64_Ehdr elf{};

  bool segment(iot_u32 number, Elf64_Phdr* to) const {
    const iot_u64 at = elf.e_phoff + static_cast<iot_u64>(number) * elf.e_phentsize;
    if (number >= elf.e_phnum || at > kHeadBytes ||
        at + sizeof(*to) > static_cast<iot_u64>(head.size))
      return false;
    memcpy(to, head.bytes + at, sizeof(*to));
    return true;
  }
  bool read(iot_u64 offset, void* to, iot_u64 bytes) const {
    return raw_syscall(SYS_pread64, file, address(to), static_cast<long>(bytes),
                       static_cast<long>(offset)) == static_cast<long>(bytes);
  }
  // File offset of an address in the loaded program; 0: none.
  iot_u64 offset_of(iot_u64 at) const {
    Elf64_Phdr load;
    for (iot_u32 i = 0; segment(i, &load); ++i)
      if (load.p_type == PT_LOAD && at - load.p_vaddr < load.p_filesz)
        return load.p_offset + (at - load.p_vaddr);
    return 0;
  }
};

// Whether one of the program's names of that kind (DT_NEEDED, DT_SONAME) has this prefix.
template <iot_u64 kSize>
bool has_name(const Program& program, const Elf64_Phdr& dynamic, Elf64_Sxword kind,
              const char (&begin)[kSize]) {
  Elf64_Dyn entries[kNeededMost] = {};
  const iot_u64 bytes = dynamic.p_filesz < sizeof(entries) ? dynamic.p_filesz : sizeof(entries);
  if (!program.read(dynamic.p_offset, entries, bytes))
    return false;
  iot_u64 names = 0;
  for (const Elf64_Dyn& entry : entries)
    if (entry.d_tag == DT_STRTAB)
      names = program.offset_of(entry.d_un.d_ptr);
  for (const Elf64_Dyn& entry : entries) {
    char name[kSize - 1];
    if (entry.d_tag == kind && names != 0 &&
        program.read(names + entry.d_un.d_val, name, sizeof(name)) &&
        memcmp(name, begin, sizeof(name)) == 0)
      return true;
  }
  return false;
}

template <iot_u64 kSize>
bool has_name(const char* path, const Head& head, Elf64_Sxword kind, const char (&begin)[kSize]) {
  Program program{raw_syscall(SYS_openat, AT_FDCWD, address(path), O_RDONLY | O_CLOEXEC), head};
  if (program.file < 0)
    return false;
  memcpy(&program.elf, head.bytes, sizeof(program.elf));
  bool is_there = false;
  Elf64_Phdr dynamic;
  for (iot_u32 i = 0; program.segment(i, &dynamic); ++i)
    is_there |= dynamic.p_type == PT_DYNAMIC && has_name(program, dynamic, kind, begin);
  raw_syscall(SYS_close, program.file);
  return is_there;
}

// A linker of another C library would not find the library's dependencies.
Obstacle obstacle_of_linker(const Head& head, const Elf64_Phdr& segment) {
  if (segment.p_offset >= static_cast<iot_u64>(head.size))
    return Obstacle::none;
  return strstr(reinterpret_cast<const char*>(head.bytes) + segment.p_offset, kLinker) != nullptr
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

// Capabilities give nothing to programs of root.
bool has_capabilities(const char* path) {
  return raw_syscall(SYS_geteuid) != 0 &&
         raw_syscall(SYS_getxattr, address(path), address("security.capability"), 0, 0) > 0;
}

Obstacle obstacle_of_program(const char* path, const Head& head) {
  const Obstacle obstacle = obstacle_of_elf(head);
  return obstacle == Obstacle::none && has_name(path, head, DT_NEEDED, kSanitizer)
             ? Obstacle::other_runtime
             : obstacle;
}

// The program that the C library's dynamic linker, executed by hand, will start; null: none.
const char* program_of_linker(const char* const* arguments) {
  constexpr const char* kWithValue[] = {
      "--library-path",      "--inhibit-rpath",       "--audit", "--preload", "--argv0",
      "--glibc-hwcaps-mask", "--glibc-hwcaps-prepend"};
  constexpr const char* kAlone[] = {"--inhibit-cache"};
  const auto is_one_of = [](const char* argument, const auto& options) {
    for (const char* const option : options)
      if (strcmp(argument, option) == 0)
        return true;
    return false;
  };
  if (arguments == nullptr || arguments[0] == nullptr)
    return nullptr;
  for (++arguments; *arguments != nullptr && strncmp(*arguments, "--", 2) == 0; ++arguments) {
    if (strcmp(*arguments, "--") == 0)
      return arguments[1];
    if (is_one_of(*arguments, kWithValue) && arguments[1] != nullptr)
      ++arguments;
    else if (!is_one_of(*arguments, kAlone)) // --list, --verify, --help
      return nullptr;
  }
  return *arguments;
}

// A program loaded by the linker keeps the current identity.
Obstacle obstacle_of_loaded(const char* path, Head* head) {
  if (path == nullptr || strchr(path, '/') == nullptr || !read_head(path, head) || !is_elf(*head))
    return Obstacle::none;
  return obstacle_of_program(path, *head);
}

bool changes_identity(const struct stat& attributes) {
  const bool user = (attributes.st_mode & S_ISUID) != 0 &&
                    attributes.st_uid != static_cast<uid_t>(raw_syscall(SYS_geteuid));
  const bool group = (attributes.st_mode & S_ISGID) != 0 &&
                     attributes.st_gid != static_cast<gid_t>(raw_syscall(SYS_getegid));
  return user || group;
}

} // namespace

Obstacle obstacle_of_path(const char* path, const char* const* arguments) {
  Head head;
  char interpreter[kHeadBytes + 1];
  for (int depth = 0; depth <= kInterpretersMost; ++depth) {
    if (!read_head(path, &head))
      return Obstacle::none;
    if (const char* const next = interpreter_of(&head); next != nullptr) {
      arguments = nullptr; // they belong to the script
      memcpy(interpreter, next, strlen(next) + 1);
      path = interpreter;
      continue;
    }
    if (!is_elf(head))
      return Obstacle::none;
    if (changes_identity(head.attributes) || has_capabilities(path))
      return Obstacle::changes_identity;
    const Obstacle obstacle = obstacle_of_program(path, head);
    return obstacle == Obstacle::is_static && has_name(path, head, DT_SONAME, kLinker)
               ? obstacle_of_loaded(program_of_linker(arguments), &head)
               : obstacle;
  }
  return Obstacle::none;
}

} // namespace iotrail::capture::preload
