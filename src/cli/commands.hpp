// SPDX-License-Identifier: BSD-3-Clause
//
// The verbs of the command line: one row each in commands.cpp, one file cmd_<verb>.cpp each.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.hpp"

namespace iotrail::cli {

// What stood behind the first `--`: the command to run.
using Trailing = std::vector<std::string>;

// Does what the parsed options say; returns the exit status.
using Action = std::function<Result<int>()>;

inline constexpr const char* kTraceHelp = "Path or name of the trace, or `latest`";

struct Verb {
  std::string_view name;
  std::string_view summary;
  // Declares the options on `app` and returns what to do with them.
  Action (*declare)(CLI::App& app, const Trailing& trailing);
};

std::span<const Verb> verbs();

// The declare functions, each in cmd_<verb>.cpp.
Action declare_record(CLI::App& app, const Trailing& trailing);
Action declare_stat(CLI::App& app, const Trailing& trailing);
Action declare_snapshot(CLI::App& app, const Trailing& trailing);
Action declare_list(CLI::App& app, const Trailing& trailing);
Action declare_info(CLI::App& app, const Trailing& trailing);
Action declare_remove(CLI::App& app, const Trailing& trailing);
Action declare_tag(CLI::App& app, const Trailing& trailing);
Action declare_report(CLI::App& app, const Trailing& trailing);
Action declare_query(CLI::App& app, const Trailing& trailing);
Action declare_explain(CLI::App& app, const Trailing& trailing);
Action declare_verify(CLI::App& app, const Trailing& trailing);
Action declare_script(CLI::App& app, const Trailing& trailing);
Action declare_export(CLI::App& app, const Trailing& trailing);
Action declare_doctor(CLI::App& app, const Trailing& trailing);
Action declare_schema(CLI::App& app, const Trailing& trailing);

} // namespace iotrail::cli
