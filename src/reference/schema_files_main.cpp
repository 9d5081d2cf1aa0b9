// SPDX-License-Identifier: BSD-3-Clause
//
// schema_files ROOT            fails if docs/events.md or docs/sql.md is stale, or
// schema/frozen.txt is broken
// schema_files ROOT --update   writes docs/events.md and docs/sql.md, and adds lines to
// schema/frozen.txt
// schema_files ROOT --reset    writes schema/frozen.txt anew: only before the first release
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string_view>

#include "reference/frozen.hpp"
#include "reference/schema_print.hpp"
#include "reference/sql_reference.hpp"

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

// Generated documents, below docs/.
struct Document {
  const char* name;
  std::string (*text)();
};
constexpr Document kDocuments[] = {{"events.md", output::schema_markdown},
                                   {"sql.md", output::sql_markdown}};

int check(const fs::path& docs, const fs::path& frozen) {
  const std::string promised = read_file(frozen);
  int failed = print_all("schema/frozen.txt: changed or gone",
                         output::broken_promises(promised, output::schema_frozen()));
  failed |= print_all("schema/frozen.txt: new, run schema_files --update",
                      output::new_promises(promised, output::schema_frozen()));
  for (const Document& document : kDocuments)
    if (read_file(docs / document.name) != document.text()) {
      std::fprintf(stderr, "docs/%s is stale, run schema_files --update\n", document.name);
      failed = 1;
    }
  return failed;
}

int update(const fs::path& docs, const fs::path& frozen) {
  const std::string promised = read_file(frozen);
  if (print_all("schema/frozen.txt: changed or gone",
                output::broken_promises(promised, output::schema_frozen())) != 0)
    return 1;
  bool written = write_file(frozen, output::schema_frozen());
  for (const Document& document : kDocuments)
    written = write_file(docs / document.name, document.text()) && written;
  return written ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  const std::string_view mode = argc > 2 ? argv[2] : "";
  if (argc < 2 || argc > 3 || (!mode.empty() && mode != "--update" && mode != "--reset")) {
    std::fprintf(stderr, "usage: schema_files ROOT [--update|--reset]\n");
    return 2;
  }
  const fs::path docs = fs::path(argv[1]) / "docs";
  const fs::path frozen = fs::path(argv[1]) / "schema" / "frozen.txt";
  if (mode == "--reset" && !write_file(frozen, ""))
    return 1;
  return mode.empty() ? check(docs, frozen) : update(docs, frozen);
}
