// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/tree.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "export/iotrc/manifest.hpp"
#include "export/iotrc/part_writer.hpp"
#include "export/model/csv_field.hpp"
#include "export/output.hpp"
#include "export/trace_rows.hpp"

namespace iotrail::output::iotrc {
namespace {

constexpr std::size_t kFirstCell = 2; // before it, the time and the snapshot

std::string header_of(const Stream& stream) {
  std::string header;
  for (const Column& column : stream.columns)
    header += fmt::format("{}{}", header.empty() ? "" : ",", column.name);
  return header + "\n";
}

std::string sql_of(const Stream& stream, std::string_view snapshot) {
  std::vector<std::string> cells{"at_ns", std::string(snapshot)};
  for (const Column& column : stream.columns)
    if (!column.sql.empty())
      cells.push_back(fmt::format("{} AS {}", column.sql, analysis::sql_name(column.name)));
  return fmt::format("SELECT {} FROM ({})", fmt::join(cells, ", "), stream.rows);
}

std::uint64_t real_ns_of(const TraceInput& input, std::uint64_t at_ns) {
  const std::int64_t offset = input.engine.trace().manifest().monotonic_to_real_ns;
  const auto real = static_cast<__int128>(at_ns) + offset;
  return real < 0 ? 0 : static_cast<std::uint64_t>(std::min<__int128>(real, INT64_MAX));
}

// A line of the file.
void put_row(std::string& line, const Stream& stream, const TraceRow& row, std::uint64_t real_ns) {
  line.clear();
  Sink sink(line);
  std::size_t cell = kFirstCell;
  for (std::size_t i = 0; i < stream.columns.size(); ++i) {
    if (i > 0)
      sink.put(',');
    if (stream.columns[i].sql.empty())
      sink.put(date_text(real_ns));
    else
      put_csv_field(sink, cell_text(row.cell(cell++)));
  }
  sink.put('\n');
  (void)sink.finish(); // a string takes all
}

// Calls `each` with the lines of a stream: text, time, snapshot.
template <class Each>
Result<void> for_each_line(const TraceInput& input, const Stream& stream, std::string_view snapshot,
                           const Each& each) {
  auto rows = input.engine.query(sql_of(stream, snapshot));
  if (!rows)
    return std::unexpected(rows.error());
  std::string line;
  while (true) {
    const auto more = rows->next();
    if (!more)
      return std::unexpected(more.error());
    if (!*more)
      return {};
    const TraceRow row(rows->row());
    const std::uint64_t at_ns = row.number(0);
    const std::uint64_t real_ns = real_ns_of(input, at_ns);
    put_row(line, stream, row, real_ns);
    if (auto done = each(line, at_ns, real_ns, row.number(1)); !done)
      return done;
  }
}

Result<std::uint64_t> write_stream(const TraceInput& input, const Options& options,
                                   const OutputDirectory& directory, const std::string& session,
                                   const Stream& stream) {
  PartWriter parts(directory, options, fmt::format("{}/{}", session, stream.name),
                   std::string(stream.name), header_of(stream));
  auto done = for_each_line(input, stream, "0",
                            [&](const std::string& line, std::uint64_t at_ns, std::uint64_t real_ns,
                                std::uint64_t) { return parts.put(line, at_ns, real_ns); });
  if (done)
    done = parts.finish();
  if (!done)
    return std::unexpected(done.error());
  return parts.rows();
}

// Files of a snapshot: ..._part0001_DATE_MACHINE.csv.zst, the last one with _complete_partsN.
class SnapshotFiles {
public:
  SnapshotFiles(const OutputDirectory& directory, const Options& options, std::string folder,
                std::string machine, std::string header)
      : directory_(directory), options_(options), folder_(std::move(folder)),
        machine_(std::move(machine)), header_(std::move(header)) {}

