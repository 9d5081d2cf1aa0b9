// SPDX-License-Identifier: BSD-3-Clause
//
// Facts of a trace that several verbs print.
#pragma once

#include "store/reader/trace_reader.hpp"

namespace iotrail::cli {

// False while the recording runs: its last block may be cut off anywhere.
bool has_ended(const store::Manifest& manifest);

// Damage that the reader has found so far.
bool is_damaged(const store::TraceReader& trace);

} // namespace iotrail::cli
