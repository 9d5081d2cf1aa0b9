// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/verb.hpp"

namespace iotrail::cli {

// Parses the arguments (without the program's name), runs one of `verbs`, prints its error if it has one. Returns the exit
// status. What `console.out` does not accept is an error too.
int run(std::span<const Verb* const> verbs, std::vector<std::string> arguments,
        const Console& console);

} // namespace iotrail::cli
