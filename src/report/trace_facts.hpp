// SPDX-License-Identifier: BSD-3-Clause
//
// The trace, its recording, and what it does not contain.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// For facts of a lost manifest.
inline constexpr std::string_view kNotKnown = "not known";

// "host, Linux 6.1.0, x86_64, 2 CPUs", as far as known.
std::string machine_text(const store::Manifest& manifest);

// "app, syscall; not recorded: vfs": the requested layers; last those without any event, since no
// hook serves them.
std::string layers_text(const store::Manifest& manifest);

// The layer of an event of this version; "": there is no such event.
std::string_view layer_of_event(std::string_view event);

// Requested layers without any event here, since the machine does not allow them. Others of
// layers_refused() do not go with what the user chose to record.
std::vector<std::string> layers_refused_by_machine(const store::Manifest& manifest);

// One line: requested events that were not recorded; empty if all were. `iotrail doctor` has the
// reasons.
std::string refusals_text(const store::Manifest& manifest);

// "NAME=VALUE NAME=VALUE", without the recorder's own
std::string tags_text(const store::Manifest& manifest);

// What the recorder took of CPU, memory and disk; empty: not known.
Sentence recorder_sentence(const store::Manifest& manifest);

// Says that files are on file systems without events of the recorded layer fs; empty: none are.
std::string unsupported_file_systems_text(const store::Manifest& manifest);

// The recording, its duration and its completeness. `selection`: how the user narrowed the report
// down; empty: not at all. `losses`: the title of the section that lists losses.
std::vector<Fact> trace_facts(const store::TraceReader& trace, std::string_view selection,
                              std::string_view losses = "Losses");

// The machine and the cost of the recording.
std::vector<Fact> recording_facts(const store::TraceReader& trace);

} // namespace iotrail::output
