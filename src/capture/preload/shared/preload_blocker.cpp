// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/shared/preload_blocker.hpp"

#include <elf.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "capture/preload/shared/descriptor_link.hpp"
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

// Opens what an O_PATH descriptor refers to. Without /proc only the name is left: it must still be
// that file.
long reopen(long file, const char* path, const struct stat& attributes) {
  constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const DescriptorLink link(static_cast<int>(file));
  const long opened = raw_syscall(SYS_openat, AT_FDCWD, address(link.text), kFlags);
  if (opened != -ENOENT)
    return opened;
  const long named = raw_syscall(SYS_openat, AT_FDCWD, address(path), kFlags);
  struct stat found;
  if (named < 0 || (raw_syscall(SYS_fstat, named, address(&found)) == 0 &&
                    found.st_dev == attributes.st_dev && found.st_ino == attributes.st_ino))
    return named;
  raw_syscall(SYS_close, named);
  return -ESTALE;
}

// A program's file, if it is a regular one. Another user may have changed what has this name: a
// FIFO would make the caller wait, and opening a device may have any effect.
class ProgramFile {
public:
  explicit ProgramFile(const char* path) {
    const long found = raw_syscall(SYS_openat, AT_FDCWD, address(path), O_PATH | O_CLOEXEC);
    if (found < 0)
      return;
    if (raw_syscall(SYS_fstat, found, address(&head_.attributes)) == 0 &&
        S_ISREG(head_.attributes.st_mode))
      file_ = reopen(found, path, head_.attributes);
    raw_syscall(SYS_close, found);
    if (!read(0, head_.bytes, kHeadBytes, &head_.size))
      head_.size = 0;
    head_.bytes[head_.size] = 0;
  }
  ~ProgramFile() {
    if (file_ >= 0)
      raw_syscall(SYS_close, file_);
  }
  ProgramFile(const ProgramFile&) = delete;
  ProgramFile& operator=(const ProgramFile&) = delete;

  bool is_open() const { return file_ >= 0; }
  long descriptor() const { return file_; }
  Head& head() { return head_; }
  const Head& head() const { return head_; }

  bool read(iot_u64 offset, void* to, iot_u64 bytes) const {
    long size = 0;
    return read(offset, to, bytes, &size) && size == static_cast<long>(bytes);
  }

private:
  bool read(iot_u64 offset, void* to, iot_u64 bytes, long* size) const {
    *size = raw_syscall(SYS_pread64, file_, address(to), static_cast<long>(bytes),
                        static_cast<long>(offset));
    return *size >= 0;
  }

  long file_ = -1;
  Head head_{};
};

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
  const ProgramFile& file;
  Elf64_Ehdr elf{};

  explicit Program(const ProgramFile& of) : file(of) {
    memcpy(&elf, file.head().bytes, sizeof(elf));
  }
  bool segment(iot_u32 number, Elf64_Phdr* to) const {
    const iot_u64 at = elf.e_phoff + static_cast<iot_u64>(number) * elf.e_phentsize;
    if (number >= elf.e_phnum || at > kHeadBytes ||
        at + sizeof(*to) > static_cast<iot_u64>(file.head().size))
      return false;
    memcpy(to, file.head().bytes + at, sizeof(*to));
    return true;
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
  if (!program.file.read(dynamic.p_offset, entries, bytes))
    return false;
  iot_u64 names = 0;
  for (const Elf64_Dyn& entry : entries)
    if (entry.d_tag == DT_STRTAB)
      names = program.offset_of(entry.d_un.d_ptr);
  for (const Elf64_Dyn& entry : entries) {
    char name[kSize - 1];
    if (entry.d_tag == kind && names != 0 &&
        program.file.read(names + entry.d_un.d_val, name, sizeof(name)) &&
        memcmp(name, begin, sizeof(name)) == 0)
      return true;
  }
  return false;
}

