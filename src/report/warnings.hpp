// SPDX-License-Identifier: BSD-3-Clause
//
// Why answers from a trace may not be the whole truth: it has no end, it is damaged, some of it was left out or lost.
// Damage is known as far as the trace has been read, so ask for the sentences after the data.
#pragma once

#include <vector>

#include "report/document.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// What is damaged or missing; none: nothing.
std::vector<Sentence> damage_sentences(const store::TraceReader& trace);

// What was left out by chance or for being too little, and what that does to the numbers.
std::vector<Sentence> choice_sentences(const store::Manifest& manifest);

// That the trace has no end, what is damaged, what was left out, where what was worked out from it ends.
std::vector<Sentence> warning_sentences(const store::TraceReader& trace);

// The same, and that events were lost: for what does not show the recording's losses.
std::vector<Sentence> answer_warnings(const store::TraceReader& trace);

// What a source produced is what it has written and lost.
bool adds_up(const store::SourceTally& source);

// `part` of `whole`; of nothing, as of 1.
double share_of(std::uint64_t part, std::uint64_t whole);

// "998 OF 1,000 EVENTS LOST (99.8 %)", or that the counts cannot be; empty: none were, as far as the sources have counted.
Sentence lost_sentence(const store::Manifest& manifest);

} // namespace iotrail::output
