// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/diff_sections.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

namespace iotrail::output {

namespace {

constexpr std::size_t kSentences = 3;
constexpr double kWorthASentence = 0.01; // of the larger side's time

struct Words {
  std::string_view key;    // title of the column
  std::string_view title;  // of the section
  std::string_view things; // the operations
};

Words words_of(DiffBy by) {
  switch (by) {
  case DiffBy::call:
    return {"call", "Calls on files, by their change of time", "calls"};
  case DiffBy::file:
    return {"file", "Files, by the change of time in calls", "calls"};
  case DiffBy::process:
    return {"program", "Programs, by the change of time in calls on files", "calls"};
  case DiffBy::device:
    return {"device", "Requests to devices, by their change of time", "requests"};
  }
  return {};
}

Value rounded(double number) {
  return static_cast<std::int64_t>(std::llround(std::min(number, 9e18)));
}

template <class Number> Value known(const std::optional<Number>& number) {
  return number ? Value(*number) : Value();
}

Value range_end(const std::optional<Range>& range, double Range::* end) {
  return range ? Value((*range).*end) : Value();
}

std::string_view least_words(bool is_least) {
  return is_least ? "at least " : "";
}

NamedValue ratio_value(std::string name, double ratio) {
  return {std::move(name), ratio, Meaning::ratio};
}

// " (x 0.40 to x 0.61 with 97.1 % confidence)"
void add_range(Sentence& text, const Compared& compared) {
  if (compared.range)
    text.add(" ({low} to {high} with {confidence} confidence)",
             {ratio_value("low", compared.range->low), ratio_value("high", compared.range->high),
              share_value("confidence", compared.range->confidence)});
}

std::string_view more_or_less(const Change& change) {
  return change.change_ns() < 0 ? "less" : "more";
}

// " -2.4 s by the number of calls (6,004 to 1,501), 0.2 s by their duration"
void add_reasons(Sentence& text, const Change& change, std::string_view things) {
  const double by_count = change.change_by_count_ns();
  if (change.count.before == change.count.after) {
    text.add(fmt::format(" All by the duration of {{count}} {}", things),
             {{"count", rounded(change.count.after), Meaning::count}});
    return;
  }
  text.add(fmt::format(" {{by_count}} by the number of {} ({{count_before}} to {{count_after}}), "
                       "{{by_duration}} by their duration",
                       things),
           {{"by_count", rounded(by_count), Meaning::change},
            {"count_before", rounded(change.count.before), Meaning::count},
            {"count_after", rounded(change.count.after), Meaning::count},
            {"by_duration", rounded(change.change_ns() - by_count), Meaning::change}});
}

// "fdatasync: 2.20 s less, 3.30 s before and 1.10 s after. ..."
Sentence sentence_of(const Sides& sides, const Change& change, std::string_view things) {
  const NamedValue before{"before", rounded(change.time_ns.before), Meaning::ns};
  const NamedValue after{"after", rounded(change.time_ns.after), Meaning::ns};
  if (!are_whole(sides))
    return sentence(fmt::format("{{name}}: {}{{before}} before and {}{{after}} after.",
                                least_words(change.time_ns.is_least_before),
                                least_words(change.time_ns.is_least_after)),
                    {{"name", change.name, Meaning::path}, before, after});
  Sentence text =
      sentence(fmt::format("{{name}}: {{change}} {}, {{before}} before and {{after}} after.",
                           more_or_less(change)),
               {{"name", change.name, Meaning::path},
                {"change", rounded(std::abs(change.change_ns())), Meaning::ns},
                before,
                after});
  if (change.count.before == 0 || change.count.after == 0)
    return text.add(change.count.before == 0 ? " There were none before."
                                             : " There are none after.");
  add_reasons(text, change, things);
  if (change.median_ns.ratio) {
    text.add("; the median is {median}", {ratio_value("median", *change.median_ns.ratio)});
    add_range(text, change.median_ns);
  }
  text.add(".");
  const Compared& tested = sides.is_one_each() ? change.median_ns : change.time_ns;
  if (tested.chance)
    text.add(fmt::format(" Chance alone makes {} differ as much in {{chance}} of cases.",
                         sides.is_one_each() ? "durations" : "runs"),
             {share_value("chance", *tested.chance)});
  return text;
}

Column number_column(std::string name, std::string title, Meaning meaning, int drop_priority = 0) {
  return {.name = std::move(name),
          .title = std::move(title),
          .meaning = meaning,
          .drop_priority = drop_priority};
}

std::vector<Column> columns_of(DiffBy by) {
  return {
      {.name = "key"},
      {.name = "name",
       .title = std::string(words_of(by).key),
       .meaning = by == DiffBy::file ? Meaning::path : Meaning::text},
      number_column("count_before", by == DiffBy::device ? "requests" : "calls", Meaning::count, 2),
      number_column("count_after", "after", Meaning::count, 2),
      number_column("time_before_ns", "time", Meaning::ns, 1),
      number_column("time_after_ns", "after", Meaning::ns, 1),
      number_column("change_ns", "change", Meaning::change),
      number_column("median_ratio", "median", Meaning::ratio),
      number_column("chance", "chance", Meaning::share),
      number_column("change_by_count_ns", "", Meaning::change),
      number_column("time_ratio", "", Meaning::ratio),
      number_column("time_ratio_low", "", Meaning::ratio),
      number_column("time_ratio_high", "", Meaning::ratio),
      number_column("median_before_ns", "", Meaning::ns),
      number_column("median_after_ns", "", Meaning::ns),
      number_column("median_ratio_low", "", Meaning::ratio),
      number_column("median_ratio_high", "", Meaning::ratio),
      number_column("confidence", "", Meaning::share),
      number_column("smaller_share", "", Meaning::share),
      number_column("bytes_before", "", Meaning::bytes),
      number_column("bytes_after", "", Meaning::bytes),
      number_column("errors_before", "", Meaning::count),
      number_column("errors_after", "", Meaning::count)};
}

Row row_of(const Sides& sides, const Change& change) {
  const Compared& tested = sides.is_one_each() ? change.median_ns : change.time_ns;
  return {{change.key,
           change.name,
           rounded(change.count.before),
           rounded(change.count.after),
           rounded(change.time_ns.before),
           rounded(change.time_ns.after),
           rounded(change.change_ns()),
           known(change.median_ns.ratio),
           known(tested.chance),
           rounded(change.change_by_count_ns()),
           known(change.time_ns.ratio),
           range_end(change.time_ns.range, &Range::low),
           range_end(change.time_ns.range, &Range::high),
           rounded(change.median_ns.before),
           rounded(change.median_ns.after),
           range_end(change.median_ns.range, &Range::low),
           range_end(change.median_ns.range, &Range::high),
           range_end(tested.range, &Range::confidence),
           sides.is_one_each() && tested.chance ? Value(change.smaller_share) : Value(),
           rounded(change.bytes.before),
           rounded(change.bytes.after),
           rounded(change.errors.before),
           rounded(change.errors.after)}};
}

Sentence table_note(const Sides& sides) {
  if (sides.is_one_each())
    return sentence(
        "chance: how often durations from one source differ as much, by the rank test of "
        "up to {sample} a side, taken as independent",
        {count_value("sample", kSampleSize)});
  return sentence("chance: how often runs of one program differ as much in the time, by the rank "
                  "test; of 20 rows without a change, one is below 5 %");
}

} // namespace

void add_compared(Sentence& text, const Compared& compared, Meaning meaning) {
  text.add(
      fmt::format("{}{}{{before}} before, {}{{after}} after", text.empty() ? "" : ", ",
                  least_words(compared.is_least_before), least_words(compared.is_least_after)),
      {{"before", rounded(compared.before), meaning}, {"after", rounded(compared.after), meaning}});
  if (!compared.ratio)
    return;
  text.add(": {ratio}", {ratio_value("ratio", *compared.ratio)});
  if (compared.range && compared.range->low == 1 && compared.range->high == 1)
    return; // equal in all runs
  add_range(text, compared);
  if (compared.chance)
    text.add("; {chance} by chance", {share_value("chance", *compared.chance)});
}

Section runs_section(const Sides& sides) {
  Section section{.id = "runs"};
  section.columns = {{.name = "side"},
                     {.name = "trace", .meaning = Meaning::path},
                     {.name = "command", .meaning = Meaning::command},
                     {.name = "duration_ns", .meaning = Meaning::ns},
                     {.name = "total_ns", .meaning = Meaning::ns},
                     {.name = "count", .meaning = Meaning::count},
                     {.name = "is_whole"},
                     {.name = "lost_share", .meaning = Meaning::share}};
  const auto add = [&](const std::string& side, const std::vector<Run>& runs) {
    for (const Run& run : runs)
      section.rows.push_back(
          {{side, run.trace, run.command, run.duration_ns, run.all.total_ns, run.all.count,
            run.completeness.is_whole(), run.completeness.lost_share}});
  };
  add("before", sides.before);
  add("after", sides.after);
  section.all_rows = section.rows.size();
  return section;
}

Section conditions_section(const std::vector<Judged>& judged) {
  Section section{.id = "conditions", .title = sentence("Conditions")};
  section.columns = {{.name = "condition", .title = "fail if", .meaning = Meaning::command},
                     {.name = "is_failed"},
                     {.name = "before"},
                     {.name = "after"},
                     {.name = "ratio", .title = "ratio", .meaning = Meaning::ratio},
                     {.name = "ratio_low", .meaning = Meaning::ratio},
                     {.name = "ratio_high", .meaning = Meaning::ratio},
                     {.name = "confidence", .meaning = Meaning::share},
                     {.name = "not_judged"}};
  for (const Judged& each : judged) {
    section.rows.push_back(
        {{each.condition->text, each.is_failed, rounded(each.values.before),
          rounded(each.values.after), known(each.values.ratio),
          range_end(each.values.range, &Range::low), range_end(each.values.range, &Range::high),
          range_end(each.values.range, &Range::confidence),
          each.not_judged.empty() ? Value() : Value(each.not_judged)}});
    Sentence text = sentence(fmt::format("{}: {{condition}}", each.is_failed ? "FAILED" : "passed"),
                             {{"condition", each.condition->text, Meaning::command}});
    if (each.not_judged.empty())
      add_compared(text, each.values, meaning_of(each.condition->metric));
    else
      text = sentence(each.is_open ? "NOT JUDGED: {condition}, {why}"
                                   : "not judged: {condition}, {why}",
                      {{"condition", each.condition->text, Meaning::command},
                       text_value("why", each.not_judged)});
    section.intro.push_back(std::move(text));
  }
  section.all_rows = section.rows.size();
  return section;
}

Section changes_section(const Sides& sides, const DiffOptions& options) {
  const std::vector<Change> changes = changes_of(sides);
  Section section{.id = "changes",
                  .title = sentence(words_of(options.by).title),
                  .if_empty = "nothing to compare"};
  section.columns = columns_of(options.by);
  section.shown = options.by == DiffBy::file ? std::vector<std::size_t>{2, 3, 4, 5, 6, 7, 8, 1}
                                             : std::vector<std::size_t>{1, 2, 3, 4, 5, 6, 7, 8};
  const bool is_whole = are_whole(sides);
  if (!is_whole) // what is missing may be all of the difference
    std::erase_if(section.shown, [&](std::size_t column) {
      const std::string& name = section.columns[column].name;
      return name == "change_ns" || name == "median_ratio" || name == "chance";
    });
  double most = 0;
  for (const Run* run : {&sides.before.front(), &sides.after.front()})
    most = std::max(most, static_cast<double>(run->all.total_ns));
  for (const Change& change : changes) {
    if (options.rows != 0 && section.rows.size() == options.rows)
      break;
    if (section.intro.size() < kSentences && std::abs(change.change_ns()) > kWorthASentence * most)
      section.intro.push_back(sentence_of(sides, change, words_of(options.by).things));
    section.rows.push_back(row_of(sides, change));
  }
  section.all_rows = changes.size();
  if (section.all_rows > section.rows.size())
    section.notes.push_back(sentence(
        "{shown} of {all}; all: add --top {all}",
        {count_value("shown", section.rows.size()), count_value("all", section.all_rows)}));
  if (!section.rows.empty() && is_whole)
    section.notes.push_back(table_note(sides));
  return section;
}

} // namespace iotrail::output
