// SPDX-License-Identifier: BSD-3-Clause
//
// How many bytes each layer moved for those that the layer above it moved.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section bytes_section();

} // namespace iotrail::output
