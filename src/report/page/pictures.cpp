// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/pictures.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include <fmt/ranges.h>

#include "report/small_result.hpp"

namespace iotrail::output {

namespace {

constexpr const char* kBins = "bin_ns"; // columns of time_grid
constexpr const char* kMapBins = "map_bin_ns";

struct PictureDefinition {
  const char* view;
  const char* bin_ns; // nullptr: of the whole run
  std::vector<std::string> keys;
  std::vector<std::string> columns;
  std::size_t coordinates = 1;
  std::size_t most_bytes = 0;
  const char* condition = "true";
};

// Series are in the order of layers, then of names.
const std::vector<PictureDefinition>& picture_definitions() {
  static const std::vector<std::string> kCalls{"bin", "calls", "bytes_read", "bytes_written",
                                               "total_ns"};
  static const std::vector<PictureDefinition> kAll{
      {.view = "op_bins",
       .bin_ns = kBins,
       .keys = {"layer", "operation", "on_files"},
       .columns = {"bin", "operations", "bytes", "errors", "in_progress_ns"},
       .most_bytes = 200'000},
      {.view = "latency_bins",
       .bin_ns = kMapBins,
       .keys = {"layer", "operation"},
       .columns = {"bin", "class", "operations"},
       .coordinates = 2,
       .most_bytes = 200'000},
      {.view = "file_places",
       .bin_ns = kMapBins,
       .keys = {"path", "size_bytes"},
       .columns = {"bin", "place", "bytes_read", "bytes_written"},
       .coordinates = 2,
       .most_bytes = 150'000},
      {.view = "device_places",
       .bin_ns = kMapBins,
       .keys = {"device_name", "place", "from_bytes", "to_bytes"},
       .columns = {"bin", "bytes_read", "bytes_written", "bytes_other"},
       .most_bytes = 150'000},
      {.view = "file_bins",
       .bin_ns = kMapBins,
       .keys = {"path"},
       .columns = kCalls,
       .most_bytes = 110'000},
      {.view = "process_bins",
       .bin_ns = kMapBins,
       .keys = {"program", "pid"},
       .columns = kCalls,
       .most_bytes = 80'000},
      {.view = "sizes",
       .bin_ns = nullptr,
       .keys = {"layer", "operation"},
       .columns = {"from_bytes", "operations", "bytes"},
       .most_bytes = 20'000,
       .condition = "is_asked(layer) OR layer = layer_at('devices')"},
      {.view = "byte_flows",
       .bin_ns = nullptr,
       .keys = {"direction", "source_kind", "source", "target_kind", "target"},
       .columns = {"bytes"},
       .coordinates = 0,
       .most_bytes = 20'000},
      {.view = "dirty_delays",
       .bin_ns = nullptr,
       .keys = {"set_off_by"},
       .columns = {"class", "bytes", "bios"},
       .most_bytes = 20'000}};
  return kAll;
}

std::string picture_sql(const PictureDefinition& definition) {
  const std::string keys = fmt::format("{}", fmt::join(definition.keys, ", "));
  const std::string columns = fmt::format("{}", fmt::join(definition.columns, ", "));
  const bool has_layers = definition.keys.front() == "layer";
  return fmt::format(
      "SELECT {0}, {1} FROM {2} {3}WHERE {4} ORDER BY {5}{0}, {1}", keys, columns, definition.view,
      has_layers ? "LEFT JOIN (SELECT layer, depth FROM layer_list) USING (layer) " : "",
      definition.condition, has_layers ? "depth, " : "");
}

Result<void> read_series(analysis::Engine& engine, const PictureDefinition& definition,
                         Picture& picture) {
  SmallResult rows;
  if (Result<void> read = rows.read(engine, picture_sql(definition)); !read)
    return read;
  const std::size_t keys = definition.keys.size();
  for (const std::vector<Value>& row : rows.take_rows()) {
    const std::span key = std::span(row).first(keys);
    if (picture.series.empty() ||
        !std::ranges::equal(picture.series.back().key, key, {}, text_of, text_of))
      picture.series.push_back({{key.begin(), key.end()}, {}});
    for (const Value& value : std::span(row).subspan(keys))
      picture.series.back().numbers.push_back(number_of(value));
  }
  return {};
}

Picture make_picture(analysis::Engine& engine, const PictureDefinition& definition,
                     const SmallResult& grid) {
  Picture picture{.view = definition.view,
                  .keys = definition.keys,
                  .columns = definition.columns,
                  .coordinates = definition.coordinates,
                  .bin_ns = definition.bin_ns == nullptr ? 0 : grid.number(0, definition.bin_ns),
                  .most_bytes = definition.most_bytes};
  if (const auto read = read_series(engine, definition, picture); !read) {
    picture.series.clear();
    picture.failure = read.error();
  }
  return picture;
}

} // namespace

std::size_t picture_bytes() {
  std::size_t bytes = 0;
  for (const PictureDefinition& definition : picture_definitions())
    bytes += definition.most_bytes;
  return bytes;
}

std::uint64_t picture_steps() {
  return picture_definitions().size();
}

Pictures make_pictures(analysis::Engine& engine) {
  const auto grid = SmallResult::query(engine, "SELECT * FROM run CROSS JOIN time_grid");
  if (!grid || grid->size() != 1)
    return {};
  Pictures pictures{.run_ns = grid->number(0, "duration_ns"), .list = {}};
  for (const PictureDefinition& definition : picture_definitions()) {
    pictures.list.push_back(make_picture(engine, definition, *grid));
    engine.progress().step();
  }
  return pictures;
}

void halve_bins(Picture& picture) {
  picture.bin_ns *= 2;
  const std::size_t width = picture.columns.size();
  for (Series& series : picture.series) {
    std::map<std::vector<std::uint64_t>, std::vector<std::uint64_t>> sums; // by coordinates
    for (std::size_t at = 0; at + width <= series.numbers.size(); at += width) {
      const std::span row = std::span(series.numbers).subspan(at, width);
      std::vector<std::uint64_t> place(row.begin(), row.begin() + picture.coordinates);
      place.front() /= 2;
      std::vector<std::uint64_t>& sum = sums[place];
      sum.resize(width - picture.coordinates);
      for (std::size_t i = 0; i < sum.size(); ++i)
        sum[i] += row[picture.coordinates + i];
    }
    series.numbers.clear();
    for (const auto& [place, sum] : sums) {
      series.numbers.insert(series.numbers.end(), place.begin(), place.end());
      series.numbers.insert(series.numbers.end(), sum.begin(), sum.end());
    }
  }
}

void drop_smallest(Picture& picture) {
  const std::size_t width = picture.columns.size();
  const auto sum_of = [&](const Series& series) {
    double sum = 0;
    for (std::size_t at = width - 1; at < series.numbers.size(); at += width)
      sum += static_cast<double>(series.numbers[at]);
    return sum;
  };
  std::vector<double> sums;
  for (const Series& series : picture.series)
    sums.push_back(sum_of(series));
  std::vector<std::size_t> by_sum(sums.size());
  std::iota(by_sum.begin(), by_sum.end(), 0);
  std::ranges::stable_sort(by_sum, std::ranges::greater(),
                           [&](std::size_t at) { return sums[at]; });
  by_sum.resize(by_sum.size() / 2);
  std::ranges::sort(by_sum);
  std::vector<Series> kept;
  for (const std::size_t at : by_sum)
    kept.push_back(std::move(picture.series[at]));
  picture.dropped_series += picture.series.size() - kept.size();
  picture.series = std::move(kept);
}

} // namespace iotrail::output
