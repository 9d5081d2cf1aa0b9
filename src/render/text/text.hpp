// SPDX-License-Identifier: BSD-3-Clause
//
// Renders a document for people.
#pragma once

#include "report/document.hpp"
#include "text/sink.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

// `width`: of the lines; kAnyWidth: keeps all columns.
void render_text(const Document& document, Sink& sink, std::size_t width);

} // namespace iotrail::output
