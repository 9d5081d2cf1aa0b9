// SPDX-License-Identifier: BSD-3-Clause
#include "report/diff/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <set>

namespace iotrail::output {

namespace {

std::vector<double> values_of(const std::vector<Run>& runs,
                              const std::function<double(const Run&)>& value) {
  std::vector<double> values;
  for (const Run& run : runs)
    values.push_back(value(run));
  return values;
}

bool are_positive(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return value > 0; });
}

std::vector<double> reals_of(const std::vector<std::uint64_t>& numbers) {
  return {numbers.begin(), numbers.end()};
}

// One run a side: whether the durations differ.
void compare_durations(const Sides& sides, Change& change) {
  const auto& before = operations_of(sides.before.front(), change.key).durations_ns;
  const auto& after = operations_of(sides.after.front(), change.key).durations_ns;
  if (before.empty() || after.empty())
    return;
  const RankTest test = rank_test(reals_of(before), reals_of(after));
  change.median_ns.chance = test.chance;
  change.smaller_share = test.smaller_share;
  change.median_ns.range = ratio_of_quantiles(before, after, kDiffQuantiles[0]);
}

std::string name_of(const Sides& sides, std::string_view key) {
  std::set<std::string_view> names;
  for (const std::vector<Run>* runs : {&sides.before, &sides.after})
    for (const Run& run : *runs)
      if (const auto found = run.groups.find(key); found != run.groups.end()) {
        const std::string& first = found->second.first_name;
        const std::string& last = found->second.last_name;
        names.insert(first.empty() ? key : first);
        if (!last.empty())
          names.insert(last);
      }
  return std::string(names.size() == 1 ? *names.begin() : key);
}

double median_duration(const Run& run, std::string_view key) {
  const Operations& operations = operations_of(run, key);
  return operations.quantiles_ns.empty() ? 0 : static_cast<double>(operations.quantiles_ns.front());
}

Change change_of(const Sides& sides, std::string_view key) {
  const auto sum = [&](std::uint64_t Operations::* member) {
    return compare(sides, [&, member](const Run& run) {
      return static_cast<double>(operations_of(run, key).*member);
    });
  };
  Change change{.key = std::string(key),
                .name = name_of(sides, key),
                .count = sum(&Operations::count),
                .time_ns = sum(&Operations::total_ns),
                .bytes = sum(&Operations::bytes),
                .errors = sum(&Operations::errors),
                .median_ns =
                    compare(sides, [&](const Run& run) { return median_duration(run, key); })};
  if (sides.is_one_each() && are_whole(sides))
    compare_durations(sides, change);
  return change;
}

// Whether each run says how many of its operations are in the group.
bool is_known_in_all(const Sides& sides, std::string_view key) {
  const auto knows = [&](const Run& run) { return run.has_all_groups || run.groups.contains(key); };
  return std::ranges::all_of(sides.before, knows) && std::ranges::all_of(sides.after, knows);
}

} // namespace

const Operations& operations_of(const Run& run, std::string_view key) {
  static const Operations kNone{};
  if (key.empty())
    return run.all;
  const auto found = run.groups.find(key);
  return found == run.groups.end() ? kNone : found->second;
}

bool are_whole(const std::vector<Run>& runs) {
  return std::ranges::all_of(runs, [](const Run& run) { return run.completeness.is_whole(); });
}

bool are_whole(const Sides& sides) {
  return are_whole(sides.before) && are_whole(sides.after);
}

static Compared compare_known(const Sides& sides, const std::function<double(const Run&)>& value) {
  const std::vector<double> before = values_of(sides.before, value);
  const std::vector<double> after = values_of(sides.after, value);
  Compared compared{.before = median_of(before), .after = median_of(after)};
  if (sides.is_one_each()) {
    if (compared.before > 0)
      compared.ratio = compared.after / compared.before;
    return compared;
  }
  compared.chance = rank_test(before, after).chance;
  if (are_positive(before)) {
    compared.ratio = ratio_of_pairs(before, after);
    compared.range = ratio_by_pairs(before, after);
  }
  return compared;
}

Compared compare(const Sides& sides, const std::function<double(const Run&)>& value) {
  Compared compared = compare_known(sides, value);
  if (!are_whole(sides))
    return {.before = compared.before,
            .after = compared.after,
            .is_least_before = !are_whole(sides.before),
            .is_least_after = !are_whole(sides.after)};
  return compared;
}

Compared compare_lengths(const Sides& sides) {
  const auto length = [](const Run& run) { return static_cast<double>(run.duration_ns); };
  const auto has_no_end = [](const Run& run) { return run.completeness.has_no_end; };
  if (std::ranges::any_of(sides.before, has_no_end) || std::ranges::any_of(sides.after, has_no_end))
    return compare(sides, length);
  return compare_known(sides, length);
}

double Change::change_by_count_ns() const {
  if (count.before == 0 || count.after == 0)
    return change_ns();
  return (count.after - count.before) * (time_ns.before / count.before);
}

std::vector<Change> changes_of(const Sides& sides) {
  std::set<std::string_view> keys; // long ones would take memory once more
  for (const std::vector<Run>* runs : {&sides.before, &sides.after})
    for (const Run& run : *runs)
      for (const auto& [key, operations] : run.groups)
        keys.insert(key);
  std::vector<Change> changes;
  for (const std::string_view key : keys)
    if (is_known_in_all(sides, key))
      changes.push_back(change_of(sides, key));
  std::ranges::stable_sort(changes, std::ranges::greater{},
                           [](const Change& change) { return std::abs(change.change_ns()); });
  return changes;
}

} // namespace iotrail::output
