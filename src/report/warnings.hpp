// SPDX-License-Identifier: BSD-3-Clause
//
// Why answers from a trace may be incomplete: it has no end, is damaged, or lacks excluded or lost
// events. Damage is known as far as the trace has been read, so call these after the queries.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/document.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::output {

// Damaged or missing parts; empty: none.
std::vector<Sentence> damage_sentences(const store::TraceReader& trace);

// Events that were excluded by sampling or thresholds, and the effect on the numbers.
std::vector<Sentence> choice_sentences(const store::Manifest& manifest);

// No end, damage, excluded events, and limits of the analysis.
std::vector<Sentence> warning_sentences(const store::TraceReader& trace);

// The same, and lost events: for output that does not show the recording's losses.
std::vector<Sentence> answer_warnings(const store::TraceReader& trace);

// How much of what happened a trace holds, so that no answer takes a part for the whole.
struct Completeness {
  double lost_share = 0; // of all events that the sources produced; 1 if their counts do not add up
  std::string reason{};  // the counter with most of the lost events, and its meaning; empty: none
  bool has_no_end = false; // still recording, killed, failed or damaged: an unknown part is missing
  bool is_selected = false; // operations were excluded, by sampling or thresholds

  // Fewer lost events change no answer, but sums are lower bounds.
  bool has_losses() const { return lost_share >= kNegligible; }
  // At most a negligible part is lost.
  bool is_whole() const { return !has_losses() && !has_no_end; }
  // Nothing is missing: sums over the trace are sums over the run.
  bool is_exact() const { return lost_share == 0 && !has_no_end && !is_selected; }

  static constexpr double kNegligible = 0.001;
};
Completeness completeness_of(const store::TraceReader& trace);

// "at least " for sums of a trace that lacks events, else empty; "at most " for what they leave of
// the run, and "about " for what missing events could make larger or smaller.
std::string_view at_least(const Completeness& completeness);
std::string_view at_most(const Completeness& completeness);
std::string_view about(const Completeness& completeness);

// "62.3 % of the events are lost, so sums are lower bounds. kernel_ring_full: ..."; empty: the
// losses change no answer.
Sentence losses_sentence(const Completeness& completeness);

// "3 completions are lost: the devices did at least this"; empty: none is.
Sentence lost_completions_sentence(const store::Manifest& manifest);

// Whether produced == written + lost.
bool adds_up(const store::SourceTally& source);

// `part` divided by `whole`; a `whole` of 0 counts as 1.
double share_of(std::uint64_t part, std::uint64_t whole);

// "998 OF 1,000 EVENTS LOST (99.8 %)", or that the counts are impossible; empty: no counted losses.
Sentence lost_sentence(const store::Manifest& manifest);

// "EVENTS MAY BE MISSING, 3 times (counter): meaning"
Sentence gap_sentence(std::uint64_t times, std::string counter, std::string meaning);
// One for each counter of events that may be missing.
std::vector<Sentence> gap_sentences(const store::Manifest& manifest);

// Processes that are still running: "3 processes, no longer recorded: 12 sleep, ..."; empty: none.
Sentence running_sentence(const store::Manifest& manifest);

} // namespace iotrail::output
