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

// False: there is nothing to print.
bool has_text(const Section& section);
void render_section(const Section& section, Sink& sink, std::size_t width);

// The warnings above an answer, and a blank line below them.
void render_warnings(const std::vector<Sentence>& warnings, Sink& sink, std::size_t width);

// Sentences, each on lines of its own, indented.
void render_sentences(const std::vector<Sentence>& sentences, Sink& sink, std::size_t width);

} // namespace iotrail::output
