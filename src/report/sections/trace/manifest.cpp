// SPDX-License-Identifier: BSD-3-Clause
//
// Facts about the trace, for programs.
#include "report/section.hpp"

namespace iotrail::output {

SectionDefinition manifest_section() {
  return {.id = "manifest",
          .ranks = {.report_data = 2},
          .view = "trace_info",
          .sql = "SELECT * FROM trace_info",
          .order = "\"key\""};
}

} // namespace iotrail::output
