// SPDX-License-Identifier: BSD-3-Clause
//
// Options and errors of a program that iotrail stands in for. Errors begin with its name.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::compat {

// A parser without options of its own. `usage` is what follows the name: "[OPTION]... COMMAND".
class FaceParser {
public:
  FaceParser(std::string name, const std::string& summary, const std::string& usage);

  CLI::App& app() { return app_; }
  // false: it printed the help, which was asked for.
  Result<bool> parse(const cli::Console& console, std::vector<std::string> words);

private:
  std::string name_;
  CLI::App app_;
};

// "iotrc: ..." on standard error.
void say(const cli::Console& console, std::string_view face, const std::string& text);

// The exit status. Prints an error as `say` does.
int finish(const cli::Console& console, std::string_view face, const Result<int>& done);

} // namespace iotrail::compat
