// SPDX-License-Identifier: BSD-3-Clause
//
// Renders the table of a section as text.
#pragma once

#include "report/document.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

bool has_table(const Section& section);
void render_table(const Section& section, Sink& sink, std::size_t width);

} // namespace iotrail::output
