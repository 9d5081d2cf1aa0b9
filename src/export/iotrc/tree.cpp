// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/tree.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "analysis/engine/sql_text.hpp"
#include "export/iotrc/manifest.hpp"
#include "export/iotrc/part_writer.hpp"
#include "export/iotrc/stream_writer.hpp"
#include "export/trace_rows.hpp"

namespace iotrail::output::iotrc {
namespace {

constexpr std::uint64_t kRowBytes = 64; // at least, of most rows
constexpr double kLeastShare = 0.001;

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

// The events of a stream from a block on: its rows are at most about as many.
std::uint64_t events_from(const store::TraceReader& trace, const Stream& stream,
                          std::size_t first_block) {
  std::vector<iot_u16> kinds;
  for (const std::string_view event : stream.events)
    if (const store::TableInfo* table = trace.table(event); table != nullptr)
      kinds.push_back(table->kind);
  std::uint64_t rows = 0;
  const auto blocks = trace.blocks();
  for (const store::BlockInfo& block : blocks.subspan(std::min(first_block, blocks.size())))
    if (std::ranges::find(kinds, block.kind) != kinds.end())
      rows += block.rows;
  return rows;
}

// The first snapshot of the system has all that the files of system_spec need.
Result<bool> has_system_snapshot(const TraceInput& input) {
  auto rows = input.engine.query(
      "SELECT count(*) FROM snapshots WHERE kind = 'system' AND is_complete = 1");
  if (!rows)
    return std::unexpected(rows.error());
  const auto more = rows->next();
  if (!more)
    return std::unexpected(more.error());
  return TraceRow(rows->row()).number(0) > 0;
}

} // namespace

Result<void> Tree::begin(const TraceInput& input, const OutputDirectory& directory) {
  if (session_.empty()) {
    auto machine = machine_of(input, options_);
    if (!machine)
      return std::unexpected(machine.error());
    const store::Manifest& manifest = input.engine.trace().manifest();
    machine_ = std::move(*machine);
    session_ =
        fmt::format("linux_v1/{}/{}", machine_, date_name(real_ns_of(manifest, manifest.begin_ns)));
    progress_.resize(streams(options_.era, {}, {}).size());
  }
  return directory.make_folder(session_);
}

// Rows from this time on came after an earlier look at the trace.
std::size_t Tree::first_block(std::uint64_t from_ns) const {
  std::size_t blocks = 0;
  for (const Mark& mark : marks_)
    if (mark.opened_ns <= from_ns)
      blocks = mark.blocks;
  return blocks;
}

// 0: the stream is not due.
std::uint64_t Tree::due_until(const TraceInput& input, const Progress& progress, std::uint64_t rows,
                              std::uint64_t until_ns) const {
  const std::uint64_t since_ns =
      std::max(progress.from_ns, input.engine.trace().manifest().begin_ns);
  if (until_ns <= since_ns)
    return 0;
  if (until_ns - since_ns >= options_.limits.age_ns)
    return since_ns + options_.limits.age_ns;
  const auto expected = static_cast<std::uint64_t>(static_cast<double>(rows) * progress.share);
  const bool is_full =
      expected >= options_.limits.rows || expected >= options_.limits.size_bytes / kRowBytes;
  return is_full ? until_ns : 0;
}

Result<void> Tree::write(const TraceInput& input, NewFiles& files, std::size_t stream,
                         std::uint64_t until_ns, Progress& progress) const {
  const Slice slice{.from_ns = progress.from_ns,
                    .until_ns = until_ns,
                    .first_block = first_block(progress.from_ns),
                    .new_block = progress.new_block,
                    .rows_before = progress.tally.rows};
  const Stream rows =
      std::move(streams(options_.era, {.are_hidden = options_.hides_names}, slice)[stream]);
  const store::TraceReader& trace = input.engine.trace();
  const std::uint64_t events = events_from(trace, rows, slice.first_block);
  Result<void> done;
  if (events > 0)
    done =
        stream + 1 == progress_.size()
            ? write_file_snapshots(input, options_, files, session_, machine_, rows, progress.tally)
            : write_stream(input, options_, files, session_, rows, progress.tally);
  if (events > 0)
    progress.share =
        std::max(kLeastShare, static_cast<double>(progress.tally.rows - slice.rows_before) /
                                  static_cast<double>(events));
  progress.from_ns = until_ns;
  progress.new_block = trace.blocks().size();
  return done;
}

Written Tree::written() const {
  Written written{.session = session_, .rows = {}};
  const std::vector<Stream> all = streams(options_.era, {}, {});
  for (std::size_t i = 0; i < all.size(); ++i)
    written.rows[std::string(all[i].name)] = progress_[i].tally.rows;
  return written;
}

// manifest.json anew, and system_spec once.
Result<void> Tree::write_facts(const TraceInput& input, NewFiles& files, bool has_ended) {
  if (!has_system_spec_) {
    const auto is_there = has_ended ? Result<bool>(true) : has_system_snapshot(input);
    if (!is_there)
      return std::unexpected(is_there.error());
    if (*is_there)
      if (auto done = write_system_spec(input, files, session_); !done)
        return done;
    has_system_spec_ = *is_there;
  }
  const Names names{.are_hidden = options_.hides_names};
  return write_manifest(input, options_, files, machine_, streams(options_.era, names, {}),
                        written());
}

Result<bool> Tree::advance(const TraceInput& input, const OutputDirectory& directory,
                           std::uint64_t opened_ns, std::uint64_t until_ns) {
  if (auto begun = begin(input, directory); !begun)
    return std::unexpected(begun.error());
  const Tree before = *this;
  NewFiles files(directory);
  bool has_written = false;
  const std::vector<Stream> all = streams(options_.era, {}, {});
  const auto write_due = [&]() -> Result<void> {
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::uint64_t events =
          events_from(input.engine.trace(), all[i], first_block(progress_[i].from_ns));
      const std::uint64_t until = due_until(input, progress_[i], events, until_ns);
      if (until == 0)
        continue;
      if (auto done = write(input, files, i, until, progress_[i]); !done)
        return done;
      has_written = true;
    }
    if (!has_written)
      return {};
    if (auto done = write_facts(input, files, false); !done)
      return done;
    return files.commit();
  };
  if (auto done = write_due(); !done) {
    *this = before;
    return std::unexpected(done.error());
  }
  marks_.push_back({opened_ns, input.engine.trace().blocks().size()});
  const std::uint64_t oldest_ns = std::ranges::min(progress_, {}, &Progress::from_ns).from_ns;
  while (marks_.size() > 1 && marks_[1].opened_ns <= oldest_ns)
    marks_.erase(marks_.begin());
  return has_written;
}

Result<Written> Tree::finish(const TraceInput& input, const OutputDirectory& directory) {
  if (auto begun = begin(input, directory); !begun)
    return std::unexpected(begun.error());
  NewFiles files(directory);
  for (std::size_t i = 0; i < progress_.size(); ++i)
    if (auto done = write(input, files, i, UINT64_MAX, progress_[i]); !done)
      return std::unexpected(done.error());
  if (auto done = write_facts(input, files, true); !done)
    return std::unexpected(done.error());
  if (auto done = files.commit(); !done)
    return std::unexpected(done.error());
  return written();
}

Result<Written> write_tree(const TraceInput& input, const Options& options,
                           const OutputDirectory& directory) {
  return Tree(options).finish(input, directory);
}

} // namespace iotrail::output::iotrc
