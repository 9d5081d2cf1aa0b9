// SPDX-License-Identifier: BSD-3-Clause
//
// A condition that fails a comparison, such as p99(fdatasync) > 1.2x.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "report/diff/comparison.hpp"

namespace iotrail::output {

enum class Metric : std::uint8_t {
  p50,
  p90,
  p99,
  p999,
  max,
  mean,
  time,
  count,
  errors,
  bytes,
  run
};
std::optional<Metric> metric_of(std::string_view name);
std::string metric_names();        // "p50, p90, ..."
Meaning meaning_of(Metric metric); // ns, bytes or count

struct Condition {
  std::string text; // as the user wrote it
  Metric metric = Metric::time;
  std::string group{};       // "": all operations
  bool is_above = true;      // fails above the limit, else below it
  bool is_inclusive = false; // fails also at the limit
  bool is_ratio = true;      // the limit is of after/before, else of the value after
  double limit = 1;
};

struct Judged {
  const Condition* condition = nullptr;
  Compared values{};
  std::string not_judged{}; // the reason; "": judged
  bool is_failed = false;
  bool is_open = false; // not judged, since what is missing in a trace can change the answer
};

// A condition on a trace that is not whole fails or passes only if it does so whatever is missing.
// With `must_be_sure`, a condition fails only if the whole range of the ratio does, with 95 %
// confidence. Errors: a group that no run has; or the runs cannot give that confidence.
Result<std::vector<Judged>>
judge_conditions(const Sides& sides, const std::vector<Condition>& conditions, bool must_be_sure);

} // namespace iotrail::output
