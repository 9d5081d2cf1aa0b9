// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/condition.hpp"

#include <algorithm>
#include <iterator>
#include <limits>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/nearest_name.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kMetrics[] = {"p50",  "p90",   "p99",    "p999",  "max", "mean",
                                         "time", "count", "errors", "bytes", "run"};
static_assert(std::size(kMetrics) == static_cast<std::size_t>(Metric::run) + 1);
constexpr double kConfidence = 0.95;
constexpr auto kQuantiles =
    static_cast<std::size_t>(Metric::max); // the metrics before it are quantiles

bool is_of_durations(Metric metric) {
  return metric <= Metric::mean;
}

double value_in(const Run& run, const Condition& condition) {
  const Operations& operations = operations_of(run, condition.group);
  const auto place = static_cast<std::size_t>(condition.metric);
  if (place < kQuantiles)
    return operations.count == 0 ? 0 : static_cast<double>(operations.quantiles_ns[place]);
  switch (condition.metric) {
  case Metric::max:
    return static_cast<double>(operations.max_ns);
  case Metric::mean:
    return operations.count == 0
               ? 0
               : static_cast<double>(operations.total_ns) / static_cast<double>(operations.count);
  case Metric::count:
    return static_cast<double>(operations.count);
  case Metric::errors:
    return static_cast<double>(operations.errors);
  case Metric::bytes:
    return static_cast<double>(operations.bytes);
  case Metric::run:
    return static_cast<double>(run.duration_ns);
  default:
    return static_cast<double>(operations.total_ns);
  }
}

bool lacks_group(const std::vector<Run>& runs, const std::string& group) {
  return std::ranges::any_of(runs,
                             [&](const Run& run) { return operations_of(run, group).count == 0; });
}

Result<void> check_group(const Sides& sides, const Condition& condition) {
  std::set<std::string> known;
  for (const std::vector<Run>* runs : {&sides.before, &sides.after})
    for (const Run& run : *runs)
      for (const auto& [key, operations] : run.groups)
        known.insert(key);
  if (condition.group.empty() || known.contains(condition.group))
    return {};
  const std::vector<std::string_view> names(known.begin(), known.end());
  return fail_usage(fmt::format("--fail-if '{}': no run has '{}'", condition.text, condition.group),
                    {}, did_you_mean(condition.group, names));
}

bool is_beyond(const Condition& condition, double value) {
  if (condition.is_inclusive && value == condition.limit)
    return true;
  return condition.is_above ? value > condition.limit : value < condition.limit;
}

// The range of the ratio by operations, if there is one run a side.
void add_range(const Sides& sides, const Condition& condition, Compared& values) {
  const auto place = static_cast<std::size_t>(condition.metric);
  if (sides.is_one_each() && place < kQuantiles)
    values.range = ratio_of_quantiles(
        operations_of(sides.before.front(), condition.group).durations_ns,
        operations_of(sides.after.front(), condition.group).durations_ns, kDiffQuantiles[place]);
}

Result<bool> surely_fails(const Sides& sides, const Condition& condition, const Compared& values) {
  if (!condition.is_ratio)
    return fail_usage(fmt::format("--fail-if '{}' has no factor", condition.text),
                      "--sure takes limits such as 1.2x");
  if (!values.range || values.range->confidence < kConfidence)
    return fail(
        fmt::format("--fail-if '{}' cannot be sure", condition.text),
        sides.is_one_each() ? "one run a side, or too few operations, do not show how much "
                              "it varies by chance"
                            : "it needs 95 % confidence, and so few runs do not give it",
        "Four runs a side are enough: iotrail diff --before B1 B2 B3 B4 --after A1 A2 A3 A4");
  return is_beyond(condition, condition.is_above ? values.range->low : values.range->high);
}

// A whole run has at least the value of a part of it.
bool grows_with_events(Metric metric) {
  return metric == Metric::max || metric == Metric::time || metric == Metric::count ||
         metric == Metric::errors || metric == Metric::bytes;
}

struct Reach {
  double low = 0;
  double high = 0;
};

// Between which values the metric, or its ratio, lies for the whole runs.
Reach reach_of(const Condition& condition, const Compared& values) {
  const double infinite = std::numeric_limits<double>::infinity();
  if (!grows_with_events(condition.metric))
    return {0, infinite};
  const double most_after = values.is_least_after ? infinite : values.after;
  if (!condition.is_ratio)
    return {values.after, most_after};
  const double most_before = values.is_least_before ? infinite : values.before;
  return {most_before > 0 ? values.after / most_before : infinite,
          values.before > 0 ? most_after / values.before : infinite};
}

// For runs that are not whole.
void judge_by_reach(const Condition& condition, Judged& judged) {
  const Reach reach = reach_of(condition, judged.values);
  const bool fails_low = is_beyond(condition, reach.low);
  const bool fails_high = is_beyond(condition, reach.high);
  judged.is_failed = fails_low && fails_high;
  judged.is_open = fails_low != fails_high;
  if (judged.is_open)
    judged.not_judged = "a run is not whole, and what is missing can change the answer";
}

Result<Judged> judge_one(const Sides& sides, const Condition& condition, bool must_be_sure) {
  if (const auto checked = check_group(sides, condition); !checked)
    return std::unexpected(checked.error());
  Judged judged{.condition = &condition};
  if (is_of_durations(condition.metric) &&
      (lacks_group(sides.before, condition.group) || lacks_group(sides.after, condition.group))) {
    judged.not_judged = "a run has no such operation";
    return judged;
  }
  judged.values = condition.metric == Metric::run
                      ? compare_lengths(sides)
                      : compare(sides, [&](const Run& run) { return value_in(run, condition); });
  if (judged.values.is_least_before || judged.values.is_least_after) {
    judge_by_reach(condition, judged);
    return judged;
  }
  add_range(sides, condition, judged.values);
  // From nothing to something is more than any factor.
  const double infinite = std::numeric_limits<double>::infinity();
  const double from_zero = judged.values.after > 0 ? infinite : 1;
  judged.is_failed =
      is_beyond(condition,
                condition.is_ratio ? judged.values.ratio.value_or(from_zero) : judged.values.after);
  if (!must_be_sure)
    return judged;
  const auto is_sure = surely_fails(sides, condition, judged.values);
  if (!is_sure)
    return std::unexpected(is_sure.error());
  judged.is_failed = *is_sure;
  return judged;
}

} // namespace

std::optional<Metric> metric_of(std::string_view name) {
  const auto* found = std::ranges::find(kMetrics, name);
  if (found == std::end(kMetrics))
    return std::nullopt;
  return static_cast<Metric>(found - std::begin(kMetrics));
}

std::string metric_names() {
  return fmt::format("{}", fmt::join(kMetrics, ", "));
}

Meaning meaning_of(Metric metric) {
  if (metric == Metric::bytes)
    return Meaning::bytes;
  return metric == Metric::count || metric == Metric::errors ? Meaning::count : Meaning::ns;
}

Result<std::vector<Judged>>
judge_conditions(const Sides& sides, const std::vector<Condition>& conditions, bool must_be_sure) {
  std::vector<Judged> all;
  for (const Condition& condition : conditions) {
    auto judged = judge_one(sides, condition, must_be_sure);
    if (!judged)
      return std::unexpected(judged.error());
    all.push_back(std::move(*judged));
  }
  return all;
}

} // namespace iotrail::output
