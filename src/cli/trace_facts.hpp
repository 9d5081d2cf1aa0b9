// SPDX-License-Identifier: BSD-3-Clause
//
// Facts of a trace that several verbs print.
#pragma once

#include <string>

#include "store/reader/trace_reader.hpp"

namespace iotrail::cli {

// The begin of the recording: "2026-03-01 12:34:56" in the time zone of the user.
std::string local_time(const store::Manifest& manifest);

// False while the recording runs: its last block may be cut off anywhere.
bool has_ended(const store::Manifest& manifest);

// Damage that the reader has found so far.
bool is_damaged(const store::TraceReader& trace);

// "NAME=VALUE NAME=VALUE"
std::string tags_text(const store::Manifest& manifest);

} // namespace iotrail::cli
