// SPDX-License-Identifier: BSD-3-Clause
#include "output/export.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <memory>
#include <unordered_map>

#include "analysis/decode.hpp"
#include "analysis/event_stream.hpp"
#include "analysis/names.hpp"
#include "base/fd.hpp"
#include "output/json.hpp"

namespace iotrail::output {

namespace {

using analysis::EventStream;
using analysis::Names;

bool is_dictionary(const store::TableInfo& table) {
  return table.layer == schema::layer_name(IO_LAYER_dictionary);
}

// Turns rows of one table into cells.
class RowMaker {
public:
  RowMaker(const store::TableInfo& table, const Names& names, bool raw, bool with_event)
      : table_(table), names_(names), raw_(raw), with_event_(with_event),
        storage_(table.columns.size()) {
    if (with_event)
      columns_.push_back({"event", Kind::text});
    for (const store::ColumnInfo& column : table.columns)
      columns_.push_back({column.name, is_text(column) ? Kind::text : Kind::number});
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
  // In dictionaries, keys are what others refer to and stay numbers.
  bool is_key(const store::ColumnInfo& column) const {
    return !is_dictionary(table_) &&
           (column.meaning == "file" || column.meaning == "path" || column.meaning == "device");
  }

  bool is_text(const store::ColumnInfo& column) const {
    return column.type == schema::Type::text ||
           (!raw_ && (is_key(column) || !analysis::value_table_of(column.meaning).empty() ||
                      !analysis::flags_table_of(column.meaning).empty()));
  }

  Cell known_or_null(std::string_view text) { return text.empty() ? Cell{} : Cell{text}; }

  Cell keep(std::size_t column, std::string text) {
    storage_[column] = std::move(text);
    return std::string_view(storage_[column]);
  }

  Cell named(const EventStream& event, std::size_t column) {
    const std::string_view meaning = table_.columns[column].meaning;
    const std::uint64_t raw = event.number(column);
    if (meaning == "file")
      return known_or_null(names_.file(raw));
    if (meaning == "path")
      return known_or_null(names_.text(raw));
    if (meaning == "device") {
      const std::string_view device = names_.device(raw);
      return device.empty() ? keep(column, analysis::device_number_text(raw)) : Cell{device};
    }
    if (const auto values = analysis::value_table_of(meaning); !values.empty())
      return keep(column, analysis::value_text(values, raw));
    return keep(column, analysis::flags_text(analysis::flags_table_of(meaning), raw));
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
  const Names& names_;
  bool raw_;
  bool with_event_;
  std::vector<ResultColumn> columns_;
  std::vector<Cell> cells_;
  std::vector<std::string> storage_; // texts of the current row, by column of the table
};

Result<std::uint64_t> write_table(const store::TraceReader& trace, const store::TableInfo& table,
                                  const Names& names, const ExportOptions& options,
                                  std::FILE* file) {
  IOTRAIL_CHECK(options.format != nullptr);
  Sink sink(file);
  const std::unique_ptr<Output> output = options.format->make(sink);
  RowMaker maker(table, names, options.raw, false);
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

// Rows of any table as JSON objects with the key "event".
class ObjectWriter {
public:
  ObjectWriter(Sink& sink, const Names& names, bool raw) : sink_(sink), names_(names), raw_(raw) {}

  std::uint64_t write_all(EventStream& events) {
    std::uint64_t rows = 0;
    for (; !sink_.is_broken() && events.next(); ++rows)
      write(events);
    return rows;
  }

private:
  struct Table {
    RowMaker maker;
    JsonLinesOutput output;
  };

  void write(const EventStream& event) {
    std::unique_ptr<Table>& table = tables_[event.table().kind];
    if (!table) {
      table = std::make_unique<Table>(
          Table{RowMaker(event.table(), names_, raw_, true), JsonLinesOutput(sink_)});
      table->output.begin(table->maker.columns());
    }
    table->output.row(table->maker.cells(event));
  }

  Sink& sink_;
  const Names& names_;
  bool raw_;
  std::unordered_map<io_u16, std::unique_ptr<Table>> tables_;
};

} // namespace

Result<std::uint64_t> export_table(const store::TraceReader& trace, std::string_view table,
                                   const ExportOptions& options, std::FILE* file) {
  const store::TableInfo* found = trace.table(table);
  if (!found)
    return fail_usage(fmt::format("the trace has no table {}", table), "",
                      "`iotrail schema` lists them");
  return write_table(trace, *found, Names::load(trace), options, file);
}

Result<std::uint64_t> export_directory(const store::TraceReader& trace,
                                       const ExportOptions& options,
                                       const std::filesystem::path& directory) {
  if (::mkdir(directory.c_str(), 0750) != 0 && errno != EEXIST)
    return fail_errno("cannot create the directory " + directory.string());
  const Names names = Names::load(trace);
  std::uint64_t rows = 0;
  for (const store::TableInfo& table : trace.tables()) {
    if (!has_rows(trace, table))
      continue;
    auto file = create_file(directory / fmt::format("{}.{}", table.name, options.format->name));
    if (!file)
      return std::unexpected(file.error());
    const auto written = write_table(trace, table, names, options, file->get());
    if (!written)
      return written;
    rows += *written;
  }
  return rows;
}

Result<std::uint64_t> export_stream(const store::TraceReader& trace, const ExportOptions& options,
                                    std::FILE* file) {
  const Names names = Names::load(trace);
  Sink sink(file);
  ObjectWriter objects(sink, names, options.raw);
  std::uint64_t rows = 0;
  for (const store::TableInfo& table : trace.tables())
    if (is_dictionary(table)) {
      EventStream dictionary(trace, {table.kind});
      rows += objects.write_all(dictionary);
    }
  EventStream events(trace);
  rows += objects.write_all(events);
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return rows;
}

} // namespace iotrail::output
