// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/time_parts.hpp"

#include <algorithm>
#include <functional>

#include <fmt/ranges.h>

#include "base/capped_sum.hpp"
#include "report/answer/devices_verdict.hpp"
#include "report/coverage.hpp"
#include "report/section.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kNotSplit = "not split"; // a kind of the view file_time, too
constexpr double kCrumb = 0.005;                    // a part that hardly matters

} // namespace

const Section* section_with(const std::vector<Section>& sections, std::string_view id) {
  const auto found = std::ranges::find(sections, id, &Section::id);
  return found == sections.end() || found->rows.empty() ? nullptr : &*found;
}

std::string activity_of(const std::string& kind, const std::string& server) {
  if (kind == kServer)
    return "waiting for " + server;
  if (kind == "outside the kernel")
    return kind;
  if (kind == "unknown")
    return "in unknown parts";
  if (kind == kNotSplit)
    return "not split into work and waits";
  return (kind == kKernel ? "work of " : "waiting for ") + kind;
}

namespace {

struct Part {
  std::string name;
  std::uint64_t ns = 0;
  double share = 0;
};

// Several parts that hardly matter are one, so that all still add up.
std::vector<Part> without_crumbs(const std::vector<Part>& parts) {
  const auto is_crumb = [](const Part& part) { return part.share < kCrumb; };
  if (std::ranges::count_if(parts, is_crumb) < 2)
    return parts;
  std::vector<Part> kept;
  Part rest{.name = "the rest"};
  for (const Part& part : parts)
    if (is_crumb(part))
      rest = {rest.name, capped_sum(rest.ns, part.ns), rest.share + part.share};
    else
      kept.push_back(part);
  kept.push_back(rest);
  return kept;
}

// "The run: calls on files 26.1 s (98.3 %), outside I/O 455 ms (1.7 %)", without parts of no time.
Sentence listed(const Section& section, std::string_view head,
                const std::function<std::string(const SectionRows&, std::size_t)>& name) {
  const SectionRows rows(section);
  std::vector<Part> parts;
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (rows.number(row, "ns") != 0)
      parts.push_back({name(rows, row), rows.number(row, "ns"), rows.real(row, "share")});
  if (parts.empty())
    return {};
  Sentence text = sentence(head);
  bool is_first = true;
  for (const Part& part : without_crumbs(parts)) {
    text.add(is_first ? " {name} {time} ({share})" : ", {name} {time} ({share})",
             {text_value("name", part.name), ns_value("time", part.ns),
              share_value("share", part.share)});
    is_first = false;
  }
  return text;
}

std::uint64_t sum_of_ns(const Section& section) {
  const SectionRows rows(section);
  std::uint64_t sum = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    sum = capped_sum(sum, rows.number(row, "ns"));
  return sum;
}

// Calls at the same time take more time together than the run has.
std::string_view calls_head(const Section* run, const Section& time) {
  constexpr double kAtOnce = 1.01;
  const std::uint64_t busy_ns = run == nullptr ? 0 : SectionRows(*run).number(0, "ns");
  return busy_ns > 0 &&
                 static_cast<double>(sum_of_ns(time)) > kAtOnce * static_cast<double>(busy_ns)
             ? "Calls on files, those at once added up:"
             : "Calls on files:";
}

// "not split into work and waits (not recorded: layers block, sched)"
std::string activity_in(const store::TraceReader& trace, const std::string& kind,
                        const std::string& server) {
  if (kind != kNotSplit)
    return activity_of(kind, server);
  std::vector<std::string_view> missing;
  for (const auto layer : {IOT_LAYER_block, IOT_LAYER_sched})
    if (!layer_not_recorded(trace, schema::layer_name(layer)).empty())
      missing.push_back(schema::layer_name(layer));
  return missing.empty() ? activity_of(kind, server)
                         : fmt::format("{} (not recorded: layer{} {})", activity_of(kind, server),
                                       missing.size() == 1 ? "" : "s", fmt::join(missing, ", "));
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
                               const std::string& server) {
  std::vector<Sentence> parts;
  if (!has_layers_of_calls(trace))
    return parts;
  if (const Section* run = section_with(sections, "run_parts"); run != nullptr && !is_part)
    parts.push_back(
        with_cpu(trace, listed(*run, "The run:", [](const SectionRows& rows, std::size_t row) {
                   return rows.text(row, "part");
                 })));
  if (const Section* time = section_with(sections, "file_time"))
    parts.push_back(listed(*time, calls_head(section_with(sections, "run_parts"), *time),
                           [&](const SectionRows& rows, std::size_t row) {
                             return activity_in(trace, rows.text(row, "kind"), server);
                           }));
  return parts;
}

} // namespace iotrail::output
