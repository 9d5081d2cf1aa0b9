// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <memory>

#include <CLI/CLI.hpp>

namespace iotrail::cli {

// `--help` in lines of at most 80 characters: the parser's own does not break any.
std::shared_ptr<CLI::FormatterBase> help_formatter();

} // namespace iotrail::cli
