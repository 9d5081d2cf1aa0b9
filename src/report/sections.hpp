// SPDX-License-Identifier: BSD-3-Clause
//
// All sections, and the documents that they are in. The list is made from sections/<topic>/<name>.cpp by the build.
#pragma once

#include <string_view>
#include <vector>

#include "report/section.hpp"

namespace iotrail::output {

#define SECTION(name) SectionDefinition name##_section();
#include "section_list.inc"
#undef SECTION

// Those that have the rank, in its order.
const std::vector<SectionDefinition>& sections_of(int Ranks::* rank);

// For `--by`: "operation", "file", "process", "device"; nullptr: there is no such section.
const SectionDefinition* section_by(std::string_view subject, int Ranks::* rank);

// A sentence for each counter of events that may be missing. `rows`: of the section `losses`.
std::vector<Sentence> gap_sentences(const SectionRows& rows);

} // namespace iotrail::output
