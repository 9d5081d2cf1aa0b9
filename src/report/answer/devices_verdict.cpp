// SPDX-License-Identifier: BSD-3-Clause
#include "report/answer/devices_verdict.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "report/coverage.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

// Of the device that had requests for most of the run: its operation that took most.
std::size_t busiest_row(const SectionRows& devices) {
  std::size_t busiest = 0;
  for (std::size_t row = 1; row < devices.size(); ++row) {
    const double more = devices.real(row, "device_share") - devices.real(busiest, "device_share");
    if (more > 0 || (more == 0 && devices.real(row, "share") > devices.real(busiest, "share")))
      busiest = row;
  }
  return busiest;
}

} // namespace

bool has_layers_of_calls(const store::TraceReader& trace) {
  return std::ranges::any_of(schema::kLayers, [&](const schema::LayerInfo& layer) {
    return (layer.call_rank > 0 || layer.place == schema::Place::later) &&
           layer_not_recorded(trace, layer.name).empty();
  });
}

Sentence devices_verdict(const Section& devices, const Completeness& completeness) {
  const SectionRows rows(devices);
  const std::size_t row = busiest_row(rows);
  Sentence verdict = sentence(
      fmt::format(
          "DEVICES ONLY, no call was recorded: {{device}} had requests {}{{share}} of the run",
          at_least(completeness)),
      {text_value("device", rows.text(row, "_name")),
       share_value("share", rows.real(row, "device_share"))});
  if (!rows.is_null(row, "device_p50_ns"))
    verdict.add("; {operation} took most, half of them within {p50}, the longest {longest}",
                {text_value("operation", rows.text(row, "operation")),
                 ns_value("p50", rows.number(row, "device_p50_ns")),
                 ns_value("longest", rows.number(row, "device_max_ns"))});
  return verdict;
}

} // namespace iotrail::output
