// SPDX-License-Identifier: BSD-3-Clause
//
// The differences between two sets of runs, as numbers. Of several runs, the unit is the run: a value
// is the median over runs. Of one run a side, the unit is the operation.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "report/diff/runs.hpp"
#include "report/diff/statistics.hpp"

namespace iotrail::output {

struct Sides {
  std::vector<Run> before;
  std::vector<Run> after;

  bool is_one_each() const { return before.size() == 1 && after.size() == 1; }
};
// Whether all runs of a side are in their traces as a whole.
bool are_whole(const std::vector<Run>& runs);
bool are_whole(const Sides& sides);
inline constexpr std::size_t kMostRuns = 20; // a side

// A quantity of both sides. Without a ratio and a chance if a run is not whole: what is missing
// changes them.
struct Compared {
  double before = 0;
  double after = 0;
  bool is_least_before = false; // a lower bound, since a run is not whole
  bool is_least_after = false;
  std::optional<double> ratio{};  // nullopt: before is 0
  std::optional<Range> range{};   // of the ratio
  std::optional<double> chance{}; // of at least this difference without a cause
};
Compared compare(const Sides& sides, const std::function<double(const Run&)>& value);
// The same of the length of the run, which lost events do not change.
Compared compare_lengths(const Sides& sides);

// A group of operations.
struct Change {
  std::string key;
  std::string name; // the key, or the only file that it stands for
  Compared count;
  Compared time_ns;
  Compared bytes;
  Compared errors;
  Compared median_ns; // of a duration; in one run a side, with range and chance by operations
  double smaller_share = 0.5; // of pairs with the shorter operation after; one run a side

  double change_ns() const { return time_ns.after - time_ns.before; }
  // The part of the change by more or fewer operations; the rest is by their durations.
  double change_by_count_ns() const;
};
// All groups, the largest change of time first. Without those that a run may have beyond its limit.
std::vector<Change> changes_of(const Sides& sides);

// The group's operations; a group without any if there is none.
const Operations& operations_of(const Run& run, std::string_view key);

} // namespace iotrail::output
