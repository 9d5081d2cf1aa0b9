// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/pictures.hpp"

#include <algorithm>
#include <map>
#include <span>

#include <fmt/ranges.h>

#include "report/small_result.hpp"

namespace iotrail::output {

namespace {

struct PictureDefinition {
  const char* view;
  const char* bin_ns; // column of time_grid
  std::vector<std::string> keys;
  std::vector<std::string> columns;
  std::size_t coordinates = 1;
};

// Series are in the order of layers, then of names.
const std::vector<PictureDefinition>& picture_definitions() {
  static const std::vector<PictureDefinition> kAll{
      {"op_bins",
       "bin_ns",
       {"layer", "operation", "on_files"},
       {"bin", "operations", "bytes", "errors", "in_progress_ns"}},
      {"latency_bins", "map_bin_ns", {"layer", "operation"}, {"bin", "class", "operations"}, 2},
      {"file_places",
       "map_bin_ns",
       {"path", "size_bytes"},
       {"bin", "place", "bytes_read", "bytes_written"},
       2},
      {"device_places",
       "map_bin_ns",
       {"device_name", "place", "from_bytes", "to_bytes"},
       {"bin", "bytes_read", "bytes_written", "bytes_other"}}};
  return kAll;
}

std::string picture_sql(const PictureDefinition& definition) {
  const std::string keys = fmt::format("{}", fmt::join(definition.keys, ", "));
  const std::string columns = fmt::format("{}", fmt::join(definition.columns, ", "));
  const bool has_layers = definition.keys.front() == "layer";
  return fmt::format(
      "SELECT {0}, {1} FROM {2} {3}ORDER BY {4}{0}, {1}", keys, columns, definition.view,
      has_layers ? "LEFT JOIN (SELECT layer, depth FROM layer_list) USING (layer) " : "",
      has_layers ? "depth, " : "");
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
                  .bin_ns = grid.number(0, definition.bin_ns)};
  if (const auto read = read_series(engine, definition, picture); !read) {
    picture.series.clear();
    picture.failure = read.error();
  }
  return picture;
}

} // namespace

Pictures make_pictures(analysis::Engine& engine) {
  const auto grid = SmallResult::query(engine, "SELECT * FROM run CROSS JOIN time_grid");
  if (!grid || grid->size() != 1)
    return {};
  Pictures pictures{.run_ns = grid->number(0, "duration_ns"), .list = {}};
  for (const PictureDefinition& definition : picture_definitions())
    pictures.list.push_back(make_picture(engine, definition, *grid));
  return pictures;
}

std::size_t count_numbers(const Picture& picture) {
  std::size_t count = 0;
  for (const Series& series : picture.series)
    count += series.numbers.size();
  return count;
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

} // namespace iotrail::output
