// SPDX-License-Identifier: BSD-3-Clause
//
// Renders a document as one JSON object for programs. It has `trace`, `title`, and for each section with a
// table an array of rows under the section's id. `sections` has the titles, columns and sentences
// of all. `not_shown`, `facts` and `warnings` follow. Numbers are complete and unrounded.
// docs/schemas/ describes each document.
#pragma once

#include <string>

#include "report/document.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

void render_json(const Document& document, Sink& sink);

// The same as one line.
std::string json_line(const Document& document);

} // namespace iotrail::output
