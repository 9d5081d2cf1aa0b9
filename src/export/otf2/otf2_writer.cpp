// SPDX-License-Identifier: BSD-3-Clause
#include "export/otf2/otf2_writer.hpp"

#ifdef IOTRAIL_HAS_OTF2
#include <array>
#include <map>
#include <optional>
#include <vector>

#include <fmt/ranges.h>

#include "analysis/engine/sql_text.hpp"
#include "base/capped_sum.hpp"
#include "export/model/timeline.hpp"
#include "export/otf2/otf2_archive.hpp"
#include "export/otf2/otf2_changes.hpp"
#include "export/otf2/otf2_details.hpp"
#include "export/otf2/otf2_handles.hpp"
#include "export/otf2/otf2_span.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"
#endif

namespace iotrail::output {

#ifdef IOTRAIL_HAS_OTF2
namespace {

// Spans of a track that overlap without nesting need a location each. More of them are left out:
// each has a buffer.
constexpr std::size_t kStripsMost = 64;

// Of the group of all devices: no process has this pid, and some have 0.
constexpr std::uint64_t kDevicesKey = UINT64_MAX;

// One track after the other, so that few locations are open at a time.
constexpr std::string_view kOtf2SpansSql = R"(
WITH details AS ({})
SELECT t.track, t.track_name, t.layer, t.name, is_asked(t.layer), t.op_id, t.parent_op, t.pid,
t.tid, t.ts_ns, t.duration_ns, t.bytes, t.error, t.path, p.comm, t.device, t.file,
CASE WHEN opens(t.class) THEN 'open' WHEN closes(t.class) THEN 'close' WHEN reads(t.class) THEN
'read' WHEN writes(t.class) THEN 'write' WHEN is_sync(t.class) THEN 'flush'
ELSE '' END AS does, r.requested, r.what, r.fd, r.result, r.flags, r.argument, r.lock, r.whence,
r.position, r.first_fd, r.last_fd, r.read_fd, r.write_fd, n.path FROM timeline_spans AS t LEFT JOIN
programs AS p ON t.pid = p.program_pid LEFT JOIN details AS r ON t.event = r.event AND t.op_id =
r.op_id AND t.ts_ns = r.ts_ns LEFT JOIN (SELECT pid, ts_ns, any_value(path) AS path FROM
all_path_calls WHERE call IN ('unlink', 'unlinkat', 'remove') GROUP BY ALL) AS n ON r.what = 'delete'
AND t.pid = n.pid AND t.ts_ns = n.ts_ns ORDER BY t.track, CASE WHEN t.track = 'device' THEN 0 ELSE
t.pid END, CASE WHEN t.track = 'thread' THEN t.tid ELSE 0 END, t.device, t.ts_ns, t.duration_ns
DESC, t.depth, t.op_id)";
enum class Otf2Column : std::uint8_t {
  track,
  track_name,
  layer,
  name,
  is_asked,
  op,
  parent_op,
  pid,
  tid,
  ts,
  duration,
  bytes,
  error,
  path,
  comm,
  device,
  file,
  does,
  requested,
  what,
  fd,
  result,
  flags,
  argument,
  lock,
  whence,
  position,
  first_fd,
  last_fd,
  read_fd,
  write_fd,
  deleted
};

constexpr std::string_view kOtf2CausesSql =
    "SELECT device, issued_ns, min(op_id), count(DISTINCT op_id) FROM links WHERE op_id <> 0 AND "
    "issued_ns IS NOT NULL AND completed_ns IS NOT NULL GROUP BY device, issued_ns";

Otf2Span otf2_span(const TraceRow& row) {
  const auto at = [](Otf2Column column) { return static_cast<std::size_t>(column); };
  using enum Otf2Column;
  Otf2Span span{.track = row.text(at(track)),
                .layer = row.text(at(layer)),
                .name = printable(row.text(at(name))),
                .is_asked = row.is_true(at(is_asked)),
                .op = row.number(at(op)),
                .parent_op = row.number(at(parent_op)),
                .pid = row.number(at(pid)),
                .tid = row.number(at(tid)),
                .begin_ns = row.number(at(ts)),
                .error = row.signed_number(at(error)),
                .path = printable(row.text(at(path))),
                .process = row.is_null(at(comm)) ? "process" : printable(row.text(at(comm))),
                .device_name = printable(row.text(at(track_name))),
                .device = row.number(at(device)),
                .file = row.number(at(file)),
                .does = row.text(at(does)),
                .what = row.text(at(what)),
                .result = row.signed_number(at(result)),
                .flags = row.number(at(flags)),
                .argument = row.number(at(argument)),
                .lock = row.text(at(lock)),
                .whence = row.text(at(whence)),
                .position = row.signed_number(at(position)),
                .first_fd = row.number(at(first_fd)),
                .last_fd = row.number(at(last_fd)),
                .read_fd = row.signed_number(at(read_fd)),
                .write_fd = row.signed_number(at(write_fd)),
                .deleted = printable(row.text(at(deleted)))};
  if (!row.is_null(at(fd)))
    span.fd = row.signed_number(at(fd));
  span.end_ns = capped_sum(span.begin_ns, row.number(at(duration)));
  if (!row.is_null(at(bytes)))
    span.bytes = row.number(at(bytes));
  span.requested = row.is_null(at(requested)) ? span.bytes.value_or(0) : row.number(at(requested));
  if (span.is_device() && span.name == "flush")
    span.does = "flush";
  return span;
}

// The locations of a track: one for its calls, one for what the kernel did below, and more for spans
// that do not nest.
class Otf2Track {
public:
  Otf2Track(Otf2Archive& archive, const Otf2Span& first)
      : archive_(archive), is_thread_(first.track == "thread"),
        name_(first.is_device() ? first.device_name
              : is_thread_      ? fmt::format("{} {}", first.process, first.tid)
                                : first.process + " async"),
        group_(first.is_device()
                   ? archive.process(kDevicesKey, "devices")
                   : archive.process(first.pid, fmt::format("{} {}", first.process, first.pid))) {}

