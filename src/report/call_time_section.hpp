// SPDX-License-Identifier: BSD-3-Clause
//
// The table of where the time of each kind of call went.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section call_time_section();

} // namespace iotrail::output
