// SPDX-License-Identifier: BSD-3-Clause
//
// What the report says: its tables in the order in which questions come up. The first page is why it took so long, which
// files and which processes it was, and how large the operations were.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

std::span<const Section> first_page();
std::span<const Section> further_pages();

// For `report --by`: "operation", "file", "process", "device"; nullptr: there is no such section.
const Section* section_by(std::string_view subject);

} // namespace iotrail::output
