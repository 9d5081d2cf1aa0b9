// SPDX-License-Identifier: BSD-3-Clause
//
// The recording's begin, end and duration, for programs.
#include "report/section.hpp"

namespace iotrail::output {

SectionDefinition run_section() {
  return {.id = "run",
          .ranks = {.report_data = 1},
          .view = "run",
          .sql = "SELECT * FROM run",
          .order = "begin_ns"};
}

} // namespace iotrail::output
