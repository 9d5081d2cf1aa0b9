// SPDX-License-Identifier: BSD-3-Clause
//
// What a report, an explanation or a script is narrowed down to: its options, its words, and whether
// the trace has any of it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>

#include "analysis/engine/engine.hpp"

namespace iotrail::cli {

struct SelectionOptions {
  std::string process{};
  std::string file{};
  std::string since{};
  std::string until{};
  std::vector<std::string> operations{}; // calls, or classes of calls; empty: all
};

// Options --process and --file.
void declare_subjects(CLI::App& app, SelectionOptions& options);
// Options --since and --until.
void declare_period(CLI::App& app, SelectionOptions& options);
// Option --operation.
CLI::Option* declare_operation_choice(CLI::App& app, SelectionOptions& options);

// Process, file and times for an engine. Checks the names of operations.
Result<analysis::Selection> selection_of(const SelectionOptions& options);

// "--process db --since 2s"; empty: all is looked at.
std::string selection_text(const SelectionOptions& options);

// Fails where nothing matches, and says what there is: an empty answer would look like a program that did nothing.
Result<void> check_matches(analysis::Engine& engine, const SelectionOptions& options);

} // namespace iotrail::cli
