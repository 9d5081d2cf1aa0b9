// SPDX-License-Identifier: BSD-3-Clause
//
// What a report or an explanation is narrowed down to, in words, and whether there is any of it.
#pragma once

#include <string>
#include <string_view>

#include "analysis/engine/engine.hpp"

namespace iotrail::cli {

struct SelectionOptions {
  std::string process;
  std::string file;
  std::string since;
  std::string until;
};

// "--process db --since 2s"; empty: all is looked at.
std::string selection_text(const SelectionOptions& options);

// Fails where nothing matches, and says what there is: an empty answer would look like a program that did nothing.
Result<void> check_matches(analysis::Engine& engine, const SelectionOptions& options);

} // namespace iotrail::cli
