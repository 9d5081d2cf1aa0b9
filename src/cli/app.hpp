// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>
#include <span>

#include "cli/verb.hpp"

namespace iotrail::cli {

// The parser of the whole command line: one subcommand a verb, in the order of `--help`. Parsing sets `action`. Keeps references
// to `trailing` and `action`.
std::unique_ptr<CLI::App> make_app(std::span<const Verb* const> verbs, const Trailing& trailing,
                                   Action& action);

} // namespace iotrail::cli
