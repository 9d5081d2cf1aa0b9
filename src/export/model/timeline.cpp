// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/timeline.hpp"

#include <map>
#include <tuple>

#include "export/trace_rows.hpp"
#include "text/printable.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kSpansSql = R"(
SELECT track, track_name, layer, event, name, op_id, parent_op, t.pid, tid, ts_ns,
duration_ns, bytes, error, path, p.comm, device FROM timeline_spans AS t LEFT JOIN programs AS
p ON t.pid = p.program_pid ORDER BY ts_ns, duration_ns DESC, depth, op_id)";
struct SpanColumn {
  enum : std::uint8_t {
    kTrack,
    kTrackName,
    kLayer,
    kEvent,
    kName,
    kOp,
    kParentOp,
    kPid,
    kTid,
    kBegin,
    kDuration,
    kBytes,
    kError,
    kPath,
    kComm,
    kDevice
  };
};

TimelineSpan span_of(const TraceRow& row) {
  return {.layer = row.text(SpanColumn::kLayer),
          .event = row.text(SpanColumn::kEvent),
          .name = printable(row.text(SpanColumn::kName)),
          .op = row.number(SpanColumn::kOp),
          .parent_op = row.number(SpanColumn::kParentOp),
          .begin_ns = row.number(SpanColumn::kBegin),
          .duration_ns = row.number(SpanColumn::kDuration),
          .has_bytes = !row.is_null(SpanColumn::kBytes),
          .bytes = row.number(SpanColumn::kBytes),
          .error = row.signed_number(SpanColumn::kError),
          .path = printable(row.text(SpanColumn::kPath)),
          .device = row.number(SpanColumn::kDevice)};
}

class Tracks {
public:
  explicit Tracks(TimelineWriter& writer) : writer_(writer) {}

  void add(const TraceRow& row) {
    const TimelineSpan span = span_of(row);
    const bool is_device = row.text(SpanColumn::kTrack) == "device";
    const bool is_thread = row.text(SpanColumn::kTrack) == "thread";
    const std::uint64_t pid = is_device ? 0 : row.number(SpanColumn::kPid);
    const std::string comm =
        row.is_null(SpanColumn::kComm) ? "process" : printable(row.text(SpanColumn::kComm));
    if (processes_.insert(pid).second)
      writer_.process(pid, pid == 0 ? "devices" : comm);
    const std::uint64_t tid = is_thread ? row.number(SpanColumn::kTid) : 0;
    Track& track =
        tracks_.try_emplace({pid, tid, std::string(row.text(SpanColumn::kTrackName))}, is_thread)
            .first->second;
    const std::size_t rank = track.finder.rank_of(span.begin_ns, span.end_ns());
    if (rank == track.lanes.size()) {
      std::string name = is_device   ? printable(row.text(SpanColumn::kTrackName))
                         : is_thread ? comm
                                     : "async";
      track.lanes.push_back({.number = ++lanes_,
                             .rank = static_cast<std::uint32_t>(rank),
                             .is_device = is_device,
                             .pid = pid,
                             .tid = tid,
                             .is_thread = is_thread && rank == 0,
                             .name = std::move(name)});
      writer_.lane(track.lanes.back());
    }
    writer_.span(track.lanes[rank], span);
  }

private:
  struct Track {
    explicit Track(bool nests) : finder(nests) {}
    LaneFinder finder;
    std::vector<Lane> lanes;
  };

  TimelineWriter& writer_;
  std::map<std::tuple<std::uint64_t, std::uint64_t, std::string>, Track> tracks_;
  std::set<std::uint64_t> processes_;
  std::uint32_t lanes_ = 0;
};

} // namespace

void LaneFinder::close_until(std::uint64_t ns) {
  while (!in_use_.empty() && in_use_.begin()->first <= ns) {
    const std::size_t rank = in_use_.begin()->second;
    in_use_.erase(in_use_.begin());
    std::vector<std::uint64_t>& open = open_ends_ns_[rank];
    while (!open.empty() && open.back() <= ns)
      open.pop_back();
    if (open.empty())
      free_.insert(rank);
    else
      in_use_.emplace(open.back(), rank);
  }
}

std::size_t LaneFinder::choose(std::uint64_t end_ns) {
  const bool fits_first = nests_ && !open_ends_ns_.empty() && !open_ends_ns_[0].empty() &&
                          open_ends_ns_[0].back() >= end_ns;
  if (fits_first)
    return 0;
  if (!free_.empty())
    return *free_.begin();
  if (const auto around = in_use_.lower_bound({end_ns, 0}); nests_ && around != in_use_.end())
    return around->second;
  open_ends_ns_.emplace_back();
  return open_ends_ns_.size() - 1;
}

std::size_t LaneFinder::rank_of(std::uint64_t begin_ns, std::uint64_t end_ns) {
  close_until(begin_ns);
  const std::size_t rank = choose(end_ns);
  std::vector<std::uint64_t>& open = open_ends_ns_[rank];
  if (open.empty())
    free_.erase(rank);
  else
    in_use_.erase({open.back(), rank});
  open.push_back(end_ns);
  in_use_.emplace(end_ns, rank);
  return rank;
}

Result<void> write_timeline(const TraceInput& input, const Sink& sink, TimelineWriter& writer) {
  Tracks tracks(writer);
  return for_each_row(input.engine, kSpansSql, sink, [&](const TraceRow& row) { tracks.add(row); });
}

} // namespace iotrail::output
