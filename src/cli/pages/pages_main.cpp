// SPDX-License-Identifier: BSD-3-Clause
//
// iotrail_pages DIRECTORY: writes the man pages and completions below DIRECTORY/share.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <fmt/format.h>

#include "cli/app.hpp"
#include "cli/pages/completion.hpp"
#include "cli/pages/man_page.hpp"

namespace {

bool write(const std::filesystem::path& path, const std::string& text) {
  std::error_code ignored;
  std::filesystem::create_directories(path.parent_path(), ignored);
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file)
    std::fprintf(stderr, "cannot write %s\n", path.c_str());
  return static_cast<bool>(file);
}

} // namespace

int main(int argc, char** argv) {
  using namespace iotrail::cli;
  if (argc != 2) {
    std::fprintf(stderr, "usage: iotrail_pages DIRECTORY\n");
    return 2;
  }
  const Trailing trailing;
  Action action;
  const auto program = make_app(verbs(), trailing, action);
  const std::filesystem::path share = std::filesystem::path(argv[1]) / "share";
  bool is_written =
      write(share / "bash-completion/completions/iotrail", bash_completion(*program)) &&
      write(share / "zsh/site-functions/_iotrail", zsh_completion(*program)) &&
      write(share / "fish/vendor_completions.d/iotrail.fish", fish_completion(*program));
  for (const Verb* verb : verbs())
    is_written =
        is_written &&
        write(share / fmt::format("man/man1/iotrail-{}.1", verb->name),
              man_page(*verb, *program->get_subcommand(std::string(verb->name)), *program));
  return is_written && write(share / "man/man1/iotrail.1", man_page(*program)) ? 0 : 1;
}
