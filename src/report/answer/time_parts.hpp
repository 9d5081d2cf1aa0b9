// SPDX-License-Identifier: BSD-3-Clause
//
// How the run and the time of calls on files divide, in sentences of the first screen.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/section.hpp"
#include "report/warnings.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// Kinds of the view file_time.
inline constexpr std::string_view kKernel = "the kernel";
inline constexpr std::string_view kServer = "a server";
inline constexpr std::string_view kNotSplit = "not split"; // work and waits are unknown
inline constexpr std::string_view kUnknown = "unknown";    // and what the call did

// nullptr: there is none, or it has no row.
const Section* section_with(const std::vector<Section>& sections, std::string_view id);

// What a row of the section file_time says: "waiting for the disk". `server`: its name, where the
// time is of one.
std::string activity_of(const SectionRows& time, std::size_t row, const std::string& server);

// Of the sections run_parts (unless only a part of the trace is selected) and file_time.
std::vector<Sentence> parts_of(const store::TraceReader& trace,
                               const std::vector<Section>& sections, bool is_part,
                               const Completeness& completeness, const std::string& server);

// The layers that would say what calls waited for, "layer sched"; empty: they were recorded.
std::string waits_to_record(const store::TraceReader& trace);

} // namespace iotrail::output
