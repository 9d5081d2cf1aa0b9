// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/stream_writer.hpp"

#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "export/iotrc/part_writer.hpp"
#include "export/model/csv_field.hpp"
#include "export/output.hpp"
#include "export/trace_rows.hpp"

namespace iotrail::output::iotrc {
namespace {

constexpr std::size_t kFirstCell = 3; // before it, the time, the time of finality and the snapshot

std::string header_of(const Stream& stream) {
  std::string header;
  for (const Column& column : stream.columns)
    header += fmt::format("{}{}", header.empty() ? "" : ",", column.name);
  return header + "\n";
}

std::string sql_of(const Stream& stream, std::string_view snapshot) {
  std::vector<std::string> cells{"at_ns", "final_ns", std::string(snapshot)};
  for (const Column& column : stream.columns)
    if (!column.sql.empty())
      cells.push_back(fmt::format("{} AS {}", column.sql, analysis::sql_name(column.name)));
  return fmt::format("SELECT {} FROM ({})", fmt::join(cells, ", "), stream.rows);
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

// Calls `each` with the lines of a stream: text, time of finality, date, snapshot.
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
    const std::uint64_t real_ns = real_ns_of(input.engine.trace().manifest(), row.number(0));
    put_row(line, stream, row, real_ns);
    if (auto done = each(line, row.number(1), real_ns, row.number(2)); !done)
      return done;
  }
}

// Files of a snapshot: ..._part0001_DATE_MACHINE.csv.zst, the last one with _complete_partsN.
class SnapshotFiles {
public:
  SnapshotFiles(NewFiles& files, const Options& options, std::string folder, std::string machine,
                std::string header)
      : files_(files), options_(options), folder_(std::move(folder)), machine_(std::move(machine)),
        header_(std::move(header)) {}

  Result<void> put(std::string_view line, std::uint64_t real_ns, std::uint64_t snapshot) {
    if (parts_ == 0 || snapshot != snapshot_ || rows_ == options_.limits.rows)
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
    files_.rename_last(fmt::format("{}/{}_complete_parts{}.csv{}", folder_, stem_, parts_,
                                   suffix_of(options_.compression)));
    parts_ = 0;
    return {};
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
    if (auto made = files_.directory().make_folder(folder_); !made)
      return made;
    stem_ = fmt::format("filesystem_snapshot_part{:04}_{}_{}", ++parts_,
                        date_name(real_ns).substr(0, kSeconds), machine_);
    auto file = CompressedFile::create(
        files_.directory(),
        files_.add(fmt::format("{}/{}.csv{}", folder_, stem_, suffix_of(options_.compression))),
        options_.compression);
    if (!file)
      return std::unexpected(file.error());
    file_ = std::move(*file);
    file_->put(header_);
    return {};
  }

  NewFiles& files_;
  const Options& options_;
  std::string folder_;
  std::string machine_;
  std::string header_;
  std::string stem_;
  std::uint64_t parts_ = 0; // of the snapshot
  std::unique_ptr<CompressedFile> file_;
  std::uint64_t snapshot_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t all_rows_ = 0;
};

} // namespace

std::uint64_t real_ns_of(const store::Manifest& manifest, std::uint64_t at_ns) {
  const auto real = static_cast<__int128>(at_ns) + manifest.monotonic_to_real_ns;
  return real < 0 ? 0 : static_cast<std::uint64_t>(std::min<__int128>(real, INT64_MAX));
}

Result<void> write_stream(const TraceInput& input, const Options& options, NewFiles& files,
                          const std::string& session, const Stream& stream, StreamTally& tally) {
  PartWriter parts(files, options, fmt::format("{}/{}", session, stream.name),
                   std::string(stream.name), header_of(stream), tally.files);
  auto done =
      for_each_line(input, stream, "0",
                    [&](const std::string& line, std::uint64_t final_ns, std::uint64_t real_ns,
                        std::uint64_t) { return parts.put(line, final_ns, real_ns); });
  if (done)
    done = parts.finish();
  tally.rows += parts.rows();
  tally.files = parts.number();
  return done;
}

Result<void> write_file_snapshots(const TraceInput& input, const Options& options, NewFiles& files,
                                  const std::string& session, const std::string& machine,
                                  const Stream& stream, StreamTally& tally) {
  SnapshotFiles snapshots(files, options, fmt::format("{}/{}", session, stream.name), machine,
                          header_of(stream));
  auto done =
      for_each_line(input, stream, "snapshot",
                    [&](const std::string& line, std::uint64_t, std::uint64_t real_ns,
                        std::uint64_t snapshot) { return snapshots.put(line, real_ns, snapshot); });
  if (done)
    done = snapshots.finish();
  tally.rows += snapshots.rows();
  return done;
}

} // namespace iotrail::output::iotrc
