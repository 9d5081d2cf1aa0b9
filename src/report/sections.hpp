// SPDX-License-Identifier: BSD-3-Clause
//
// All sections, and the documents that contain them. The build makes the list from
// sections/<topic>/<name>.cpp.
#pragma once

#include <string_view>
#include <vector>

#include "report/section.hpp"

namespace iotrail::output {

#define SECTION(name) SectionDefinition name##_section();
#include "section_list.inc"
#undef SECTION

// The sections with the rank, in its order.
const std::vector<SectionDefinition>& sections_of(int Ranks::* rank);

// Finds a section for `--by`: "operation", "file", "process", "device"; nullptr: none.
const SectionDefinition* section_by(std::string_view subject, int Ranks::* rank);
std::unexpected<Error> no_section_by(std::string_view subject);

// One sentence for each counter of events that may be missing. `rows`: of the section `losses`.
std::vector<Sentence> gap_sentences(const SectionRows& rows);

} // namespace iotrail::output
