// SPDX-License-Identifier: BSD-3-Clause
#include <elf.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include "capture/preload/collector/preload_source.hpp"

namespace iotrail::capture {

namespace fs = std::filesystem;

namespace {

constexpr char kLibraryName[] = "libiotrail-preload.so";

// Relative to the program: installed, which the build tree imitates below src/; then for unit
// tests, benchmarks, live tests of a build.
constexpr const char* kLibraryFolders[] = {"",
                                           "../lib/iotrail",
                                           "../lib",
                                           "../../lib/iotrail",
                                           "../src/lib/iotrail",
                                           "../../src/lib/iotrail"};

#if defined(__x86_64__)
constexpr unsigned kMachine = EM_X86_64;
#elif defined(__aarch64__)
constexpr unsigned kMachine = EM_AARCH64;
#else
#error "which machine of ELF is this?"
#endif

// With an invalid file, the linker would print an error into the output of each program. Empty: it
// is valid.
std::string why_no_library(const fs::path& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored))
    return "it is no regular file";
  std::ifstream file(path, std::ios::binary);
  Elf64_Ehdr head{};
  file.read(reinterpret_cast<char*>(&head), sizeof(head));
  if (file.gcount() == 0)
    return "it is empty";
  if (file.gcount() != sizeof(head) || std::memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
      head.e_type != ET_DYN)
    return "it is no shared library";
  if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_machine != kMachine)
    return "it is a library for another kind of machine";
  return {};
}

} // namespace

Result<fs::path> preload_library() {
  std::error_code ignored;
  std::vector<fs::path> tried;
  if (const char* const named = getenv("IOTRAIL_PRELOAD_LIBRARY"); named != nullptr)
    tried.emplace_back(named);
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* const folder : kLibraryFolders)
    tried.push_back(beside / folder / kLibraryName);
  for (const fs::path& path : tried) {
    if (access(path.c_str(), R_OK) != 0)
      continue;
    fs::path found = fs::canonical(path, ignored);
    if (found.string().find_first_of(" :") != std::string::npos)
      return fail("cannot preload " + found.string(),
                  "LD_PRELOAD cannot hold a path with a blank or a colon");
    if (const std::string why = why_no_library(found); !why.empty())
      return fail("cannot preload " + found.string(), why, "install iotrail again, or build it");
    return found;
  }
  std::string places;
  for (const fs::path& path : tried)
    places += "\n    " + path.lexically_normal().string();
  return fail(std::string("cannot find ") + kLibraryName, "not in" + places,
              "set IOTRAIL_PRELOAD_LIBRARY to its path");
}

} // namespace iotrail::capture
