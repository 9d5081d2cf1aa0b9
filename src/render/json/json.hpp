// SPDX-License-Identifier: BSD-3-Clause
//
// A document for programs, as one JSON object: `trace`, for each section with a table an array of its rows by the section's
// id, `sections` with the titles, columns and sentences of all, `not_shown`, `facts` and `warnings`. Numbers are whole and
// unrounded. docs/schemas/ describes each document.
#pragma once

#include "report/document.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

void render_json(const Document& document, Sink& sink);

} // namespace iotrail::output
