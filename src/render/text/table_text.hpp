// SPDX-License-Identifier: BSD-3-Clause
//
// Renders the table of a section as text.
#pragma once

#include "report/document.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

bool has_table(const Section& section);
// Names the columns for which there was no room; `all_columns`: the option that has them all, empty:
// none is named.
void render_table(const Section& section, Sink& sink, std::size_t width,
                  std::string_view all_columns);

} // namespace iotrail::output
