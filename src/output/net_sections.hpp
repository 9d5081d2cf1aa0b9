// SPDX-License-Identifier: BSD-3-Clause
//
// The table of the report that tells of TCP connections.
#pragma once

#include "output/report_section.hpp"

namespace iotrail::output {

Section tcp_section();

} // namespace iotrail::output
