// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

// Locks of files that others had.
Section lock_section();

} // namespace iotrail::output
