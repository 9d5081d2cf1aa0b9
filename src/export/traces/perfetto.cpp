// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <unordered_map>
#include <vector>

#include "export/model/protobuf.hpp"
#include "export/model/timeline.hpp"
#include "export/trace_format.hpp"
#include "export/trace_rows.hpp"
#include "text/printable.hpp"
#include "value_text.hpp"

namespace iotrail::output {
namespace {

// Numbers of fields and values in Perfetto's trace_packet.proto and track_event.proto.
namespace perfetto {
enum Trace : std::uint8_t { kPacket = 1 };
enum Packet : std::uint8_t {
  kTimestamp = 8,
  kSequenceId = 10,
  kTrackEvent = 11,
  kInternedData = 12,
  kSequenceFlags = 13,
  kTrackDescriptor = 60
};
enum SequenceFlags : std::uint8_t { kStateCleared = 1, kNeedsState = 2 };
enum Descriptor : std::uint8_t {
  kUuid = 1,
  kTrackName = 2,
  kProcess = 3,
  kThread = 4,
  kParentUuid = 5,
  kCounter = 8
};
enum Process : std::uint8_t { kProcessPid = 1, kProcessName = 6 };
enum Thread : std::uint8_t { kThreadPid = 1, kThreadTid = 2, kThreadName = 5 };
enum Event : std::uint8_t {
  kCategories = 3,
  kAnnotations = 4,
  kEventType = 9,
  kEventName = 10,
  kEventTrack = 11,
  kCounterValue = 30,
  kFlows = 47
};
enum EventType : std::uint8_t { kBegin = 1, kEnd = 2, kCount = 4 };
enum Interned : std::uint8_t {
  kCategoryNames = 1,
  kEventNames = 2,
  kAnnotationNames = 3,
  kAnnotationTexts = 29
};
enum InternedText : std::uint8_t { kTextId = 1, kTextBytes = 2 };
enum Annotation : std::uint8_t { kAnnotationName = 1, kUint = 3, kInt = 4, kTextIdValue = 17 };
} // namespace perfetto

// Texts that the file has once, and which packets name by number.
class PerfettoTexts {
public:
  explicit PerfettoTexts(std::uint32_t field) : field_(field) {}

  // Adds a text that is new to the data of the packet that uses it first.
  std::uint64_t number_of(std::string_view text, ProtobufMessage& interned) {
    const auto [known, is_new] = numbers_.try_emplace(std::string(text), numbers_.size() + 1);
    if (is_new) {
      ProtobufMessage entry;
      entry.put_number(perfetto::kTextId, known->second);
      entry.put_text(perfetto::kTextBytes, text);
      interned.put_message(field_, entry);
    }
    return known->second;
  }

private:
  std::uint32_t field_;
  std::unordered_map<std::string, std::uint64_t> numbers_;
};

// The operations that caused a request, by its device and the time of its issue.
using Causes = std::map<std::pair<std::uint64_t, std::uint64_t>, std::vector<std::uint64_t>>;
constexpr std::size_t kMostFlows = 32; // of a request: a write-back may have thousands of writers

class PerfettoWriter : public TimelineWriter {
public:
  PerfettoWriter(Sink& sink, const Causes& causes) : sink_(sink), causes_(causes) {
    for (const auto& [request, ops] : causes)
      for (const std::uint64_t op : ops)
        has_requests_.try_emplace(op, true);
  }

  void process(std::uint64_t pid, const std::string& name) override {
    ProtobufMessage descriptor;
    descriptor.put_number(perfetto::kUuid, process_uuid(pid));
    if (pid == 0) {
      descriptor.put_text(perfetto::kTrackName, name);
    } else {
      ProtobufMessage process;
      process.put_number(perfetto::kProcessPid, pid);
      process.put_text(perfetto::kProcessName, name);
      descriptor.put_message(perfetto::kProcess, process);
    }
    put_descriptor(descriptor);
  }

