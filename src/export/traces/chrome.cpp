// SPDX-License-Identifier: BSD-3-Clause
#include "export/json.hpp"
#include "export/model/timeline.hpp"
#include "export/trace_format.hpp"
#include "value_text.hpp"

namespace iotrail::output {
namespace {

// Threads have their own ids. All other lanes are threads with ids that no kernel gives.
constexpr std::uint64_t kFirstLaneId = 1'000'000'000;

std::uint64_t chrome_thread(const Lane& lane) {
  return lane.is_thread ? lane.tid : kFirstLaneId + lane.number;
}

// Microseconds with all digits of the nanoseconds.
void put_chrome_time(Sink& sink, std::uint64_t ns) {
  sink.print("{}.{:03}", ns / 1000, ns % 1000);
}

class ChromeWriter : public TimelineWriter {
public:
  explicit ChromeWriter(Sink& sink) : sink_(sink) {}

  void process(std::uint64_t pid, const std::string& name) override {
    begin();
    sink_.print(R"({{"ph":"M","name":"process_name","pid":{},"tid":0,"args":{{"name":)", pid);
    put_json_text(sink_, name);
    sink_.put("}}");
  }

  void lane(const Lane& lane) override {
    begin();
    sink_.print(R"({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":)", lane.pid,
                chrome_thread(lane));
    put_json_text(sink_, lane.rank == 0 ? lane.name : fmt::format("{} {}", lane.name, lane.rank));
    sink_.put("}}");
  }

  void span(const Lane& lane, const TimelineSpan& span) override {
    begin();
    sink_.put("{\"ph\":\"X\",\"name\":");
    put_json_text(sink_, span.name);
    sink_.print(",\"cat\":\"{}\",\"pid\":{},\"tid\":{},\"ts\":", span.layer, lane.pid,
                chrome_thread(lane));
    put_chrome_time(sink_, span.begin_ns);
    sink_.put(",\"dur\":");
    put_chrome_time(sink_, span.duration_ns);
    put_arguments(span);
    sink_.put('}');
  }

  void end() { sink_.put(is_first_ ? "[]\n" : "\n]\n"); }

private:
  void begin() {
    sink_.put(is_first_ ? "[\n" : ",\n");
    is_first_ = false;
  }

  void put_arguments(const TimelineSpan& span) {
    sink_.print(",\"args\":{{\"op\":\"{}\"", schema::op_text(span.op));
    if (span.parent_op != 0)
      sink_.print(",\"in\":\"{}\"", schema::op_text(span.parent_op));
    if (span.has_bytes)
      sink_.print(",\"bytes\":{}", span.bytes);
    if (span.error != 0)
      sink_.print(",\"error\":{}", span.error);
    if (!span.path.empty()) {
      sink_.put(",\"path\":");
      put_json_text(sink_, span.path);
    }
    sink_.put('}');
  }

  Sink& sink_;
  bool is_first_ = true;
};

Result<void> write_chrome(const TraceInput& input, Sink& sink) {
  ChromeWriter writer(sink);
  auto written = write_timeline(input, sink, writer);
  writer.end();
  return written;
}

} // namespace

extern const TraceFormat kTraceFormatChrome = {
    .name = "chrome-json",
    .suffix = "chrome.json",
    .doc = "a time line for chrome://tracing, Perfetto and other viewers",
    .omits = "events without a duration, such as those of the page cache, and the causes of device "
             "I/O",
    .write = write_chrome,
};

} // namespace iotrail::output
