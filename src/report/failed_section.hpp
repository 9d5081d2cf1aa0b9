// SPDX-License-Identifier: BSD-3-Clause
//
// Calls that failed, by call and error.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section failed_section();

} // namespace iotrail::output
