// SPDX-License-Identifier: BSD-3-Clause
//
// The lines that `stat --interval` prints while it counts, from the rows of one interval.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "dictionary_rows.hpp"
#include "report/sample.hpp"

namespace iotrail::output {

// One line for each layer and operation, with rates per second. `begin_ns`: begin of the recording.
std::string interval_text(std::span<const rows::event_sums> rows, std::uint64_t begin_ns,
                          const Sample& sample, bool with_title);

} // namespace iotrail::output
