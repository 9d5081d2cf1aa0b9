// SPDX-License-Identifier: BSD-3-Clause
//
// The answer of a trace of devices alone, as a blktrace import or `record --layers block` is.
#pragma once

#include "report/section.hpp"
#include "report/warnings.hpp"

namespace iotrail::output {

// Whether any layer was recorded that has calls of programs.
bool has_layers_of_calls(const store::TraceReader& trace);

// "DEVICES ONLY, no call was recorded: nvme0n1 had requests 62.1 % of the run; read took most, ..."
// `devices`: the section of that name, with a row at least.
Sentence devices_verdict(const Section& devices, const Completeness& completeness);

} // namespace iotrail::output
