// SPDX-License-Identifier: BSD-3-Clause
//
// The section of the report that shows a finding best. A rule of src/analysis/findings/ names it in
// its head: `-- shown: sizes`.
#pragma once

#include <string>
#include <string_view>

namespace iotrail::output {

// The id of the section; "time" if the rule names none. `rule`: name of its file, "tiny_writes".
std::string section_that_shows(std::string_view rule);

} // namespace iotrail::output
