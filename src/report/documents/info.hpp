// SPDX-License-Identifier: BSD-3-Clause
//
// What a trace says about itself.
#pragma once

#include "report/document.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// `is_full`: with each event, the hook that served it, and the whole manifest for programs. Damage
// is known as far as the trace has been read.
Document make_info(const store::TraceReader& trace, bool is_full);

} // namespace iotrail::output
