// SPDX-License-Identifier: BSD-3-Clause
//
// Which trace this is, how it was recorded, and what is not in it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// Where a lost manifest would say it.
inline constexpr std::string_view kNotKnown = "not known";

// "host, Linux 6.1.0, x86_64, 2 CPUs", as far as it is known.
std::string machine_text(const store::Manifest& manifest);

// "app, syscall; not recorded: vfs": the layers asked for, last those without any event, since no hook serves them.
std::string layers_text(const store::Manifest& manifest);

// One line: what was asked for and not recorded; nothing if all was. The reasons are for `iotrail doctor`.
std::string refusals_text(const store::Manifest& manifest);

// That files lie on file systems without events of the layer fs, which was recorded; empty: none do.
std::string bare_file_systems_text(const store::Manifest& manifest);

// What was recorded, for how long, and whether all of it is here.
// `selection`: what the report is narrowed down to; empty: nothing.
std::vector<Fact> trace_facts(const store::TraceReader& trace, std::string_view selection);

// Where and at what cost it was recorded.
std::vector<Fact> recording_facts(const store::TraceReader& trace);

} // namespace iotrail::output
