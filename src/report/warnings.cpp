// SPDX-License-Identifier: BSD-3-Clause
#include "report/warnings.hpp"

#include <algorithm>
#include <iterator>

#include "text/printable.hpp"
#include "text/text_width.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

// A trace without an end says so before anything else: its other numbers are a lower bound.
std::string_view state_warning(store::State state) {
  switch (state) {
  case store::State::COMPLETE:
    return {};
  case store::State::INITIALIZING:
  case store::State::RUNNING:
    return "STILL RECORDING: this is what is on disk by now.";
  case store::State::INCOMPLETE:
    return "INCOMPLETE TRACE: the recorder ended without closing it. All events up to its last "
           "block are here; how many came after that is not known.";
  case store::State::ERROR:
    return "RECORDING FAILED: what is here was recorded before that.";
  }
  return {};
}

// "1.2 KiB in 2 blocks could not be read; 7 rows are missing, as far as can be told", without what there is none of.
std::string skipped_text(const store::Damage& damage) {
  std::string text;
  if (damage.bytes_skipped != 0 || damage.blocks_skipped != 0)
    text = fmt::format(
        "{}{} could not be read", human_bytes(damage.bytes_skipped),
        damage.blocks_skipped == 0 ? "" : " in " + human_count_of(damage.blocks_skipped, "block"));
  if (damage.rows_skipped != 0)
    text += fmt::format("{}{} {} missing, as far as can be told", text.empty() ? "" : "; ",
                        human_count_of(damage.rows_skipped, "row"),
                        damage.rows_skipped == 1 ? "is" : "are");
  return text;
}

// A manifest may hold any numbers.
std::uint64_t sum_of(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

} // namespace

std::vector<std::string> damage_sentences(const store::TraceReader& trace) {
  std::vector<std::string> sentences;
  const store::Damage damage = trace.damage();
  if (damage.manifest)
    sentences.emplace_back("DAMAGED TRACE: it has no manifest that can be believed.");
  if (damage.any_skipped())
    sentences.push_back(fmt::format("DAMAGED TRACE: {}.", skipped_text(damage)));
  sentences.insert(sentences.end(), trace.notices().begin(), trace.notices().end());
  return sentences;
}

std::vector<std::string> choice_sentences(const store::Manifest& manifest) {
  std::vector<std::string> sentences;
  if (manifest.sample_of != 0)
    sentences.push_back(
        fmt::format("A SAMPLE: of {0} calls one was recorded, by chance, with what it did itself. "
                    "Numbers with ~ are estimates for all calls, {0} times what was recorded; the "
                    "others are of what was recorded, in which what the kernel wrote back later is "
                    "all there, whoever wrote it.",
                    human_count(manifest.sample_of)));
  if (const std::uint64_t left_out = manifest.left_out(); left_out != 0)
    sentences.push_back(fmt::format("WITHOUT {} of operations that took or moved less than was "
                                    "asked for. What the kernel wrote back later is all there, "
                                    "whoever wrote it.",
                                    human_count_of(left_out, "event")));
  return sentences;
}

std::vector<std::string> warning_sentences(const store::TraceReader& trace) {
  std::vector<std::string> sentences;
  if (const std::string_view warning = state_warning(trace.manifest().state);
      !trace.damage().manifest && !warning.empty()) // without one the state is not known
    sentences.emplace_back(warning);
  for (const std::string& sentence : damage_sentences(trace))
    sentences.push_back(printable(sentence));
  std::ranges::copy(choice_sentences(trace.manifest()), std::back_inserter(sentences));
  for (const std::string& sentence : trace.limits())
    sentences.push_back(printable(sentence));
  return sentences;
}

bool adds_up(const store::SourceTally& source) {
  return source.written <= source.produced && source.produced - source.written == source.lost;
}

std::string lost_text(const store::Manifest& manifest) {
  if (!std::ranges::all_of(manifest.sources, adds_up))
    return "THE COUNTS OF ITS EVENTS DO NOT ADD UP";
  std::uint64_t produced = manifest.left_out(); // of which any may have been lost
  std::uint64_t lost = 0;
  for (const store::SourceTally& source : manifest.sources) {
    produced = sum_of(produced, source.produced);
    lost = sum_of(lost, source.lost);
  }
  if (lost == 0)
    return {};
  return fmt::format("{} OF {} EVENTS LOST ({})", human_count(lost), human_count(produced),
                     human_share_of(lost, produced));
}

std::vector<std::string> answer_warnings(const store::TraceReader& trace) {
  std::vector<std::string> sentences = warning_sentences(trace);
  if (const std::string lost = lost_text(trace.manifest()); !lost.empty())
    sentences.push_back(lost + ": `iotrail report` says more.");
  else if (trace.manifest().gaps() != 0)
    sentences.emplace_back("SOME EVENTS MAY BE MISSING: `iotrail report` says more.");
  return sentences;
}

void print_answer_warnings(const store::TraceReader& trace, Sink& sink, std::size_t width) {
  const std::vector<std::string> sentences = answer_warnings(trace);
  for (const std::string& sentence : sentences)
    for (const std::string& line : wrapped(sentence, width))
      sink.print("{}\n", line);
  sink.put(sentences.empty() ? "" : "\n");
}

} // namespace iotrail::output
