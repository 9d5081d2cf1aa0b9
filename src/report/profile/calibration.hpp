// SPDX-License-Identifier: BSD-3-Clause
//
// The spread of the measures of a profile over several runs of the same work.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "report/document.hpp"

namespace iotrail::output {

// Of values that are finite; `values` must not be empty.
struct Spread {
  double least = 0;
  double most = 0;
  double mean = 0;
  double deviation = 0; // standard deviation of a sample; 0 for one value
  double median = 0;    // of an even number, the mean of the two in the middle
};
Spread spread_of(std::vector<double> values);

// A measure of the accesses of one layer in one direction.
struct MeasureKey {
  std::uint64_t depth; // rank of the layer, from the top down
  std::string layer;
  std::string direction;
  std::size_t measure; // index of kProfileMeasures

  auto operator<=>(const MeasureKey&) const = default;
};

struct ProfileMeasure {
  const char* name;  // column of the query, and name in JSON
  const char* title; // for people
  Meaning meaning;
};
inline constexpr ProfileMeasure kProfileMeasures[] = {
    {"accesses", "accesses", Meaning::count},   {"bytes", "bytes", Meaning::bytes},
    {"duration_ns", "time", Meaning::ns},       {"bytes_per_s", "bytes/s", Meaning::bytes},
    {"iops_4k", "4 KiB/s", Meaning::count},     {"sequential_share", "sequential", Meaning::share},
    {"random_share", "random", Meaning::share},
};

struct ProfiledRun {
  std::string trace; // its path
  std::map<MeasureKey, double> values;
  std::vector<Sentence> warnings{};
};

// One row for each measure that any run has. A run without it is no value, and counted.
Section calibration_section(const std::vector<ProfiledRun>& runs);

} // namespace iotrail::output
