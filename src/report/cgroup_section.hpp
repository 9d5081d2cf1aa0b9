// SPDX-License-Identifier: BSD-3-Clause
//
// Control groups by their I/O, where a recording is of several.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section cgroup_section();

} // namespace iotrail::output
