// SPDX-License-Identifier: BSD-3-Clause
#include "report/profile/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "report/section.hpp"

namespace iotrail::output {

namespace {

// A measure has its own unit, so people get each value as a sentence that holds one number.
constexpr ColumnDefinition kCalibrationColumns[] = {
    {.title = "layer", .name = "layer", .suppress_repeats = true},
    {.title = " ", .name = "direction", .suppress_repeats = true},
    {.title = "measure", .name = "_measure"},
    {.title = "min", .name = "_min", .meaning = Meaning::remark},
    {.title = "median", .name = "_median", .meaning = Meaning::remark},
    {.title = "mean", .name = "_mean", .meaning = Meaning::remark},
    {.title = "max", .name = "_max", .meaning = Meaning::remark},
    {.title = "deviation", .name = "_deviation", .meaning = Meaning::remark},
    {.title = "runs", .name = "runs", .meaning = Meaning::count, .drop_priority = 1},
    {.title = "", .name = "measure"},
    {.title = "", .name = "min"},
    {.title = "", .name = "median"},
    {.title = "", .name = "mean"},
    {.title = "", .name = "max"},
    {.title = "", .name = "deviation"},
};

std::vector<Sentence> shown_number(double number, Meaning meaning) {
  return {only({"value", number, meaning})};
}

std::vector<Value> row_of(const MeasureKey& key, const std::vector<double>& values) {
  const Spread spread = spread_of(values);
  const ProfileMeasure& measure = kProfileMeasures[key.measure];
  std::vector<Value> row = {key.layer, key.direction, std::string(measure.title)};
  const double numbers[] = {spread.least, spread.median, spread.mean, spread.most,
                            spread.deviation};
  for (const double number : numbers)
    row.emplace_back(shown_number(number, measure.meaning));
  row.emplace_back(std::uint64_t{values.size()});
  row.emplace_back(std::string(measure.name));
  for (const double number : numbers)
    row.emplace_back(number);
  return row;
}

} // namespace

Spread spread_of(std::vector<double> values) {
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  Spread spread{.least = values.front(), .most = values.back()};
  spread.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  double squares = 0;
  for (const double value : values)
    squares += (value - spread.mean) * (value - spread.mean);
  spread.deviation = values.size() > 1 ? std::sqrt(squares / (count - 1)) : 0;
  const std::size_t middle = values.size() / 2;
  spread.median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return spread;
}

Section calibration_section(const std::vector<ProfiledRun>& runs) {
  std::map<MeasureKey, std::vector<double>> values;
  for (const ProfiledRun& run : runs)
    for (const auto& [key, value] : run.values)
      values[key].push_back(value);
  std::vector<std::vector<Value>> rows;
  for (const auto& [key, of_runs] : values)
    rows.push_back(row_of(key, of_runs));
  return make_table("calibration", "Spread over the runs", kCalibrationColumns, std::move(rows));
}

} // namespace iotrail::output
