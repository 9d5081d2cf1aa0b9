// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.hpp"
#include "cli/console.hpp"
#include "report/document.hpp"

namespace iotrail::cli {

enum class DocumentFormat : std::uint8_t {
  text,
  wide_text, // all columns, however wide the terminal is
  json,
  json_line, // all of it on one line, among others
};

Result<void> print_document(const Stream& out, const output::Document& document,
                            DocumentFormat format = DocumentFormat::text);

// A first screen that fits the terminal, with this number of other lines.
output::Document on_one_screen(const Stream& out, output::Document answer, std::size_t other_lines);

} // namespace iotrail::cli
