// SPDX-License-Identifier: BSD-3-Clause
//
// Values and sentences of a document as text for people. Texts of a trace are made printable.
#pragma once

#include <string>

#include "report/document.hpp"

namespace iotrail::output {

inline constexpr std::string_view kDash = "-"; // an unknown number

// "1,234", "4.00 KiB", "12.3 us", "45.6 %". With a `scale_factor` above 1, a sum over a sample is
// an estimate: "~120".
std::string value_text(const Value& value, Meaning meaning, std::uint64_t scale_factor = 1);

std::string sentence_text(const Sentence& sentence);
std::vector<std::string> sentence_texts(const std::vector<Sentence>& sentences);

// The mark before an estimate: "~"; empty before an exact number, and before 0.
std::string_view estimate_mark(std::uint64_t sum, std::uint64_t scale_factor);

} // namespace iotrail::output
