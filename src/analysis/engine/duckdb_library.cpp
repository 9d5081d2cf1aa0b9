// SPDX-License-Identifier: BSD-3-Clause
//
// The functions of duckdb.h as jumps through a table that load_duckdb() fills from the library. The
// rows of duckdb_functions.def are generated from the header, so none can be missing.
#include "analysis/engine/duckdb_library.hpp"

#include <dlfcn.h>

#include <iterator>

namespace {

constexpr const char* kNames[] = {
#define DUCKDB_FUNCTION(place, name) #name,
#include "duckdb_functions.def"
#undef DUCKDB_FUNCTION
};

} // namespace

extern "C" {
[[gnu::visibility("hidden")]] void* iotrail_duckdb_functions[std::size(kNames)];
}

// clang-format off
#define DUCKDB_FUNCTION(place, name)                                                               \
  asm(".text\n.globl " #name "\n.hidden " #name "\n.type " #name ", @function\n"                   \
      #name ":\n  jmp *iotrail_duckdb_functions+8*" #place "(%rip)\n");
#include "duckdb_functions.def"
#undef DUCKDB_FUNCTION
// clang-format on

namespace iotrail::analysis {
namespace {

Error no_library(const char* why) {
  return {"SQL engine", why != nullptr ? why : "the library cannot be loaded",
          "tools/setup installs DuckDB, an installed iotrail has it in lib/iotrail; where memory "
          "is limited "
          "(`ulimit -v`), it needs some 100 MB",
          0};
}

// Stays loaded for the life of the process. iotrail never calls a function that this version of the
// library lacks.
Result<void> load_once() {
  void* const library = ::dlopen("libduckdb.so", RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr)
    return std::unexpected(no_library(::dlerror()));
  for (std::size_t place = 0; place < std::size(kNames); ++place)
    iotrail_duckdb_functions[place] = ::dlsym(library, kNames[place]);
  return {};
}

} // namespace

Result<void> load_duckdb() {
  static const Result<void> loaded = load_once();
  return loaded;
}

} // namespace iotrail::analysis
