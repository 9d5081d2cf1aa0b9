// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>

#include <CLI/CLI.hpp>

#include "cli/verb.hpp"

namespace iotrail::cli {

// `iotrail.1`: the program, with a list of its verbs.
std::string man_page(const CLI::App& program);
// `iotrail-VERB.1`: the text of `iotrail VERB --help` as a manual page. `parser` is the verb's own.
std::string man_page(const Verb& verb, const CLI::App& parser, const CLI::App& program);

} // namespace iotrail::cli
