// SPDX-License-Identifier: BSD-3-Clause
//
// The grammar of iotrace's command line: `iotrace [MODULE] COMMAND [OPTION]...`, each with a short and a long name. The form of
// its older README is understood too: `iotrace --list-traces`, without the module.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::compat::iotrace {

// Does what the parsed options say.
using Action = std::function<Result<void>(const cli::Console&)>;

struct Command {
  char letter;
  std::string_view name;
  std::string_view old_name; // of the older README; empty: the same, or none
  std::string_view summary;
  Action (*declare)(CLI::App& app);
};

struct Module {
  char letter; // 0: commands without a module
  std::string_view name;
  std::string_view summary;
  std::span<const Command> commands;
};

std::span<const Module> modules();

// Refuses numbers beyond, and words that are none. A validator for an option with a number.
CLI::Validator within(std::uint64_t least, std::uint64_t most);

// Prints errors as `iotrace: ...` on standard error; their exit status is 1, also of a wrong command line.
Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments);

// Modules, each in a file of its own.
std::span<const Command> tracing_commands();
std::span<const Command> management_commands();
std::span<const Command> parser_commands();
std::span<const Command> config_commands();

} // namespace iotrail::compat::iotrace
