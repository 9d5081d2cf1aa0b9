// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/time_parts.hpp"

#include <algorithm>
#include <initializer_list>

#include <fmt/ranges.h>

#include "base/capped_sum.hpp"
#include "report/answer/devices_verdict.hpp"
#include "report/coverage.hpp"
#include "report/section.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr double kCrumb = 0.005; // a part that hardly matters

} // namespace

const Section* section_with(const std::vector<Section>& sections, std::string_view id) {
  const auto found = std::ranges::find(sections, id, &Section::id);
  return found == sections.end() || found->rows.empty() ? nullptr : &*found;
}

std::string activity_of(const SectionRows& time, std::size_t row, const std::string& server) {
  std::string words = time.text(row, "_words");
  if (time.text(row, "kind") == kServer)
    if (const std::size_t at = words.find(kServer); at != words.npos)
      words.replace(at, kServer.size(), server);
  return words;
}

namespace {

struct Part {
  std::string name;
  std::string_view bound; // "at least "; empty: the time is exact
  std::uint64_t ns = 0;
  double share = 0;
};

// Several parts that hardly matter are one, so that all still add up. `bound`: of their sum.
std::vector<Part> without_crumbs(const std::vector<Part>& parts, std::string_view bound) {
  const auto is_crumb = [](const Part& part) { return part.share < kCrumb; };
  if (std::ranges::count_if(parts, is_crumb) < 2)
    return parts;
  std::vector<Part> kept;
  Part rest{.name = "the rest", .bound = bound};
  for (const Part& part : parts)
    if (is_crumb(part))
      rest = {rest.name, bound, capped_sum(rest.ns, part.ns), rest.share + part.share};
    else
      kept.push_back(part);
  kept.push_back(rest);
  return kept;
}

// "The run: calls on files 26.1 s (98.3 %), outside I/O 455 ms (1.7 %)"
Sentence listed(std::string_view head, const std::vector<Part>& parts) {
  if (parts.empty())
    return {};
  Sentence text = sentence(head);
  bool is_first = true;
  for (const Part& part : parts) {
    text.add(fmt::format("{} {{name}} {}{{time}} ({{share}})", is_first ? "" : ",", part.bound),
             {text_value("name", part.name), ns_value("time", part.ns),
              share_value("share", part.share)});
    is_first = false;
  }
  return text;
}

// Lost calls belong to the first part, and less of the run is left for the last one.
std::vector<Part> parts_of_run(const Section& section, const Completeness& completeness) {
  const SectionRows rows(section);
  std::vector<Part> parts;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.number(row, "ns") != 0)
      parts.push_back({rows.text(row, "part"),
                       row == 0                 ? at_least(completeness)
                       : row + 1 == rows.size() ? at_most(completeness)
                                                : about(completeness),
                       rows.number(row, "ns"), rows.real(row, "share")});
  return without_crumbs(parts, about(completeness));
}

std::uint64_t sum_of_ns(const Section& section) {
  const SectionRows rows(section);
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    sum = capped_sum(sum, rows.number(row, "ns"));
  return sum;
}

// Calls at the same time take more time together than the run has. Shares of lost calls are unknown.
std::string calls_head(const Section* run, const Section& time, const Completeness& completeness) {
  constexpr double kAtOnce = 1.01;
  const std::uint64_t busy_ns = run == nullptr ? 0 : SectionRows(*run).number(0, "ns");
  const bool are_at_once =
      busy_ns > 0 && static_cast<double>(sum_of_ns(time)) > kAtOnce * static_cast<double>(busy_ns);
  return fmt::format(
      "{}{}:", completeness.is_exact() ? "Calls on files" : "Recorded calls on files",
      are_at_once ? ", those at once added up" : "");
}

// "layers block, sched"; empty: all were recorded.
std::string missing_of(const store::TraceReader& trace, std::initializer_list<unsigned> layers) {
  std::vector<std::string_view> missing;
  for (const unsigned layer : layers)
    if (!layer_not_recorded(trace, schema::layer_name(layer)).empty())
      missing.push_back(schema::layer_name(layer));
  return missing.empty()
             ? std::string()
             : fmt::format("layer{} {}", missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
}

// "not split into work and waits (not recorded: layers block, sched)"
std::string activity_in(const store::TraceReader& trace, const SectionRows& time, std::size_t row,
                        const std::string& server) {
  std::string activity = activity_of(time, row, server);
  if (time.text(row, "kind") == kNotSplit)
    if (const std::string missing = missing_of(trace, {IOT_LAYER_block, IOT_LAYER_sched});
        !missing.empty())
      activity += fmt::format(" (not recorded: {})", missing);
  return activity;
}

// The kinds add up to the durations of the calls.
std::vector<Part> parts_of_calls(const store::TraceReader& trace, const Section& section,
                                 const std::string& server) {
  const SectionRows rows(section);
  std::vector<Part> parts;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.number(row, "ns") != 0)
      parts.push_back({activity_in(trace, rows, row, server), "", rows.number(row, "ns"),
                       rows.real(row, "share")});
  return without_crumbs(parts, "");
}

// Computing and waiting look the same to a recorder of I/O, but not to the processor.
Sentence with_cpu(const store::TraceReader& trace, Sentence run) {
  const store::Manifest& manifest = trace.manifest();
  const std::uint64_t cpu_ns = capped_sum(manifest.command_user_ns, manifest.command_system_ns);
  if (cpu_ns > 0 && !run.empty())
    run.add("; the command and its children computed for {cpu_ns}", {ns_value("cpu_ns", cpu_ns)});
  return run;
}

} // namespace

std::vector<Sentence> parts_of(const store::TraceReader& trace,
                               const std::vector<Section>& sections, bool is_part,
                               const Completeness& completeness, const std::string& server) {
  std::vector<Sentence> parts;
  if (!has_layers_of_calls(trace))
    return parts;
  const Section* run = section_with(sections, "run_parts");
  if (run != nullptr && !is_part)
    parts.push_back(with_cpu(trace, listed("The run:", parts_of_run(*run, completeness))));
  if (const Section* time = section_with(sections, "file_time"))
    parts.push_back(
        listed(calls_head(run, *time, completeness), parts_of_calls(trace, *time, server)));
  return parts;
}

std::string waits_to_record(const store::TraceReader& trace) {
  return missing_of(trace, {IOT_LAYER_syscall, IOT_LAYER_sched});
}

} // namespace iotrail::output
