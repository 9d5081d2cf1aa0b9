// SPDX-License-Identifier: BSD-3-Clause
#include "export/export.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <unordered_map>

#include "analysis/names/trace_dictionaries.hpp"
#include "base/fd.hpp"
#include "store/reader/event_stream.hpp"
#include "store/reader/repository.hpp"
#include "store/writer/temporary_files.hpp"
#include "value_text.hpp"

namespace iotrail::output {

namespace {

using analysis::TraceDictionaries;
using store::EventStream;

// Turns rows of one table into cells.
class RowMaker {
public:
  RowMaker(const store::TableInfo& table, const TraceDictionaries& dictionaries, bool raw,
           bool with_event)
      : table_(table), dictionaries_(dictionaries), raw_(raw), with_event_(with_event),
        storage_(table.columns.size()) {
    if (with_event)
      columns_.push_back({"event", Kind::text});
    for (const store::ColumnInfo& column : table.columns) {
      const std::string_view name = schema::column_name(column.name);
      columns_.push_back({with_event && name == "event" ? "of_event" : std::string(name),
                          is_text(column) ? Kind::text : Kind::number});
    }
    cells_.resize(columns_.size());
  }

  std::span<const ResultColumn> columns() const { return columns_; }

  // Valid until the next call.
  std::span<const Cell> cells(const EventStream& event) {
    std::size_t next = 0;
    if (with_event_)
      cells_[next++] = std::string_view(table_.name);
    for (std::size_t i = 0; i < table_.columns.size(); ++i)
      cells_[next++] = cell(event, i);
    return cells_;
  }

private:
  // Keys of dictionary tables stay numbers, since events refer to them.
  bool is_text(const store::ColumnInfo& column) const {
    using schema::Meaning;
    if (column.type == schema::Type::text)
      return true;
    if (raw_)
      return false;
    if (schema::is_string_key(column.meaning))
      return !table_.is_dictionary();
    switch (column.meaning) {
    case Meaning::file:
    case Meaning::device:
    case Meaning::op:
      return !table_.is_dictionary();
    default:
      return !schema::value_table(column.meaning).empty();
    }
  }

  Cell known_or_null(std::string_view text) { return text.empty() ? Cell{} : Cell{text}; }

  Cell keep(std::size_t column, std::string text) {
    storage_[column] = std::move(text);
    return std::string_view(storage_[column]);
  }

  Cell named(const EventStream& event, std::size_t column) {
    const schema::Meaning meaning = table_.columns[column].meaning;
    const std::uint64_t raw = event.number(column);
    if (meaning == schema::Meaning::file)
      return known_or_null(dictionaries_.file(raw, analysis::naming_time_ns(event)));
    if (schema::is_string_key(meaning))
      return known_or_null(dictionaries_.text(raw));
    if (meaning == schema::Meaning::op)
      return raw == 0 ? Cell{} : keep(column, schema::op_text(raw));
    if (meaning == schema::Meaning::device)
      if (const std::string_view device = dictionaries_.device(raw); !device.empty())
        return device;
    return keep(column, schema::number_text(meaning, raw));
  }

  Cell cell(const EventStream& event, std::size_t column) {
    const store::ColumnInfo& info = table_.columns[column];
    if (info.type == schema::Type::text)
      return event.text(column);
    if (is_text(info))
      return named(event, column);
    if (schema::info(info.type).is_signed)
      return static_cast<std::int64_t>(event.number(column));
    return event.number(column);
  }

  const store::TableInfo& table_;
  const TraceDictionaries& dictionaries_;
  bool raw_;
  bool with_event_;
  std::vector<ResultColumn> columns_;
  std::vector<Cell> cells_;
  std::vector<std::string> storage_; // texts of the current row, by column of the table
};

Result<std::uint64_t> write_table(const store::TraceReader& trace, const store::TableInfo& table,
                                  const TraceDictionaries& dictionaries,
                                  const ExportOptions& options, std::FILE* file) {
  IOTRAIL_CHECK(options.format != nullptr);
  Sink sink(file);
  const std::unique_ptr<Output> output = options.format->make(sink, kAnyWidth);
  RowMaker maker(table, dictionaries, options.raw, false);
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

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Result<File> create_file(const std::filesystem::path& path) {
  Fd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0640));
  if (!fd)
    return fail_errno("cannot create " + path.string());
  File file(::fdopen(fd.get(), "w"));
  if (!file)
    return fail_errno("cannot open " + path.string());
  fd.release();
  return file;
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
    std::unique_ptr<RowMaker>& maker = tables_[event.table().kind];
    if (!maker)
      maker = std::make_unique<RowMaker>(event.table(), dictionaries_, raw_, true);
    output_->begin(maker->columns());
    output_->row(maker->cells(event));
  }

  Sink& sink_;
  const TraceDictionaries& dictionaries_;
  bool raw_;
  std::unique_ptr<Output> output_;
  std::unordered_map<iot_u16, std::unique_ptr<RowMaker>> tables_;
};

} // namespace

Result<std::uint64_t> export_table(const store::TraceReader& trace, const store::TableInfo& table,
                                   const ExportOptions& options, std::FILE* file) {
  return write_table(trace, table, TraceDictionaries::load(trace), options, file);
}

Result<std::uint64_t> export_directory(const store::TraceReader& trace,
                                       const ExportOptions& options,
                                       const std::filesystem::path& directory) {
  if (store::is_trace(directory))
    return fail("cannot export to " + directory.string(),
                "it is a trace, to which nothing is added", "choose another directory with -o");
  const store::TemporaryFiles made; // removed unless all files are complete
  const auto make_directory = [&] {
    return ::mkdir(directory.c_str(), 0750) == 0 ? directory : std::filesystem::path();
  };
  if (!made.make(make_directory) && errno != EEXIST)
    return fail_errno("cannot create the directory " + directory.string());
  const TraceDictionaries dictionaries = TraceDictionaries::load(trace);
  std::uint64_t rows = 0;
  for (const store::TableInfo& table : trace.tables()) {
    if (!has_rows(trace, table))
      continue;
    const auto path = directory / fmt::format("{}.{}", table.name, options.format->name);
    Result<File> file;
    if (!made.make([&] { return (file = create_file(path)) ? path : std::filesystem::path(); }))
      return std::unexpected(file.error());
    auto written = write_table(trace, table, dictionaries, options, file->get());
    if (!written) {
      written.error().what = "cannot write " + path.string();
      return written;
    }
    rows += *written;
  }
  made.keep();
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
