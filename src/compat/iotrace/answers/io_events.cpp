// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/answers/io_events.hpp"

#include <optional>
#include <string>
#include <vector>

#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/answers/csv.hpp"
#include "compat/iotrace/answers/io_rows.hpp"
#include "compat/iotrace/answers/lru_cache.hpp"
#include "compat/iotrace/answers/mount_points.hpp"

namespace iotrail::compat::iotrace {
namespace {

using EventJson = nlohmann::ordered_json;

// As in the documents of iotrace.
const std::vector<std::string> kCsvColumns = {
    "device.id",   "device.name", "device.partition", "file.eventType", "file.id",
    "file.offset", "file.path",   "file.size",        "header.sid",     "header.timestamp",
    "io.error",    "io.flush",    "io.fua",           "io.ioClass",     "io.latency",
    "io.lba",      "io.len",      "io.operation",     "io.qd",          "io.writeHint"};

bool has_file(Row row) {
  return natural(row[IoColumn::file]) != 0 && !is_null(row[IoColumn::inode]);
}

bool is_name_change(Row row) {
  return natural(row[IoColumn::step]) == 2;
}

EventJson io_json(Row row) {
  const bool flush = truth(row[IoColumn::is_flush]);
  const bool fua = truth(row[IoColumn::is_fua]);
  return {{"lba", lba_of(row)},
          {"len", natural(row[IoColumn::sectors])},
          {"ioClass", io_class_number(row)},
          {"operation", operation_name(row)},
          {"flush", flush},
          {"fua", fua},
          {"error", truth(row[IoColumn::error])},
          {"latency", digits(row[IoColumn::latency_ns])},
          {"qd", digits(row[IoColumn::depth])},
          {"writeHint", natural(row[IoColumn::write_hint])},
          {"flags",
           {{"flush", flush},
            {"fua", fua},
            {"metadata", truth(row[IoColumn::is_metadata])},
            {"direct", truth(row[IoColumn::is_direct])},
            {"readahead", truth(row[IoColumn::is_read_ahead])}}}};
}

EventJson device_json(Row row) {
  const std::string id = digits(row[IoColumn::device]);
  return {{"id", id},
          {"name", text(row[IoColumn::device_name])},
          {"partition", has_file(row) ? digits(row[IoColumn::file_system]) : id},
          {"model", text(row[IoColumn::model])}};
}

EventJson file_json(Row row, const MountPoints& points) {
  return {
      {"id", digits(row[IoColumn::inode])},
      {"offset", digits(row[IoColumn::offset_sectors])},
      {"size", digits(row[IoColumn::file_sectors])},
      {"path", points.path_inside(natural(row[IoColumn::file_system]), text(row[IoColumn::path]))},
      {"eventType", event_type_name(row)}};
}

class ParsedEvents {
public:
  ParsedEvents(output::Sink& sink, EventFormat format, std::optional<LruCaches> caches,
               const MountPoints& points)
      : sink_(sink), format_(format), caches_(std::move(caches)), points_(points) {
    if (format_ == EventFormat::csv)
      put_header(sink_, kCsvColumns);
  }

  bool put(Row row) {
    const std::uint64_t now = natural(row[IoColumn::at_ns]);
    begin_ns_ = begin_ns_.value_or(now);
    EventJson event = {
        {"header",
         {{"sid", fmt::to_string(++sid_)}, {"timestamp", fmt::to_string(now - *begin_ns_)}}}};
    if (!is_name_change(row))
      event["io"] = io_json(row);
    event["device"] = device_json(row);
    if (has_file(row))
      event["file"] = file_json(row, points_);
    if (caches_ && !is_name_change(row))
      event["extensions"] = {{"tags", cache_tags(row)}};
    if (format_ == EventFormat::csv)
      put_row(sink_, kCsvColumns, event);
    else
      sink_.put(line_text(event));
    return !sink_.is_broken();
  }

private:
  EventJson cache_tags(Row row) {
    const std::string operation = text(row[IoColumn::operation]);
    if (natural(row[IoColumn::sectors]) == 0 || (operation != "read" && operation != "write"))
      return EventJson::object();
    return lru_tags(caches_->access(natural(row[IoColumn::device]), natural(row[IoColumn::sector]),
                                    natural(row[IoColumn::sectors])));
  }

  output::Sink& sink_;
  EventFormat format_;
  std::optional<LruCaches> caches_;
  const MountPoints& points_;
  std::optional<std::uint64_t> begin_ns_;
  std::uint64_t sid_ = 0;
};

} // namespace

Result<void> put_parsed_events(analysis::Engine& engine, output::Sink& sink, EventFormat format,
                               bool with_lru) {
  std::optional<LruCaches> caches;
  if (with_lru) {
    auto made = LruCaches::for_trace(engine);
    if (!made)
      return std::unexpected(made.error());
    caches.emplace(std::move(*made));
  }
  const MountPoints points(engine.trace().manifest());
  ParsedEvents events(sink, format, std::move(caches), points);
  return for_each_row(engine, io_rows_sql(false), [&](Row row) { return events.put(row); });
}

} // namespace iotrail::compat::iotrace
