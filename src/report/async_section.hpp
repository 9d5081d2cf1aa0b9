// SPDX-License-Identifier: BSD-3-Clause
//
// Where the time of asynchronous operations went.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section async_section();

} // namespace iotrail::output
