// SPDX-License-Identifier: BSD-3-Clause
#include "report/warnings.hpp"

#include <algorithm>
#include <iterator>
#include <span>

#include <fmt/ranges.h>

#include "base/capped_sum.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr std::size_t kRunningShown = 8;

// First says that a trace has no end: its numbers are then a lower bound.
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

std::string_view plural(std::uint64_t count) {
  return count == 1 ? "" : "s";
}

// "1.2 KiB in 2 blocks could not be read; 7 rows are missing, ...", without parts that are 0.
Sentence skipped_sentence(const store::Damage& damage) {
  Sentence text = sentence("DAMAGED TRACE: ");
  const bool has_bytes = damage.bytes_skipped != 0 || damage.blocks_skipped != 0;
  if (has_bytes)
    text.add("{bytes_skipped}", {bytes_value("bytes_skipped", damage.bytes_skipped)});
  if (damage.blocks_skipped != 0)
    text.add(fmt::format(" in {{blocks_skipped}} block{}", plural(damage.blocks_skipped)),
             {count_value("blocks_skipped", damage.blocks_skipped)});
  text.add(has_bytes ? " could not be read" : "");
  if (damage.rows_skipped != 0)
    text.add(fmt::format("{}{{rows_skipped}} row{} {} missing, at least", has_bytes ? "; " : "",
                         plural(damage.rows_skipped), damage.rows_skipped == 1 ? "is" : "are"),
             {count_value("rows_skipped", damage.rows_skipped)});
  return text.add(".");
}

double lost_share_of(const store::Manifest& manifest) {
  if (!std::ranges::all_of(manifest.sources, adds_up))
    return 1;
  double produced = static_cast<double>(manifest.left_out());
  double lost = 0;
  for (const store::SourceTally& source : manifest.sources) {
    produced += static_cast<double>(source.produced);
    lost += static_cast<double>(source.lost);
  }
  return lost == 0 ? 0 : lost / std::max(1.0, produced);
}

std::string reason_of(const store::Manifest& manifest) {
  std::uint64_t most = 0;
  std::string reason;
  for (const auto& [name, events] : manifest.counters)
    if (const schema::Counter* counter = schema::find_counter(name);
        counter != nullptr && counter->severity == schema::Severity::loss && events > most) {
      most = events;
      reason = fmt::format("{}: {}", counter->name, counter->doc);
    }
  return reason;
}

} // namespace

std::vector<Sentence> damage_sentences(const store::TraceReader& trace) {
  std::vector<Sentence> sentences;
  const store::Damage damage = trace.damage();
  if (damage.manifest)
    sentences.push_back(sentence("DAMAGED TRACE: it has no manifest that can be believed."));
  if (damage.any_skipped())
    sentences.push_back(skipped_sentence(damage));
  for (const std::string& notice : trace.notices())
    sentences.push_back(only(text_value("notice", notice)));
  return sentences;
}

std::vector<Sentence> choice_sentences(const store::Manifest& manifest) {
  std::vector<Sentence> sentences;
  if (manifest.sample_of != 0)
    sentences.push_back(sentence(
        "A SAMPLE: of {sample_of} calls one was recorded, by chance, with its own effects. "
        "Numbers with ~ are estimates for all calls, {sample_of} times the recorded "
        "number; others cover the recorded calls alone. All later write-back is here, "
        "also of other calls.",
        {count_value("sample_of", manifest.sample_of)}));
  if (const std::uint64_t left_out = manifest.left_out(); left_out != 0)
    sentences.push_back(
        sentence(fmt::format("WITHOUT {{left_out}} event{} of operations that took or moved less "
                             "than was asked for. All later write-back is here, also of those "
                             "operations.",
                             plural(left_out)),
                 {count_value("left_out", left_out)}));
  return sentences;
}

std::vector<Sentence> warning_sentences(const store::TraceReader& trace) {
  std::vector<Sentence> sentences;
  if (const std::string_view warning = state_warning(trace.manifest().state);
      !trace.damage().manifest && !warning.empty()) // without a manifest the state is unknown
    sentences.push_back(sentence(warning));
  std::ranges::move(damage_sentences(trace), std::back_inserter(sentences));
  std::ranges::move(choice_sentences(trace.manifest()), std::back_inserter(sentences));
  for (const std::string& limit : trace.limits())
    sentences.push_back(only(text_value("limit", limit)));
  return sentences;
}

bool adds_up(const store::SourceTally& source) {
  return source.written <= source.produced && source.produced - source.written == source.lost;
}

double share_of(std::uint64_t part, std::uint64_t whole) {
  return static_cast<double>(part) / static_cast<double>(std::max<std::uint64_t>(1, whole));
}

