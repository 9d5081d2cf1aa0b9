// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/first_screen.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/ranges.h>

#include "report/answer/devices_verdict.hpp"
#include "report/answer/first_screen_notes.hpp"
#include "report/answer/time_parts.hpp"
#include "report/coverage.hpp"
#include "report/sections.hpp"
#include "report/small_result.hpp"
#include "report/trace_facts.hpp"
#include "report/warnings.hpp"
#include "text/text_width.hpp"

namespace iotrail::output {

namespace {

constexpr double kSlow = 0.5;     // of the run in calls on files: I/O is what the run waits for
constexpr double kPartly = 0.1;   // I/O matters
constexpr double kMostly = 0.4;   // of the time in calls: the reason to name
constexpr double kMostLost = 0.5; // of the events: beyond it, the rest says little about the whole
constexpr std::size_t kFindings = 2;
constexpr std::size_t kCommandWidth = 40;
constexpr std::string_view kRefusalsRule = "refused_calls"; // said above, in refusals_of()

constexpr std::string_view kProcessor = "a processor";

// What takes most of the time of the calls.
struct Reason {
  std::string kind;
  std::string activity; // "waiting for the disk"
  double share = 0;
};

Reason main_reason(const std::vector<Section>& sections, const std::string& server) {
  const Section* section = section_with(sections, "file_time");
  if (section == nullptr)
    return {};
  const SectionRows rows(*section);
  return {rows.text(0, "kind"), activity_of(rows, 0, server), rows.real(0, "share")};
}

bool has_server_time(const std::vector<Section>& sections) {
  const Section* section = section_with(sections, "file_time");
  if (section == nullptr)
    return false;
  const SectionRows rows(*section);
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.text(row, "kind") == kServer)
      return true;
  return false;
}

// "; fdatasync took most, 67.8 % of the run, most on shop.db-journal"
void add_main_call(const std::vector<Section>& sections, Sentence& verdict) {
  const Section* section = section_with(sections, "file_call_totals");
  if (section == nullptr)
    return;
  const SectionRows rows(*section);
  verdict.add(
      "; {call} took most, {call_share} of the run",
      {text_value("call", rows.text(0, "call")), share_value("call_share", rows.real(0, "share"))});
  if (!rows.is_null(0, "path"))
    verdict.add(", most on {path}", {{"path", rows.text(0, "path"), Meaning::path}});
}

std::string_view verdict_words(double share, const Reason& reason) {
  if (share < kPartly)
    return "NOT SLOWED BY CALLS ON FILES";
  if (reason.kind == kProcessor && reason.share >= kMostly && share * reason.share >= kPartly)
    return share < kSlow ? "PARTLY SLOWED BY A BUSY PROCESSOR, MORE THAN BY I/O"
                         : "SLOWED BY A BUSY PROCESSOR, MORE THAN BY I/O";
  return share < kSlow ? "PARTLY SLOWED BY I/O" : "SLOWED BY I/O";
}

// The verdict changes if the lost calls took as long as the recorded ones.
bool is_changed_by_losses(double share, const Reason& reason, const Completeness& completeness) {
  if (!completeness.has_losses())
    return false;
  if (completeness.lost_share >= kMostLost)
    return share < kSlow;
  const double likely = std::min(1.0, share / (1 - completeness.lost_share));
  return verdict_words(likely, reason) != verdict_words(share, reason);
}

// The verdict changes if the time without known waits was none.
bool is_changed_by_waits(double share, const Reason& reason, const std::vector<Section>& sections) {
  const Section* section = section_with(sections, "file_time");
  if (section == nullptr)
    return false;
  const SectionRows rows(*section);
  double unknown = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (const std::string kind = rows.text(row, "kind"); kind == kNotSplit || kind == kUnknown)
      unknown += rows.real(row, "share");
  return verdict_words(share * (1 - unknown), reason) != verdict_words(share, reason);
}

// "; what they waited for is not recorded: record layer sched"
void add_missing_waits(const store::TraceReader& trace, Sentence& verdict) {
  verdict.add("; what they waited for is not recorded");
  if (std::string layers = waits_to_record(trace); !layers.empty())
    verdict.add(": record {layers}", {text_value("layers", std::move(layers))});
}

Sentence unsure_verdict(const Completeness& completeness) {
  return sentence("NO SURE VERDICT, {lost_share} OF THE EVENTS ARE LOST",
                  {share_value("lost_share", completeness.lost_share)});
}

// The last part of the run is outside all calls.
double outside_share(const SectionRows& parts) {
  return parts.real(parts.size() - 1, "share");
}

// Waits in page faults slow a run as calls do, but are part of none.
bool are_faults_the_reason(const std::vector<Section>& sections, const PageFaults& faults) {
  const Section* parts = section_with(sections, "run_parts");
  return faults.wait_share >= kPartly &&
         (parts == nullptr || SectionRows(*parts).real(0, "share") < faults.wait_share);
}

// "SLOWED BY I/O: page faults took at least 62.0 % of the run, most on /data/index"
Sentence fault_verdict(const Completeness& completeness, const PageFaults& faults) {
  Sentence verdict = is_changed_by_losses(faults.wait_share, {}, completeness)
                         ? unsure_verdict(completeness)
                         : sentence(verdict_words(faults.wait_share, {}));
  verdict.add(fmt::format(": page faults took {}{{wait_share}} of the run", at_least(completeness)),
              {share_value("wait_share", faults.wait_share)});
  const bool are_reads = faults.device_share * 2 > faults.wait_share; // path is judged by them
  if (!faults.path.empty() && are_reads)
    verdict.add(", most on {path}", {{"path", faults.path, Meaning::path}});
  return verdict;
}

// `is_part`: of selected calls, which cannot say what slows the run.
Sentence verdict_of(const store::TraceReader& trace, const std::vector<Section>& sections,
                    bool is_part, const Completeness& completeness, const PageFaults& faults,
                    const std::string& server) {
  if (const Section* devices = section_with(sections, "devices"))
    return devices_verdict(*devices, completeness);
  if (!is_part && are_faults_the_reason(sections, faults))
    return fault_verdict(completeness, faults);
  const Section* parts = section_with(sections, "run_parts");
  if (section_with(sections, "file_call_totals") == nullptr || parts == nullptr) {
    if (is_part)
      return sentence("No selected call is on a file");
    if (completeness.has_losses())
      return unsure_verdict(completeness);
    const bool has_calls = parts != nullptr && outside_share(SectionRows(*parts)) < 1;
    return sentence(has_calls ? "NOT SLOWED BY I/O: no call on a file was recorded"
                              : "NO VERDICT: no call was recorded");
  }
  if (!is_part && SectionRows(*parts).number(0, "ns") == 0)
    return sentence("NO VERDICT: the calls on files have no durations");
  const double share = SectionRows(*parts).real(0, "share");
  const Reason reason = main_reason(sections, server);
  const bool is_unsure = !is_part && is_changed_by_losses(share, reason, completeness);
  const bool lacks_waits = !is_part && is_changed_by_waits(share, reason, sections);
  Sentence verdict = is_unsure     ? unsure_verdict(completeness)
                     : is_part     ? sentence("The selected")
                     : lacks_waits ? sentence("NO SURE VERDICT")
                                   : sentence(verdict_words(share, reason));
  verdict.add(fmt::format("{}calls on files took {}{{share}} of the run", is_part ? " " : ": ",
                          at_least(completeness)),
              {share_value("share", share)});
  if (!is_part && share < kPartly)
    return verdict;
  if (lacks_waits)
    add_missing_waits(trace, verdict);
  else if (reason.share >= kMostly)
    verdict.add(reason.kind == kKernel ? ", {reason_share} of that time as {reason}"
                                       : ", {reason_share} of that time {reason}",
                {share_value("reason_share", reason.share), text_value("reason", reason.activity)});
  add_main_call(sections, verdict);
  return verdict;
}

Section notes_section(const Judgement& judgement, Sentence bytes, Sentence besides) {
  Section section{.id = "noticed"};
  for (Sentence* text : {&bytes, &besides})
    if (!text->empty())
      section.intro.push_back(std::move(*text));
  std::size_t shown = 0;
  for (const Finding& finding : judgement.findings)
    if (matters(finding, judgement) && finding.rule->name != kRefusalsRule && shown++ < kFindings) {
      Sentence line = sentence("{id}: ", {text_value("id", finding.rule->id)});
      line.add(finding.sentence.pattern, finding.sentence.values);
      section.intro.push_back(std::move(line));
    }
  return section;
}

// Each on a line of its own, to be copied.
Section next_section(const store::TraceReader& trace) {
  const std::filesystem::path& path = trace.path();
  return {.id = "next",
          .title = sentence("Next"),
          .intro = {command_on("iotrail findings {}", path),
                    command_on("iotrail explain {} --slowest 1", path),
                    command_on("iotrail report {} --full", path)}};
}

// A trace without an end has no count: its rows say it.
std::uint64_t events_of(const store::TraceReader& trace) {
  if (trace.manifest().is_counted())
    return trace.manifest().events();
  std::uint64_t events = 0;
  for (const store::BlockInfo& block : trace.blocks())
    if (const store::TableInfo* table = trace.table(block.kind);
        table != nullptr && !table->is_dictionary())
      events += block.rows;
  return events;
}

Sentence title_of(const store::TraceReader& trace, std::uint64_t run_ns) {
  const store::Manifest& manifest = trace.manifest();
  const std::string command =
      shortened_end(fmt::format("{}", fmt::join(manifest.command, " ")), kCommandWidth);
  Sentence title = sentence(
      events_of(trace) == 1 ? "{what}: {run_ns}, {events} event"
                            : "{what}: {run_ns}, {events} events",
      {{"what", command.empty() ? trace.path().filename().string() : command, Meaning::command},
       ns_value("run_ns", run_ns),
       count_value("events", events_of(trace))});
  if (!damage_sentences(trace).empty())
    title.add(", as far as they can be read");
  else if (manifest.lost() > 0)
    title.add(", {lost} lost", {count_value("lost", manifest.lost())});
  else if (manifest.gaps() > 0)
    title.add(", some may be missing");
  else
    title.add(manifest.is_counted() ? ", none lost" : "");
  return title;
}

// The recording ended before the program did, for a reason that the user did not choose.
bool has_failed_early(const store::Manifest& manifest) {
  return manifest.state == store::State::ERROR || manifest.counters.contains("store_write_failed");
}

// What the verdict cannot know, since it was not recorded.
std::vector<Sentence> gaps_of(analysis::Engine& engine, const Completeness& completeness,
                              const PageFaults& faults) {
  std::vector<Sentence> gaps;
  const store::Manifest& manifest = engine.trace().manifest();
  if (Sentence losses = losses_sentence(completeness); !losses.empty())
    gaps.push_back(std::move(losses));
  if (has_failed_early(manifest) && !manifest.stop_reason.empty())
    gaps.push_back(sentence("The recording ended early: {stop_reason}",
                            {text_value("stop_reason", manifest.stop_reason)}));
  if (Sentence filters = filters_sentence(manifest); !filters.empty())
    gaps.push_back(std::move(filters));
  if (Sentence read = faults_sentence(faults); !read.empty())
    gaps.push_back(std::move(read));
  return gaps;
}

} // namespace

