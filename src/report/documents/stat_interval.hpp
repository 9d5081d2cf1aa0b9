// SPDX-License-Identifier: BSD-3-Clause
//
// What `stat --interval` says while it counts, from the rows of one interval.
#pragma once

#include <cstdint>
#include <span>

#include "dictionary_rows.hpp"
#include "report/document.hpp"
#include "report/sample.hpp"

namespace iotrail::output {

// One row for each layer and operation, with rates per second. `begin_ns`: begin of the recording.
// No rows: nothing happened.
Document make_interval(std::span<const rows::event_sums> rows, const Span& interval,
                       std::uint64_t begin_ns, const Sample& sample);

} // namespace iotrail::output
