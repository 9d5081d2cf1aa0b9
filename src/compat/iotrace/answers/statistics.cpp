// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/statistics.hpp"

#include <array>
#include <map>
#include <string>

#include "base/bytes.hpp"
#include "compat/iotrace/answers/cells.hpp"

namespace iotrail::compat::iotrace {
namespace {

using StatisticsJson = nlohmann::ordered_json;

constexpr std::array kGroups = {"read", "write", "discard", "flush", "total"};
constexpr std::array kPercentiles = {"90.000000th", "99.000000th", "99.900000th", "99.990000th"};

constexpr const char* kStatisticsSql =
    "SELECT s.device, s.device_name, d.bytes, d.model, s.duration_ns, s.operation, s.requests, "
    "s.errors, s.bytes, s.bytes // s.requests // 512, " // averages are cut, as iotrace cuts them
    "s.bytes_min, s.bytes_max, s.volume_p90, s.volume_p99, s.volume_p999, s.volume_p9999, "
    "s.bytes_p90, s.bytes_p99, "
    "s.bytes_p999, s.bytes_p9999, s.latency_total_ns // s.requests, s.latency_min_ns, "
    "s.latency_max_ns, "
    "s.latency_total_ns, s.time_p90_ns, "
    "s.time_p99_ns, s.time_p999_ns, s.time_p9999_ns, s.latency_p90_ns, s.latency_p99_ns, "
    "s.latency_p999_ns, "
    "s.latency_p9999_ns, s.iops, s.mib_per_s, s.workset_bytes "
    "FROM device_statistics AS s LEFT JOIN devices AS d ON s.device = d.device ORDER BY s.device, "
    "s.operation";

enum StatisticsColumn : std::size_t {
  kDevice,
  kName,
  kDeviceBytes,
  kModel,
  kDuration,
  kOperation,
  kRequests,
  kErrors,
  kBytes,
  kSectorsMean,
  kBytesMin,
  kBytesMax,
  kVolumes, // four
  kSizes = kVolumes + 4,
  kLatencyMean = kSizes + 4,
  kLatencyMin,
  kLatencyMax,
  kLatencyTotal,
  kTimes,
  kLatencies = kTimes + 4,
  kIops = kLatencies + 4,
  kMibPerS,
  kWorkset,
};

std::string sectors_text(const analysis::Cell& bytes) {
  const std::uint64_t number = natural(bytes);
  return fmt::to_string(number / kSectorBytes + (number % kSectorBytes != 0 ? 1 : 0));
}

std::string text_as_is(const analysis::Cell& cell) {
  return digits(cell);
}

template <class Wording>
StatisticsJson percentiles_json(Row row, std::size_t first, const Wording& worded) {
  StatisticsJson json = StatisticsJson::object();
  for (std::size_t i = 0; i < kPercentiles.size(); ++i)
    json[kPercentiles[i]] = worded(row[first + i]);
  return json;
}

StatisticsJson metric_json(const char* unit, double value) {
  return {{"unit", unit}, {"value", value}};
}

StatisticsJson group_json(Row row) {
  return {{"size",
           {{"unit", "sector"},
            {"average", digits(row[kSectorsMean])},
            {"min", sectors_text(row[kBytesMin])},
            {"max", sectors_text(row[kBytesMax])},
            {"total", sectors_text(row[kBytes])},
            {"percentiles", percentiles_json(row, kVolumes, sectors_text)},
            {"truePercentiles", percentiles_json(row, kSizes, sectors_text)}}},
          {"latency",
           {{"unit", "ns"},
            {"average", digits(row[kLatencyMean])},
            {"min", digits(row[kLatencyMin])},
            {"max", digits(row[kLatencyMax])},
            {"total", digits(row[kLatencyTotal])},
            {"percentiles", percentiles_json(row, kTimes, text_as_is)},
            {"truePercentiles", percentiles_json(row, kLatencies, text_as_is)}}},
          {"metrics",
           {{"throughput", metric_json("IOPS", real(row[kIops]))},
            {"workset",
             metric_json("sector", static_cast<double>(natural(row[kWorkset]) / kSectorBytes))},
            {"bandwidth", metric_json("MiB/s", real(row[kMibPerS]))}}},
          {"count", digits(row[kRequests])},
          {"errors", digits(row[kErrors])}};
}

// Of an operation that did not occur.
StatisticsJson empty_group() {
  static const std::array<analysis::Cell, kWorkset + 1> kNothing{};
  return group_json(kNothing);
}

StatisticsJson device_desc(const analysis::Cell& device, const analysis::Cell& name,
                           const analysis::Cell& bytes, const analysis::Cell& model) {
  return {{"id", digits(device)},
          {"name", text(name)},
          {"size", fmt::to_string(natural(bytes) / kSectorBytes)},
          {"model", text(model)}};
}

struct DescribedDevice {
  StatisticsJson desc;
  std::string duration_ns;
};

// By device. All that had I/O.
Result<std::map<std::uint64_t, DescribedDevice>> read_devices(analysis::Engine& engine) {
  std::map<std::uint64_t, DescribedDevice> devices;
  const auto read = for_each_row(
      engine,
      "SELECT s.device, s.device_name, d.bytes, d.model, s.duration_ns FROM device_statistics AS s "
      "LEFT JOIN devices AS d ON s.device = d.device WHERE s.operation = 'total'",
      [&](Row row) {
        devices[natural(row[0])] = {{{"device", device_desc(row[0], row[1], row[2], row[3])}},
                                    digits(row[4])};
        return true;
      });
  if (!read)
    return std::unexpected(read.error());
  return devices;
}

Result<StatisticsJson> ranges_json(analysis::Engine& engine, const std::string& sql,
                                   std::string_view unit,
                                   const std::vector<std::string_view>& operations) {
  const auto devices = read_devices(engine);
  if (!devices)
    return std::unexpected(devices.error());
  std::map<std::uint64_t, StatisticsJson> answers;
  for (const auto& [device, described] : *devices) {
    StatisticsJson& answer = answers[device];
    answer = {{"desc", described.desc}, {"duration", described.duration_ns}};
    for (const std::string_view operation : operations)
      answer[std::string(operation)] = {{"unit", unit}, {"range", StatisticsJson::array()}};
  }
  const auto read = for_each_row(engine, sql, [&](Row row) {
    const auto answer = answers.find(natural(row[0]));
    const std::string operation = text(row[1]);
    if (answer != answers.end() && answer->second.contains(operation))
      answer->second[operation]["range"].push_back(
          {{"begin", digits(row[2])}, {"end", digits(row[3])}, {"count", digits(row[4])}});
    return true;
  });
  if (!read)
    return std::unexpected(read.error());
  StatisticsJson histograms = StatisticsJson::array();
  for (auto& [device, answer] : answers)
    histograms.push_back(std::move(answer));
  return StatisticsJson{{"histogram", std::move(histograms)}};
}

} // namespace

Result<StatisticsJson> statistics_json(analysis::Engine& engine) {
  std::map<std::uint64_t, StatisticsJson> answers;
  const auto read = for_each_row(engine, kStatisticsSql, [&](Row row) {
    const auto [answer, is_new] = answers.try_emplace(natural(row[kDevice]));
    if (is_new) {
      answer->second = {
          {"desc",
           {{"device", device_desc(row[kDevice], row[kName], row[kDeviceBytes], row[kModel])}}},
          {"duration", digits(row[kDuration])}};
      for (const char* group : kGroups)
        answer->second[group] = empty_group();
    }
    if (const std::string operation = text(row[kOperation]); answer->second.contains(operation))
      answer->second[operation] = group_json(row);
    return true;
  });
  if (!read)
    return std::unexpected(read.error());
  StatisticsJson statistics = StatisticsJson::array();
  for (auto& [device, answer] : answers)
    statistics.push_back(std::move(answer));
  return StatisticsJson{{"statistics", std::move(statistics)}};
}

Result<StatisticsJson> devices_json(analysis::Engine& engine) {
  StatisticsJson devices = StatisticsJson::array();
  const auto read = for_each_row(engine,
                                 "SELECT device, name, bytes, model FROM devices WHERE device = "
                                 "parent_device AND device <> 0 ORDER BY device",
                                 [&](Row row) {
                                   devices.push_back(device_desc(row[0], row[1], row[2], row[3]));
                                   return true;
                                 });
  if (!read)
    return std::unexpected(read.error());
  return StatisticsJson{{"device", std::move(devices)}};
}

Histogram latency_histogram() {
  return {"SELECT device, operation, from_value, to_value, requests FROM device_histograms WHERE "
          "quantity = 'latency' ORDER BY device, operation, from_value",
          "ns",
          {"read", "write", "discard", "flush", "total"}};
}

Histogram size_histogram() {
  return {"SELECT device, operation, from_value, to_value, requests FROM device_histograms WHERE "
          "quantity = 'size' ORDER BY device, operation, from_value",
          "sector",
          {"read", "write"}};
}

Histogram depth_histogram() {
  return {"SELECT device, operation, from_value, to_value, ios FROM device_arrival_depths ORDER BY "
          "device, operation, from_value",
          "I/O",
          {"read", "write", "total"}};
}

Result<StatisticsJson> histogram_json(analysis::Engine& engine, const Histogram& histogram) {
  return ranges_json(engine, std::string(histogram.sql), histogram.unit, histogram.operations);
}

Result<void> check_subrange(const LbaOptions& options) {
  if (options.bucket_sectors != 0 && options.from_sector < options.until_sector)
    return {};
  return fail_usage("Invalid values given for subrange",
                    fmt::format("--subrange-start {} is not below --subrange-end {}",
                                options.from_sector, options.until_sector));
}

Result<StatisticsJson> lba_histogram_json(analysis::Engine& engine, const LbaOptions& options) {
  return ranges_json(
      engine,
      fmt::format("SELECT device, operation, from_byte // 512, to_byte // 512 - 1, requests FROM "
                  "device_regions_of({}, {}, {}) ORDER BY device, operation, from_byte",
                  options.bucket_sectors, options.from_sector, options.until_sector),
      "sector", {"read", "write", "discard", "total"});
}

} // namespace iotrail::compat::iotrace
