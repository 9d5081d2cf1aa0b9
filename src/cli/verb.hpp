// SPDX-License-Identifier: BSD-3-Clause
//
// A verb of the command line. Each is one file, verbs/<verb>.cpp, that ends in `extern const Verb kVerb<Verb>`. The build
// finds it; no list names it.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.hpp"
#include "cli/console.hpp"

namespace iotrail::cli {

// The words behind the first `--`: the command to run.
using Trailing = std::vector<std::string>;

// Does what the parsed options say; returns the exit status.
using Action = std::function<Result<int>(const Console&)>;

inline constexpr const char* kTraceHelp = "Path or name of the trace, or `latest`";

// Headings of `iotrail --help`, in this order.
enum class Group : std::uint8_t { record, read, manage, machine };

// An exit status with a meaning of the verb's own, for its man page.
struct ExitStatus {
  int status;
  std::string_view meaning;
};

struct Verb {
  std::string_view name;
  std::string_view summary;
  Group group;
  int rank; // position in the group
  // Declares the options on `app` and returns what to do with them. `trailing` is filled before the action runs.
  Action (*declare)(CLI::App& app, const Trailing& trailing);
  bool takes_command = false; // a command follows after `--`
  // Lines of `--help` and of the man page: "  iotrail list   # all traces". At most 80 characters each.
  std::string_view examples = {};
  std::span<const ExitStatus> statuses = {};
  // All words behind the verb are its own, unless the first is --help: `trailing` has them, options and `--` included.
  bool takes_words = false;
};

// All verbs, in the order of their files. The build generates this function.
std::span<const Verb* const> verbs();

} // namespace iotrail::cli
