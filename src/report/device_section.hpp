// SPDX-License-Identifier: BSD-3-Clause
//
// The report's section on devices: what each was asked for, how long requests waited for it, and how long it took.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section device_section();

} // namespace iotrail::output