  Result<void> put(std::string_view line, std::uint64_t real_ns, std::uint64_t snapshot) {
    if (parts_.empty() || snapshot != snapshot_ || rows_ == options_.limits.rows)
      if (auto begun = begin(real_ns, snapshot); !begun)
        return begun;
    file_->put(line);
    ++rows_;
    ++all_rows_;
    return file_->is_broken() ? file_->finish() : Result<void>();
  }
  // Ends a snapshot. Its last file gets its name only now, when the number of files is known.
  Result<void> finish() {
    if (!file_)
      return {};
    auto done = file_->finish();
    file_.reset();
    if (!done)
      return done;
    const std::string last = parts_.back();
    const std::filesystem::path from = directory_.path() / last;
    std::filesystem::path to = from;
    to.replace_filename(fmt::format("{}_complete_parts{}.csv{}", stem_, parts_.size(),
                                    suffix_of(options_.compression)));
    parts_.clear();
    std::error_code error;
    std::filesystem::rename(from, to, error);
    return error ? fail_errno("cannot rename " + from.string(), error.value()) : Result<void>();
  }
  std::uint64_t rows() const { return all_rows_; }

private:
  Result<void> begin(std::uint64_t real_ns, std::uint64_t snapshot) {
    constexpr std::size_t kSeconds = 15; // of "20260501_123456_123"
    if (file_ && snapshot != snapshot_) {
      if (auto done = finish(); !done)
        return done;
    } else if (file_) {
      auto done = file_->finish();
      if (!done)
        return done;
    }
    snapshot_ = snapshot;
    rows_ = 0;
    if (auto made = directory_.make_folder(folder_); !made)
      return made;
    stem_ = fmt::format("filesystem_snapshot_part{:04}_{}_{}", parts_.size() + 1,
                        date_name(real_ns).substr(0, kSeconds), machine_);
    parts_.push_back(fmt::format("{}/{}.csv{}", folder_, stem_, suffix_of(options_.compression)));
    auto file = CompressedFile::create(directory_, parts_.back(), options_.compression);
    if (!file)
      return std::unexpected(file.error());
    file_ = std::move(*file);
    file_->put(header_);
    return {};
  }

  const OutputDirectory& directory_;
  const Options& options_;
  std::string folder_;
  std::string machine_;
  std::string header_;
  std::string stem_;
  std::vector<std::string> parts_; // of the snapshot
  std::unique_ptr<CompressedFile> file_;
  std::uint64_t snapshot_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t all_rows_ = 0;
};

Result<std::uint64_t> write_file_snapshots(const TraceInput& input, const Options& options,
                                           const OutputDirectory& directory,
                                           const std::string& session, const std::string& machine,
                                           const Stream& stream) {
  SnapshotFiles files(directory, options, fmt::format("{}/{}", session, stream.name), machine,
                      header_of(stream));
  auto done =
      for_each_line(input, stream, "snapshot",
                    [&](const std::string& line, std::uint64_t, std::uint64_t real_ns,
                        std::uint64_t snapshot) { return files.put(line, real_ns, snapshot); });
  if (done)
    done = files.finish();
  if (!done)
    return std::unexpected(done.error());
  return files.rows();
}

// The id that the machine has in names of directories.
Result<std::string> machine_of(const TraceInput& input, const Options& options) {
  if (!options.machine.empty())
    return options.machine;
  auto rows =
      input.engine.query(fmt::format("SELECT upper(left(sha256({}), 16))",
                                     analysis::sql_literal(input.engine.trace().manifest().host)));
  if (!rows)
    return std::unexpected(rows.error());
  const auto more = rows->next();
  if (!more)
    return std::unexpected(more.error());
  return std::string(TraceRow(rows->row()).text(0));
}

} // namespace

Result<Written> write_tree(const TraceInput& input, const Options& options,
                           const OutputDirectory& directory) {
  const auto machine = machine_of(input, options);
  if (!machine)
    return std::unexpected(machine.error());
  const store::Manifest& manifest = input.engine.trace().manifest();
  const std::string session =
      fmt::format("linux_v1/{}/{}", *machine, date_name(real_ns_of(input, manifest.begin_ns)));
  if (auto made = directory.make_folder(session); !made)
    return std::unexpected(made.error());
  const Names names{.are_hidden = options.hides_names};
  Written written{.session = session, .rows = {}};
  std::vector<Stream> all = streams(options.era, names);
  for (const Stream& stream : all) {
    const auto rows = write_stream(input, options, directory, session, stream);
    if (!rows)
      return std::unexpected(rows.error());
    written.rows[std::string(stream.name)] = *rows;
  }
  all.push_back(file_snapshot_stream(options.era, names));
  const auto rows = write_file_snapshots(input, options, directory, session, *machine, all.back());
  if (!rows)
    return std::unexpected(rows.error());
  written.rows[std::string(all.back().name)] = *rows;
  if (auto done = write_system_spec(input, directory, session); !done)
    return std::unexpected(done.error());
  if (auto done = write_manifest(input, options, directory, *machine, all, written); !done)
    return std::unexpected(done.error());
  return written;
}

} // namespace iotrail::output::iotrc
