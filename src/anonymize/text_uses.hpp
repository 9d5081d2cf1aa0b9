// SPDX-License-Identifier: BSD-3-Clause
//
// Texts of the dictionary `strings` that stay, by the columns that refer to them.
#pragma once

#include <cstdint>
#include <unordered_set>

#include "store/reader/trace_reader.hpp"

namespace iotrail::anonymize {

// Keys of texts that only columns of terms refer to: functions of the kernel, types of file
// systems, procedures of NFS, settings. No other column has them.
std::unordered_set<std::uint64_t> terms_of(const store::TraceReader& trace);

} // namespace iotrail::anonymize
