// SPDX-License-Identifier: BSD-3-Clause
//
// A section of a document, and sentences, as JSON for the page's script.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "text/sink.hpp"

namespace iotrail::output {

inline constexpr std::size_t kTextBytes = 4096; // as long as a path can be; a longer text is cut

// The same value, with nothing that ends an element or a line of a script.
std::string inert_json(std::string_view json);
void put_shown_value(Sink& sink, const Value& value);
std::string section_data(const Section& section);
void put_sentence_text(Sink& sink, const Sentence& sentence);
void put_sentence_texts(Sink& sink, const std::vector<Sentence>& sentences);
void put_facts(Sink& sink, const std::vector<Fact>& facts);

} // namespace iotrail::output
