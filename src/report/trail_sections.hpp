// SPDX-License-Identifier: BSD-3-Clause
//
// The tables that tell of trails: who caused what the devices did, and whether all of it is accounted for.
#pragma once

#include "report/report_section.hpp"

namespace iotrail::output {

Section causes_section();

Section write_backs_section();

Section read_ahead_section();

// Why the devices moved other numbers of bytes than the calls, part by part.
Section balance_section();

// What `verify` prints.
std::span<const Section> verification();

} // namespace iotrail::output
