// SPDX-License-Identifier: BSD-3-Clause
//
// The table that tells what calls waited for.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section waits_section();

} // namespace iotrail::output
