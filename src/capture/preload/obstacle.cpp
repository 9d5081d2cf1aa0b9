// SPDX-License-Identifier: BSD-3-Clause
//
// Why the dynamic linker will not load the preload library into a program.
#include <elf.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "capture/preload/preload_source.hpp"

namespace iotrail::capture {

namespace {

constexpr int kInterpretersMost = 4; // as the kernel: scripts of scripts
constexpr std::size_t kHeadBytes = 4096;
using Head = std::array<std::byte, kHeadBytes>;

std::string_view text_of(const Head& head, std::size_t size) {
  return {reinterpret_cast<const char*>(head.data()), size};
}

// "#! /usr/bin/env -S python3 -u": what the kernel executes.
std::filesystem::path interpreter_of(std::string_view head) {
  std::string_view line = head.substr(2, head.find('\n') - 2);
  const std::size_t begin = line.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  line.remove_prefix(begin);
  return std::string(line.substr(0, line.find_first_of(" \t")));
}

template <class T> T read_at(ByteSpan bytes, std::size_t offset) {
  if (offset > bytes.size())
    return {};
  return ByteReader(bytes.subspan(offset)).read<T>();
}

bool has_interpreter(int file, ByteSpan head) {
  const auto header = read_at<Elf64_Ehdr>(head, 0);
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    const auto at = static_cast<off_t>(header.e_phoff + i * header.e_phentsize);
    if (pread(file, &segment, sizeof(segment), at) != sizeof(segment))
      return false;
    if (segment.p_type == PT_INTERP)
      return true;
  }
  return false;
}

std::string elf_obstacle(int file, ByteSpan head) {
  const auto header = read_at<Elf64_Ehdr>(head, 0);
  if (header.e_ident[EI_CLASS] == ELFCLASS32)
    return "it is a 32-bit program";
  if (!has_interpreter(file, head))
    return "it is statically linked";
  return {};
}

} // namespace

std::string preload_obstacle(const std::filesystem::path& program) {
  std::filesystem::path path = program;
  for (int depth = 0; depth <= kInterpretersMost; ++depth) {
    const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    struct stat attributes{};
    if (!file || fstat(file.get(), &attributes) != 0)
      return {};
    Head head{};
    const ssize_t size = pread(file.get(), head.data(), head.size(), 0);
    const std::string_view text = text_of(head, size > 0 ? static_cast<std::size_t>(size) : 0);
    if (text.starts_with("#!")) {
      path = interpreter_of(text);
      continue;
    }
    if (!text.starts_with(ELFMAG))
      return {};
    const bool changes_user = (attributes.st_mode & S_ISUID) != 0 && attributes.st_uid != geteuid();
    const bool changes_group =
        (attributes.st_mode & S_ISGID) != 0 && attributes.st_gid != getegid();
    if (changes_user || changes_group)
      return "it is set-user-ID or set-group-ID, and the linker ignores LD_PRELOAD for it";
    return elf_obstacle(file.get(), std::as_bytes(std::span(text)));
  }
  return {};
}

} // namespace iotrail::capture