  void lane(const Lane& lane) override {
    ProtobufMessage descriptor;
    descriptor.put_number(perfetto::kUuid, lane.number);
    if (lane.is_thread) {
      ProtobufMessage thread;
      thread.put_number(perfetto::kThreadPid, lane.pid);
      thread.put_number(perfetto::kThreadTid, lane.tid);
      thread.put_text(perfetto::kThreadName, lane.name);
      descriptor.put_message(perfetto::kThread, thread);
    } else {
      descriptor.put_text(perfetto::kTrackName, lane.name);
      descriptor.put_number(perfetto::kParentUuid, process_uuid(lane.pid));
    }
    put_descriptor(descriptor);
  }

  void span(const Lane& lane, const TimelineSpan& span) override {
    ProtobufMessage interned;
    ProtobufMessage event;
    event.put_number(perfetto::kCategories, categories_.number_of(span.layer, interned));
    put_annotations(event, interned, span);
    event.put_number(perfetto::kEventType, perfetto::kBegin);
    event.put_number(perfetto::kEventName, names_.number_of(span.name, interned));
    event.put_number(perfetto::kEventTrack, lane.number);
    put_flows(event, lane, span);
    put_event(span.begin_ns, event, interned);
    ProtobufMessage end;
    end.put_number(perfetto::kEventType, perfetto::kEnd);
    end.put_number(perfetto::kEventTrack, lane.number);
    put_event(span.end_ns(), end, {});
  }

  void counter_track(std::uint64_t number, const std::string& name) {
    ProtobufMessage descriptor;
    descriptor.put_number(perfetto::kUuid, counter_uuid(number));
    descriptor.put_text(perfetto::kTrackName, name);
    descriptor.put_message(perfetto::kCounter, {});
    put_descriptor(descriptor);
  }

  void counter(std::uint64_t number, std::uint64_t ts_ns, std::int64_t value) {
    ProtobufMessage event;
    event.put_number(perfetto::kEventType, perfetto::kCount);
    event.put_number(perfetto::kEventTrack, counter_uuid(number));
    event.put_signed(perfetto::kCounterValue, value);
    put_event(ts_ns, event, {});
  }

private:
  // Lanes have small numbers; processes and counters have others.
  static std::uint64_t process_uuid(std::uint64_t pid) { return (1ULL << 40U) + pid; }
  static std::uint64_t counter_uuid(std::uint64_t number) { return (1ULL << 41U) + number; }

  void put_annotations(ProtobufMessage& event, ProtobufMessage& interned,
                       const TimelineSpan& span) {
    const auto put = [&](std::string_view name, const auto& put_value) {
      ProtobufMessage annotation;
      annotation.put_number(perfetto::kAnnotationName, annotations_.number_of(name, interned));
      put_value(annotation);
      event.put_message(perfetto::kAnnotations, annotation);
    };
    const auto put_text = [&](std::string_view name, std::string_view text) {
      put(name, [&](ProtobufMessage& annotation) {
        annotation.put_number(perfetto::kTextIdValue, texts_.number_of(text, interned));
      });
    };
    if (span.op != 0)
      put("op", [&](ProtobufMessage& value) { value.put_number(perfetto::kUint, span.op); });
    if (span.parent_op != 0)
      put("in", [&](ProtobufMessage& value) { value.put_number(perfetto::kUint, span.parent_op); });
    if (span.has_bytes)
      put("bytes", [&](ProtobufMessage& value) { value.put_number(perfetto::kUint, span.bytes); });
    if (span.error != 0)
      put("error", [&](ProtobufMessage& value) { value.put_signed(perfetto::kInt, span.error); });
    if (!span.path.empty())
      put_text("path", span.path);
  }

  // From the first span of an operation to the requests that it caused.
  void put_flows(ProtobufMessage& event, const Lane& lane, const TimelineSpan& span) {
    if (!lane.is_device) {
      const auto op = has_requests_.find(span.op);
      if (op != has_requests_.end() && op->second) {
        event.put_fixed(perfetto::kFlows, span.op);
        op->second = false;
      }
      return;
    }
    const auto causes = causes_.find({span.device, span.begin_ns});
    if (causes != causes_.end())
      for (const std::uint64_t op : causes->second)
        event.put_fixed(perfetto::kFlows, op);
  }

