// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/diff.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "report/diff/diff_sections.hpp"

namespace iotrail::output {

namespace {

constexpr double kSure = 0.01;
constexpr double kLikely = 0.05;
constexpr std::size_t kWarnings = 2;    // more become one
constexpr double kHardlyDiffers = 0.02; // of the time before

std::string_view things_of(DiffBy by) {
  return by == DiffBy::device ? "requests to devices" : "calls on files";
}

Compared time_of_all(const Sides& sides) {
  return compare(sides, [](const Run& run) { return static_cast<double>(run.all.total_ns); });
}

// "LESS TIME, likely" and so on.
std::string verdict_words(const Sides& sides, const Compared& time) {
  if (time.before == 0 && time.after == 0)
    return "NOTHING TO COMPARE";
  if (!are_whole(sides))
    return "NO COMPARISON, RUNS ARE NOT WHOLE";
  const bool is_less = time.after < time.before;
  if (sides.is_one_each()) {
    if (std::abs(time.after - time.before) <= kHardlyDiffers * time.before)
      return "ABOUT THE SAME TIME in these two runs";
    return fmt::format("{} TIME in these two runs", is_less ? "LESS" : "MORE");
  }
  const double chance = time.chance.value_or(1);
  if (chance > kLikely)
    return "NO CHANGE OF TIME IS SHOWN";
  return fmt::format("{} TIME, {}", is_less ? "LESS" : "MORE", chance <= kSure ? "sure" : "likely");
}

Sentence title_of(const Sides& sides, const DiffOptions& options) {
  const Compared time = time_of_all(sides);
  Sentence title =
      sentence(fmt::format("{}: {}", verdict_words(sides, time), things_of(options.by)));
  add_compared(title, time, Meaning::ns);
  return title;
}

std::string_view file_name(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

// "4 runs: a1.iotrail, a2.iotrail"
Fact runs_fact(std::string name, const std::vector<Run>& runs) {
  constexpr std::size_t kNamed = 4;
  std::vector<std::string_view> names;
  for (const Run& run : runs)
    if (names.size() < kNamed)
      names.push_back(file_name(run.trace));
  Sentence value = sentence(
      "{runs}: {traces}",
      {text_value("runs", fmt::format("{} run{}", runs.size(), runs.size() == 1 ? "" : "s")),
       {"traces", fmt::format("{}", fmt::join(names, ", ")), Meaning::command}});
  if (names.size() < runs.size())
    value.add(" and {more} more", {count_value("more", runs.size() - names.size())});
  return {std::move(name), std::move(value)};
}

template <class Get>
Fact fact_of(const Sides& sides, std::string name, Meaning meaning, const Get& get) {
  const Compared compared =
      compare(sides, [&](const Run& run) { return static_cast<double>(get(run)); });
  Sentence value;
  add_compared(value, compared, meaning);
  return {std::move(name), std::move(value)};
}

Fact length_fact(const Sides& sides) {
  Sentence value;
  add_compared(value, compare_lengths(sides), Meaning::ns);
  return {"run", std::move(value)};
}

bool have_devices(const Sides& sides) {
  return std::ranges::all_of(sides.before, &Run::has_devices) &&
         std::ranges::all_of(sides.after, &Run::has_devices);
}

bool moves_any(const Sides& sides, std::uint64_t Run::* bytes) {
  const auto moves = [&](const Run& run) { return run.*bytes != 0; };
  return std::ranges::any_of(sides.before, moves) || std::ranges::any_of(sides.after, moves);
}

std::vector<Fact> facts_of(const Sides& sides, const DiffOptions& options) {
  std::vector<Fact> facts = {runs_fact("before", sides.before), runs_fact("after", sides.after)};
  if (!options.selection.empty())
    facts.push_back({"only", only({"selection", options.selection, Meaning::command})});
  facts.push_back(length_fact(sides));
  facts.push_back(fact_of(sides, options.by == DiffBy::device ? "requests" : "calls",
                          Meaning::count, [](const Run& run) { return run.all.count; }));
  if (!have_devices(sides))
    return facts;
  for (const auto& [name, bytes] : {std::pair{"dev read", &Run::device_read_bytes},
                                    std::pair{"dev write", &Run::device_written_bytes}})
    if (moves_any(sides, bytes))
      facts.push_back(
          fact_of(sides, name, Meaning::bytes, [&](const Run& run) { return run.*bytes; }));
  return facts;
}

// Differences of the recordings that look like differences of the programs.
std::vector<Sentence> warnings_of(const Sides& sides) {
  std::vector<Sentence> warnings;
  const Run& first = sides.before.front();
  bool same_layers = true;
  bool same_command = true;
  std::size_t flawed = 0;
  for (const std::vector<Run>* runs : {&sides.before, &sides.after})
    for (const Run& run : *runs) {
      flawed += run.warnings.empty() ? 0 : 1;
      std::ranges::copy(run.warnings, std::back_inserter(warnings));
      same_layers = same_layers && run.layers == first.layers;
      same_command = same_command && run.command == first.command;
    }
  if (warnings.size() > kWarnings)
    warnings = {
        sentence("{flawed} of {runs} runs lost events, are incomplete or the like: `iotrail "
                 "report` says more of each.",
                 {count_value("flawed", flawed),
                  count_value("runs", sides.before.size() + sides.after.size())})};
  if (!same_layers)
    warnings.push_back(sentence("THE RUNS RECORDED DIFFERENT LAYERS, which cost different time and "
                                "count different calls."));
  if (!same_command)
    warnings.push_back(sentence("The commands differ: {before} before, {after} after.",
                                {{"before", first.command, Meaning::command},
                                 {"after", sides.after.front().command, Meaning::command}}));
  return warnings;
}

std::vector<Sentence> closing_of(const Sides& sides) {
  if (!are_whole(sides))
    return {
        sentence("Events are missing in at least one run, so more on one side may be fewer lost. "
                 "Record again with larger rings (--buffer), to the end of the command.")};
  const auto least = std::min(sides.before.size(), sides.after.size());
  if (sides.is_one_each())
    return {sentence("One run a side shows what differs between these two runs. It cannot show how "
                     "much runs vary: record four or more a side, and give them after --before "
                     "and --after.")};
  if (least < kRunsForLikely)
    return {sentence("So few runs can hardly show a change: with four a side, the smallest chance "
                     "is 2.9 %.")};
  return {};
}

} // namespace

Document diff_document(const Sides& sides, const std::vector<Judged>& judged,
                       const DiffOptions& options) {
  Document document{.trace = sides.after.front().trace,
                    .title = title_of(sides, options),
                    .facts = facts_of(sides, options),
                    .warnings = warnings_of(sides)};
  document.sections.push_back(runs_section(sides));
  if (!judged.empty())
    document.sections.push_back(conditions_section(judged));
  document.sections.push_back(changes_section(sides, options));
  document.closing = closing_of(sides);
  return document;
}

} // namespace iotrail::output
