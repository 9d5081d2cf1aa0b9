// SPDX-License-Identifier: BSD-3-Clause
//
// The lines that `stat --interval` prints while it counts. Unlike those of a table, their columns
// have the same widths in each interval.
#pragma once

#include <string>

#include "report/document.hpp"

namespace iotrail::output {

// `document`: of make_interval(). One line for each layer and operation; none if it has no rows.
std::string interval_text(const Document& document, bool with_title);

} // namespace iotrail::output