  void put_descriptor(const ProtobufMessage& descriptor) {
    ProtobufMessage packet;
    packet.put_message(perfetto::kTrackDescriptor, descriptor);
    put_packet(packet);
  }

  void put_event(std::uint64_t ts_ns, const ProtobufMessage& event,
                 const ProtobufMessage& interned) {
    ProtobufMessage packet;
    packet.put_number(perfetto::kTimestamp, ts_ns);
    packet.put_message(perfetto::kTrackEvent, event);
    if (!interned.bytes().empty())
      packet.put_message(perfetto::kInternedData, interned);
    put_packet(packet);
  }

  void put_packet(ProtobufMessage& packet) {
    packet.put_number(perfetto::kSequenceId, 1);
    packet.put_number(perfetto::kSequenceFlags,
                      is_first_ ? perfetto::kStateCleared | perfetto::kNeedsState
                                : perfetto::kNeedsState);
    is_first_ = false;
    ProtobufMessage trace;
    trace.put_message(perfetto::kPacket, packet);
    sink_.put(trace.bytes());
  }

  Sink& sink_;
  const Causes& causes_;
  std::unordered_map<std::uint64_t, bool> has_requests_; // op; true: its first span is to come
  PerfettoTexts categories_{perfetto::kCategoryNames};
  PerfettoTexts names_{perfetto::kEventNames};
  PerfettoTexts annotations_{perfetto::kAnnotationNames};
  PerfettoTexts texts_{perfetto::kAnnotationTexts};
  bool is_first_ = true;
};

constexpr std::string_view kCausesSql =
    "SELECT device, issued_ns, op_id FROM links WHERE op_id <> 0 AND issued_ns IS NOT NULL AND "
    "completed_ns IS NOT NULL GROUP BY ALL ORDER BY ALL";
constexpr std::string_view kInFlightSql = R"(
WITH steps AS (SELECT device, ts_ns AS at_ns, 1 AS step FROM requests UNION ALL SELECT device,
plus(ts_ns, duration_ns), -1 FROM requests), sums AS (SELECT device, at_ns, sum(step) AS step
FROM steps GROUP BY ALL) SELECT s.device, coalesce(d.name, 'device ' || s.device) AS name,
at_ns, CAST(sum(step) OVER (PARTITION BY s.device ORDER BY at_ns) AS BIGINT) AS in_flight FROM
sums AS s LEFT JOIN (SELECT device, min(name) AS name FROM devices GROUP BY device) AS d ON
s.device = d.device ORDER BY s.device, at_ns)";

Result<void> write_perfetto(const TraceInput& input, Sink& sink) {
  Causes causes;
  auto done = for_each_row(input.engine, kCausesSql, sink, [&](const TraceRow& row) {
    std::vector<std::uint64_t>& ops = causes[{row.number(0), row.number(1)}];
    if (ops.size() < kMostFlows)
      ops.push_back(row.number(2));
  });
  if (!done)
    return done;
  PerfettoWriter writer(sink, causes);
  done = write_timeline(input, sink, writer);
  if (!done)
    return done;
  std::uint64_t counters = 0;
  std::uint64_t device = 0;
  return for_each_row(input.engine, kInFlightSql, sink, [&](const TraceRow& row) {
    if (counters == 0 || device != row.number(0))
      writer.counter_track(++counters, printable(row.text(1)) + " requests in flight");
    device = row.number(0);
    writer.counter(counters, row.number(2), row.signed_number(3));
  });
}

} // namespace

extern const TraceFormat kTraceFormatPerfetto = {
    .name = "perfetto",
    .suffix = "pftrace",
    .doc = "a time line with flows and counters for ui.perfetto.dev and trace_processor",
    .omits = "events without a duration, such as those of the page cache, and flows to a request "
             "from more than 32 operations",
    .is_binary = true,
    .write = write_perfetto,
};

} // namespace iotrail::output