std::uint64_t first_screen_steps() {
  return analysis::finding_rules().size() + sections_of(&Ranks::first_screen).size();
}

Result<Document> make_first_screen(analysis::Engine& engine, std::string_view selection,
                                   const Judgement& judgement) {
  const store::TraceReader& trace = engine.trace();
  Document document{.trace = trace.path().native(), .all_columns = {}}; // it is one screen
  for (const SectionDefinition& definition : sections_of(&Ranks::first_screen))
    add_notes(trace, definition,
              document.sections.emplace_back(make_section(engine, definition, {})));
  const bool has_calls = has_layers_of_calls(trace);
  if (!has_calls)
    for (const SectionDefinition& definition : sections_of(&Ranks::devices_screen))
      add_notes(trace, definition,
                document.sections.emplace_back(make_section(engine, definition, {})));
  const Completeness completeness = completeness_of(trace);
  auto bytes = has_calls ? bytes_of(engine, completeness) : Sentence{};
  if (!bytes)
    return std::unexpected(bytes.error());
  const bool is_part = !selection.empty();
  auto besides = is_part ? Sentence{} : disk_work_besides(engine);
  if (!besides)
    return std::unexpected(besides.error());
  const auto faults = page_faults_of(engine);
  if (!faults)
    return std::unexpected(faults.error());
  const Result<std::string> server =
      has_server_time(document.sections) ? server_of(engine) : std::string(kServer);
  if (!server)
    return std::unexpected(server.error());
  Section verdict{.id = "verdict",
                  .title =
                      verdict_of(trace, document.sections, is_part, completeness, *faults, *server),
                  .intro = parts_of(trace, document.sections, is_part, completeness, *server)};
  const std::vector<Sentence> gaps = gaps_of(engine, completeness, *faults);
  verdict.intro.insert(verdict.intro.begin(), gaps.begin(), gaps.end());
  const auto hangs = hangs_of(engine);
  if (!hangs)
    return std::unexpected(hangs.error());
  verdict.intro.insert(verdict.intro.begin(), hangs->begin(), hangs->end());
  const auto refusals = refusals_of(engine);
  if (!refusals)
    return std::unexpected(refusals.error());
  verdict.intro.insert(verdict.intro.begin(), refusals->begin(), refusals->end());
  for (Section& section : document.sections)
    if (section.id == "run_parts" || section.id == "file_time")
      section.shown.clear(); // the sentences below the verdict have these rows
  document.sections.insert(document.sections.begin(), std::move(verdict));
  document.sections.push_back(notes_section(judgement, std::move(*bytes), std::move(*besides)));
  trace.check_all(); // no query may have read a damaged block
  if (!damage_sentences(trace).empty())
    document.sections.front().title.add("; the trace is damaged, so this may be wrong");
  document.title = title_of(trace, judgement.run_ns);
  if (!selection.empty())
    document.title.add("; only {selection}", {text_value("selection", std::string(selection))});
  document.warnings = warning_sentences(trace);
  document.sections.push_back(next_section(trace));
  return document;
}

Result<void> add_answer(analysis::Engine& engine, std::string_view selection,
                        const Judgement& judgement, Document& report) {
  auto answer = make_first_screen(engine, selection, judgement);
  if (!answer)
    return std::unexpected(answer.error());
  std::vector<Section> added;
  for (Section& section : answer->sections)
    if (section.id == "verdict" || section.id == "noticed")
      added.push_back(std::move(section));
  added.push_back(findings_section(judgement));
  report.sections.insert(report.sections.begin(), std::move_iterator(added.begin()),
                         std::move_iterator(added.end()));
  return {};
}

} // namespace iotrail::output
