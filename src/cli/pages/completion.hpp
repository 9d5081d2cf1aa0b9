// SPDX-License-Identifier: BSD-3-Clause
//
// Completion scripts, made from the declarations of the verbs. The name of an option's value (LAYER, TRACE, ...) says what to
// offer. Traces are those of the repository at that moment.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace iotrail::cli {

std::string bash_completion(const CLI::App& program);
std::string zsh_completion(const CLI::App& program);
std::string fish_completion(const CLI::App& program);

} // namespace iotrail::cli
