// SPDX-License-Identifier: BSD-3-Clause
#include "export/export.hpp"

#include <memory>
#include <unordered_map>

#include "analysis/names/trace_dictionaries.hpp"
#include "export/event_rows.hpp"
#include "export/output_directory.hpp"
#include "store/reader/event_stream.hpp"

namespace iotrail::output {

namespace {

using analysis::TraceDictionaries;
using store::EventStream;

Result<std::uint64_t> write_table(const store::TraceReader& trace, const store::TableInfo& table,
                                  const TraceDictionaries& dictionaries,
                                  const ExportOptions& options, std::FILE* file) {
  IOTRAIL_CHECK(options.format != nullptr);
  Sink sink(file);
  const std::unique_ptr<Output> output = options.format->make(sink, kAnyWidth);
  EventRows maker(table, dictionaries, options.raw, false);
  EventStream events(trace, {table.kind});
  std::uint64_t rows = 0;
  output->begin(maker.columns());
  for (; !sink.is_broken() && events.next(); ++rows)
    output->row(maker.cells(events));
  output->end();
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return rows;
}

bool has_rows(const store::TraceReader& trace, const store::TableInfo& table) {
  for (const store::BlockInfo& block : trace.blocks())
    if (block.kind == table.kind && block.rows > 0)
      return true;
  return false;
}

// Writes rows of any table as one stream. Their first column is the table's name, "event". A
// table's own column `event` (of losses and event_sums) becomes "of_event".
class StreamWriter {
public:
  StreamWriter(Sink& sink, const TraceDictionaries& dictionaries, const ExportOptions& options)
      : sink_(sink), dictionaries_(dictionaries), raw_(options.raw),
        output_(options.format->make(sink, kAnyWidth)) {}

  std::uint64_t write_all(EventStream& events) {
    std::uint64_t rows = 0;
    for (; !sink_.is_broken() && events.next(); ++rows)
      write(events);
    return rows;
  }
  void end() { output_->end(); }

private:
  void write(const EventStream& event) {
    std::unique_ptr<EventRows>& maker = tables_[event.table().kind];
    if (!maker)
      maker = std::make_unique<EventRows>(event.table(), dictionaries_, raw_, true);
    output_->begin(maker->columns());
    output_->row(maker->cells(event));
  }

  Sink& sink_;
  const TraceDictionaries& dictionaries_;
  bool raw_;
  std::unique_ptr<Output> output_;
  std::unordered_map<iot_u16, std::unique_ptr<EventRows>> tables_;
};

} // namespace

Result<std::uint64_t> export_table(const store::TraceReader& trace, const store::TableInfo& table,
                                   const ExportOptions& options, std::FILE* file) {
  return write_table(trace, table, TraceDictionaries::load(trace), options, file);
}

Result<std::uint64_t> export_directory(const store::TraceReader& trace,
                                       const ExportOptions& options,
                                       const std::filesystem::path& path) {
  OutputDirectory directory(path);
  if (auto made = directory.make(); !made)
    return std::unexpected(made.error());
  const TraceDictionaries dictionaries = TraceDictionaries::load(trace);
  std::uint64_t rows = 0;
  for (const store::TableInfo& table : trace.tables()) {
    if (!has_rows(trace, table))
      continue;
    const std::string name = fmt::format("{}.{}", table.name, options.format->name);
    const auto written = directory.write(name, [&](std::FILE* file) {
      return write_table(trace, table, dictionaries, options, file);
    });
    if (!written)
      return written;
    rows += *written;
  }
  directory.keep();
  return rows;
}

Result<std::uint64_t> export_stream(const store::TraceReader& trace, const ExportOptions& options,
                                    std::FILE* file) {
  IOTRAIL_CHECK(options.format != nullptr && options.format->gives == Gives::stream);
  const TraceDictionaries dictionaries = TraceDictionaries::load(trace);
  Sink sink(file);
  StreamWriter stream(sink, dictionaries, options);
  std::uint64_t rows = 0;
  for (const store::TableInfo& table : trace.tables())
    if (table.is_dictionary()) {
      EventStream dictionary(trace, {table.kind});
      rows += stream.write_all(dictionary);
    }
  EventStream events(trace);
  rows += stream.write_all(events);
  stream.end();
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return rows;
}

} // namespace iotrail::output
