// SPDX-License-Identifier: BSD-3-Clause
//
// The tables of the report that tell of TCP connections, and of calls to the servers of network file systems.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section tcp_section();
Section server_section();

} // namespace iotrail::output