  // nullptr: too many overlap
  Otf2Location* of(const Otf2Span& span) {
    Strip& strip = strips_[is_thread_ && !span.is_asked ? 1 : 0];
    const std::size_t rank = strip.finder.rank_of(span.begin_ns, span.end_ns);
    return location(strip, rank, is_thread_ && !span.is_asked ? " kernel" : "");
  }
  // For what may overlap.
  Otf2Location* first() { return location(strips_[0], 0, ""); }

private:
  struct Strip {
    LaneFinder finder{true};
    std::vector<std::unique_ptr<Otf2Location>> locations;
  };

  Otf2Location* location(Strip& strip, std::size_t rank, std::string_view part) {
    if (rank >= kStripsMost)
      return nullptr;
    while (strip.locations.size() <= rank) {
      const std::size_t number = strip.locations.size() + 1;
      strip.locations.push_back(std::make_unique<Otf2Location>(
          archive_,
          fmt::format("{}{}{}", name_, part, number == 1 ? "" : fmt::format(" {}", number)),
          group_));
    }
    return strip.locations[rank].get();
  }

  Otf2Archive& archive_;
  bool is_thread_;
  std::string name_;
  OTF2_LocationGroupRef group_;
  std::array<Strip, 2> strips_;
};

class Otf2Writer {
public:
  Otf2Writer(Otf2Archive& archive, Otf2Handles& handles) : archive_(archive), handles_(handles) {}

  void add_cause(const TraceRow& row) {
    causes_[{row.number(0), row.number(1)}] = {row.number(2), row.number(3)};
  }

  void add(const Otf2Span& span) {
    if (archive_.is_broken()) // finish() says why
      return;
    const Key key{std::string(span.track), span.is_device() ? 0 : span.pid,
                  span.track == "thread" ? span.tid : 0, span.device};
    if (!track_ || key != key_) {
      track_.reset(); // before the next one opens its locations
      track_.emplace(archive_, span);
      key_ = key;
    }
    if (span.track != "thread" && span.is_io())
      add_beside(span);
    else
      add_region(span);
  }
  void end() { track_.reset(); }

private:
  using Key = std::tuple<std::string, std::uint64_t, std::uint64_t, std::uint64_t>;
  struct Cause {
    std::uint64_t op = 0;
    std::uint64_t count = 0;
  };

