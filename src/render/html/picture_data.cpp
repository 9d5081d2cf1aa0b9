// SPDX-License-Identifier: BSD-3-Clause
#include "render/html/picture_data.hpp"

#include "render/html/section_data.hpp"
#include "render/json/parts.hpp"

namespace iotrail::output {

namespace {

constexpr int kHalvings = 10; // of at most 600 bins

void put_names(Sink& sink, const std::vector<std::string>& names) {
  sink.put('[');
  for (const std::string& name : names) {
    sink.put(&name == &names.front() ? "" : ",");
    put_json_text(sink, name);
  }
  sink.put(']');
}

// [[key, ...], [number, ...]]
void put_series(Sink& sink, const Series& series) {
  sink.put("[[");
  for (const Value& value : series.key) {
    sink.put(&value == &series.key.front() ? "" : ",");
    put_shown_value(sink, value);
  }
  sink.put("],[");
  for (std::size_t i = 0; i < series.numbers.size(); ++i)
    sink.print("{}{}", i == 0 ? "" : ",", series.numbers[i]);
  sink.put("]]");
}

void put_picture(Sink& sink, const Picture& picture) {
  sink.put("{\"view\":");
  put_json_text(sink, picture.view);
  sink.put(",\"failure\":");
  put_shown_value(sink, picture.failure ? picture.failure->message() : "");
  sink.put(",\"keys\":");
  put_names(sink, picture.keys);
  sink.put(",\"columns\":");
  put_names(sink, picture.columns);
  sink.print(",\"bin_ns\":{},\"dropped_series\":{},\"series\":", picture.bin_ns,
             picture.dropped_series);
  put_array(sink, picture.series, [&](const Series& series) { put_series(sink, series); });
  sink.put('}');
}

std::string picture_text(const Picture& picture) {
  std::string json;
  Sink sink(json);
  put_picture(sink, picture);
  (void)sink.finish(); // a string cannot fail
  return inert_json(json);
}

// Whether numbers take most of the room, and not keys. A number has about five characters.
bool is_mostly_numbers(const Picture& picture, std::size_t bytes) {
  std::size_t numbers = 0;
  for (const Series& series : picture.series)
    numbers += series.numbers.size();
  return numbers * 5 > bytes / 2;
}

std::string fitted(Picture picture) {
  std::string json = picture_text(picture);
  for (int halvings = 0; json.size() > picture.most_bytes && !picture.series.empty();
       json = picture_text(picture))
    if (picture.bin_ns != 0 && halvings < kHalvings && is_mostly_numbers(picture, json.size())) {
      halve_bins(picture);
      ++halvings;
    } else {
      drop_smallest(picture);
    }
  return json;
}

} // namespace

void put_pictures(Sink& sink, const Pictures& pictures) {
  sink.print("{{\"run_ns\":{},\"list\":", pictures.run_ns);
  put_array(sink, pictures.list, [&](const Picture& picture) { sink.put(fitted(picture)); });
  sink.put('}');
}

} // namespace iotrail::output
