// SPDX-License-Identifier: BSD-3-Clause
//
// A copy of a trace with pseudonyms for names: of files, programs, arguments, hosts, addresses,
// control groups, containers and other texts. Numbers, times and the order of events stay.
#pragma once

#include <filesystem>

#include "anonymize/pseudonyms.hpp"
#include "base/result.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::anonymize {

// Makes the trace `copy`. Fails if it exists. If it fails, it leaves nothing behind, also after a
// signal. Damaged blocks are left out; the reader's damage() counts them.
Result<void> anonymize_trace(const store::TraceReader& trace, const Pseudonyms& names,
                             const std::filesystem::path& copy);

} // namespace iotrail::anonymize