template <iot_u64 kSize>
bool has_name(const ProgramFile& file, Elf64_Sxword kind, const char (&begin)[kSize]) {
  const Program program(file);
  bool is_there = false;
  Elf64_Phdr dynamic;
  for (iot_u32 i = 0; program.segment(i, &dynamic); ++i)
    is_there |= dynamic.p_type == PT_DYNAMIC && has_name(program, dynamic, kind, begin);
  return is_there;
}

// A linker of another C library would not find the library's dependencies.
PreloadBlocker blocker_of_linker(const Head& head, const Elf64_Phdr& segment) {
  if (segment.p_offset >= static_cast<iot_u64>(head.size))
    return PreloadBlocker::none;
  return strstr(reinterpret_cast<const char*>(head.bytes) + segment.p_offset, kLinker) != nullptr
             ? PreloadBlocker::none
             : PreloadBlocker::other_linker;
}

PreloadBlocker blocker_of_elf(const Head& head) {
  if (head.bytes[EI_CLASS] != ELFCLASS64)
    return PreloadBlocker::other_class;
  Elf64_Ehdr elf;
  memcpy(&elf, head.bytes, sizeof(elf));
  for (iot_u32 i = 0; i < elf.e_phnum; ++i) {
    Elf64_Phdr segment;
    const iot_u64 at = elf.e_phoff + static_cast<iot_u64>(i) * elf.e_phentsize;
    if (at + sizeof(segment) > static_cast<iot_u64>(head.size))
      return PreloadBlocker::none;
    memcpy(&segment, head.bytes + at, sizeof(segment));
    if (segment.p_type == PT_INTERP)
      return blocker_of_linker(head, segment);
  }
  return PreloadBlocker::is_static;
}

// Capabilities give nothing to programs of root.
bool has_capabilities(const ProgramFile& file) {
  return raw_syscall(SYS_geteuid) != 0 &&
         raw_syscall(SYS_fgetxattr, file.descriptor(), address("security.capability"), 0, 0) > 0;
}

PreloadBlocker blocker_of_program(const ProgramFile& file) {
  const PreloadBlocker preload_blocker = blocker_of_elf(file.head());
  return preload_blocker == PreloadBlocker::none && has_name(file, DT_NEEDED, kSanitizer)
             ? PreloadBlocker::other_runtime
             : preload_blocker;
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
PreloadBlocker blocker_of_loaded(const char* path) {
  if (path == nullptr || strchr(path, '/') == nullptr)
    return PreloadBlocker::none;
  const ProgramFile file(path);
  return file.is_open() && is_elf(file.head()) ? blocker_of_program(file) : PreloadBlocker::none;
}

bool changes_identity(const struct stat& attributes) {
  const bool user = (attributes.st_mode & S_ISUID) != 0 &&
                    attributes.st_uid != static_cast<uid_t>(raw_syscall(SYS_geteuid));
  const bool group = (attributes.st_mode & S_ISGID) != 0 &&
                     attributes.st_gid != static_cast<gid_t>(raw_syscall(SYS_getegid));
  return user || group;
}

} // namespace

PreloadBlocker blocker_of_path(const char* path, const char* const* arguments) {
  char interpreter[kHeadBytes + 1];
  for (int depth = 0; depth <= kInterpretersMost; ++depth) {
    ProgramFile file(path);
    if (!file.is_open())
      return PreloadBlocker::none;
    if (const char* const next = interpreter_of(&file.head()); next != nullptr) {
      arguments = nullptr; // they belong to the script
      memcpy(interpreter, next, strlen(next) + 1);
      path = interpreter;
      continue;
    }
    if (!is_elf(file.head()))
      return PreloadBlocker::none;
    if (changes_identity(file.head().attributes) || has_capabilities(file))
      return PreloadBlocker::changes_identity;
    const PreloadBlocker preload_blocker = blocker_of_program(file);
    return preload_blocker == PreloadBlocker::is_static && has_name(file, DT_SONAME, kLinker)
               ? blocker_of_loaded(program_of_linker(arguments))
               : preload_blocker;
  }
  return PreloadBlocker::none;
}

} // namespace iotrail::capture::preload
