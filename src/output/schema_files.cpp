// SPDX-License-Identifier: BSD-3-Clause
//
// schema_files ROOT            fails when docs/events.md is stale or schema/frozen.txt does not hold
// schema_files ROOT --update   writes docs/events.md and adds new lines to schema/frozen.txt; never removes one
// schema_files ROOT --reset    writes schema/frozen.txt anew: only before the first release
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "output/frozen.hpp"
#include "output/schema_print.hpp"

namespace {

namespace fs = std::filesystem;
using namespace iotrail;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool write_file(const fs::path& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

int print_all(const char* what, const std::vector<std::string>& lines) {
  for (const std::string& line : lines)
    std::fprintf(stderr, "%s: %s\n", what, line.c_str());
  return lines.empty() ? 0 : 1;
}

int check(const fs::path& events, const fs::path& frozen) {
  const std::string promised = read_file(frozen);
  int failed = print_all("schema/frozen.txt: changed or gone",
                         output::broken_promises(promised, output::schema_frozen()));
  failed |= print_all("schema/frozen.txt: new, run schema_files --update",
                      output::new_promises(promised, output::schema_frozen()));
  if (read_file(events) != output::schema_markdown()) {
    std::fprintf(stderr, "docs/events.md is stale, run schema_files --update\n");
    failed = 1;
  }
  return failed;
}

int update(const fs::path& events, const fs::path& frozen) {
  const std::string promised = read_file(frozen);
  if (print_all("schema/frozen.txt: changed or gone",
                output::broken_promises(promised, output::schema_frozen())) != 0)
    return 1;
  return write_file(frozen, output::schema_frozen()) &&
                 write_file(events, output::schema_markdown())
             ? 0
             : 1;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (!mode.empty() && mode != "--update" && mode != "--reset")) {
    std::fprintf(stderr, "usage: schema_files ROOT [--update|--reset]\n");
    return 2;
  }
  const fs::path events = fs::path(argv[1]) / "docs" / "events.md";
  const fs::path frozen = fs::path(argv[1]) / "schema" / "frozen.txt";
  if (mode == "--reset" && !write_file(frozen, ""))
    return 1;
  return mode.empty() ? check(events, frozen) : update(events, frozen);
}
