// SPDX-License-Identifier: BSD-3-Clause
//
// Options of whatever makes a trace.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/result.hpp"

namespace iotrail::cli {

// Refuses names that mean something else where a trace is to be found.
Result<void> check_output(const std::string& output);

// `--no-arguments`: sets `dropped`.
void declare_no_arguments(CLI::App& app, bool& dropped);

// Of NAME=VALUE each.
Result<std::map<std::string, std::string>> parse_tags(const std::vector<std::string>& tags);

} // namespace iotrail::cli