  void put_attributes(const Otf2Span& span, Otf2Attributes& attributes) {
    using enum Otf2Attribute;
    attributes.put(layer, span.layer);
    if (span.op != 0)
      attributes.put(op, span.op);
    if (span.parent_op != 0)
      attributes.put(in, span.parent_op);
    if (span.bytes)
      attributes.put(bytes, *span.bytes);
    if (span.error != 0)
      attributes.put_signed(error, span.error);
    if (!span.path.empty())
      attributes.put(path, span.path);
    if (span.fd >= 0)
      attributes.put(descriptor, static_cast<std::uint64_t>(span.fd));
    const auto found = causes_.find({span.device, span.begin_ns});
    if (!span.is_device() || found == causes_.end())
      return;
    attributes.put(Otf2Attribute::cause, found->second.op);
    attributes.put(causes, found->second.count);
  }

  Otf2Operation operation_of(const Otf2Span& span) {
    Otf2Operation operation{.requested = span.requested,
                            .moved = span.error < 0 ? 0 : span.bytes.value_or(0)};
    operation.mode = span.does == "read"    ? OTF2_IO_OPERATION_MODE_READ
                     : span.does == "write" ? OTF2_IO_OPERATION_MODE_WRITE
                                            : OTF2_IO_OPERATION_MODE_FLUSH;
    operation.handle = span.is_device()
                           ? handles_.of_device(span.device, span.device_name)
                           : handles_.used(span.descriptor(), span.begin_ns, path_of(span));
    return operation;
  }

  void add_beside(const Otf2Span& span) {
    Otf2Attributes attributes(archive_);
    put_attributes(span, attributes);
    attributes.put(Otf2Attribute::operation, span.name);
    track_->first()->operate_beside(span.begin_ns, span.end_ns, operation_of(span), attributes);
  }

  void add_region(const Otf2Span& span) {
    Otf2Location* location = track_->of(span);
    if (location == nullptr)
      return;
    Otf2Attributes attributes(archive_);
    put_attributes(span, attributes);
    location->enter(span.begin_ns, span.end_ns,
                    archive_.region(span.layer, span.name, span.is_io()), attributes);
    if (span.is_io())
      location->operate(span.begin_ns, span.end_ns, operation_of(span));
    if (span.is_asked && !span.what.empty())
      add_changes(handles_, archive_, span, *location);
  }

  Otf2Archive& archive_;
  Otf2Handles& handles_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, Cause> causes_; // by device and issue
  std::optional<Otf2Track> track_;
  Key key_;
};

} // namespace

Result<void> write_otf2(const TraceInput& input, const std::filesystem::path& path) {
  auto archive = Otf2Archive::create(path);
  if (!archive)
    return std::unexpected(archive.error());
  std::string nothing;
  const Sink none(nothing); // the library writes the files
  Otf2Handles handles(**archive);
  const std::string details = otf2_details_sql(input.engine.trace());
  auto done = handles.load(input, details);
  Otf2Writer writer(**archive, handles);
  if (done)
    done = for_each_row(input.engine, kOtf2CausesSql, none,
                        [&](const TraceRow& row) { writer.add_cause(row); });
  if (done)
    done = for_each_row(input.engine, fmt::format(kOtf2SpansSql, details), none,
                        [&](const TraceRow& row) { writer.add(otf2_span(row)); });
  writer.end();
  if (!done)
    return done;
  const store::Manifest& manifest = input.engine.trace().manifest();
  return (*archive)->finish(static_cast<std::uint64_t>(manifest.monotonic_to_real_ns));
}

#else

Result<void> write_otf2(const TraceInput&, const std::filesystem::path&) {
  return fail("cannot write OTF2", "iotrail was built without its library",
              "Install libopen-trace-format2-dev, then build iotrail again.");
}

#endif

} // namespace iotrail::output