Sentence lost_sentence(const store::Manifest& manifest) {
  if (!std::ranges::all_of(manifest.sources, adds_up))
    return sentence("THE COUNTS OF ITS EVENTS DO NOT ADD UP");
  std::uint64_t produced = manifest.left_out(); // any of these may have been lost
  std::uint64_t lost = 0;
  for (const store::SourceTally& source : manifest.sources) {
    produced = capped_sum(produced, source.produced);
    lost = capped_sum(lost, source.lost);
  }
  if (lost == 0)
    return {};
  return sentence("{lost} OF {produced} EVENTS LOST ({lost_share})",
                  {count_value("lost", lost), count_value("produced", produced),
                   share_value("lost_share", share_of(lost, produced))});
}

Sentence gap_sentence(std::uint64_t times, std::string counter, std::string meaning) {
  return sentence(fmt::format("EVENTS MAY BE MISSING, {{times}} time{} ({{counter}}): {{meaning}}",
                              plural(times)),
                  {count_value("times", times), text_value("counter", std::move(counter)),
                   text_value("meaning", std::move(meaning))});
}

std::vector<Sentence> gap_sentences(const store::Manifest& manifest) {
  std::vector<Sentence> sentences;
  for (const auto& [name, times] : manifest.counters)
    if (const schema::Counter* counter = schema::find_counter(name);
        counter != nullptr && counter->severity == schema::Severity::gap)
      sentences.push_back(gap_sentence(times, name, std::string(counter->doc)));
  return sentences;
}

Sentence running_sentence(const store::Manifest& manifest) {
  const std::vector<std::string>& all = manifest.still_running;
  if (all.empty())
    return {};
  const std::size_t shown = std::min(all.size(), kRunningShown);
  Sentence text = sentence(
      fmt::format("{{count}} process{}, no longer recorded: {{processes}}{}",
                  all.size() == 1 ? "" : "es", all.size() > shown ? ", ..." : ""),
      {count_value("count", all.size()),
       text_value("processes", fmt::format("{}", fmt::join(std::span(all).first(shown), ", ")))});
  return text.add(manifest.stop_reason.ends_with("ended") ? "; --follow waits"
                                                          : ""); // limits end that too
}

std::vector<Sentence> answer_warnings(const store::TraceReader& trace) {
  std::vector<Sentence> sentences = warning_sentences(trace);
  if (Sentence lost = lost_sentence(trace.manifest()); !lost.empty())
    sentences.push_back(completeness_of(trace).has_losses()
                            ? std::move(lost.add(": `iotrail report` says more."))
                            : sentence("{lost} of {produced} events are lost ({lost_share}).",
                                       std::move(lost.values)));
  else if (trace.manifest().gaps() != 0)
    sentences.push_back(sentence("SOME EVENTS MAY BE MISSING: `iotrail report` says more."));
  return sentences;
}

Completeness completeness_of(const store::TraceReader& trace) {
  const store::Manifest& manifest = trace.manifest();
  return {.lost_share = lost_share_of(manifest),
          .reason = reason_of(manifest),
          .has_no_end = manifest.state != store::State::COMPLETE ||
                        !damage_sentences(trace).empty() || !trace.limits().empty(),
          .is_selected = manifest.sample_of != 0 || manifest.left_out() != 0};
}

std::string_view at_least(const Completeness& completeness) {
  return completeness.is_exact() ? "" : "at least ";
}

std::string_view at_most(const Completeness& completeness) {
  return completeness.is_exact() ? "" : "at most ";
}

std::string_view about(const Completeness& completeness) {
  return completeness.is_exact() ? "" : "about ";
}

Sentence lost_completions_sentence(const store::Manifest& manifest) {
  std::uint64_t lost = 0;
  for (const std::string_view counter : {"kernel_completion_missed", "kernel_request_untracked"})
    if (const auto found = manifest.counters.find(std::string(counter));
        found != manifest.counters.end())
      lost = capped_sum(lost, found->second);
  if (lost == 0)
    return {};
  return sentence(fmt::format("{{lost}} completion{} {} lost: the devices did at least this",
                              plural(lost), lost == 1 ? "is" : "are"),
                  {count_value("lost", lost)});
}

Sentence losses_sentence(const Completeness& completeness) {
  if (!completeness.has_losses())
    return {};
  Sentence text = sentence("{lost_share} of the events are lost, so sums are lower bounds.",
                           {share_value("lost_share", completeness.lost_share)});
  if (!completeness.reason.empty())
    text.add(" {reason}", {text_value("reason", completeness.reason)});
  return text;
}

} // namespace iotrail::output
