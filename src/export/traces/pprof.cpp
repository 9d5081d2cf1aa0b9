// SPDX-License-Identifier: BSD-3-Clause
#include <unordered_map>

#include "export/model/gzip.hpp"
#include "export/model/protobuf.hpp"
#include "export/model/stacks.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

// Numbers of fields in profile.proto.
namespace pprof {
enum Profile : std::uint8_t {
  kSampleType = 1,
  kSample = 2,
  kLocation = 4,
  kFunction = 5,
  kStringTable = 6
};
enum ValueType : std::uint8_t { kType = 1, kUnit = 2 };
enum Sample : std::uint8_t { kLocationId = 1, kValue = 2 };
enum Location : std::uint8_t { kLocationNumber = 1, kLine = 4 };
enum Line : std::uint8_t { kFunctionId = 1 };
enum Function : std::uint8_t { kFunctionNumber = 1, kFunctionName = 2 };
} // namespace pprof

class PprofWriter {
public:
  explicit PprofWriter(GzipSink& out) : out_(out) { number_of(""); }

  void value_type(std::string_view type, std::string_view unit) {
    ProtobufMessage value;
    value.put_number(pprof::kType, number_of(type));
    value.put_number(pprof::kUnit, number_of(unit));
    put(pprof::kSampleType, value);
  }

  void add(const Stack& stack) {
    ProtobufMessage sample;
    for (auto frame = stack.frames.rbegin(); frame != stack.frames.rend(); ++frame)
      sample.put_number(pprof::kLocationId, location_of(*frame)); // the innermost one first
    sample.put_number(pprof::kValue, stack.count);
    sample.put_number(pprof::kValue, stack.weight);
    put(pprof::kSample, sample);
  }

private:
  void put(std::uint32_t field, const ProtobufMessage& message) {
    ProtobufMessage profile;
    profile.put_message(field, message);
    out_.put(profile.bytes());
  }

  // Strings are numbered in the order in which they are in the file.
  std::uint64_t number_of(std::string_view text) {
    const auto [known, is_new] = strings_.try_emplace(std::string(text), strings_.size());
    if (is_new) {
      ProtobufMessage profile;
      profile.put_text(pprof::kStringTable, text);
      out_.put(profile.bytes());
    }
    return known->second;
  }

  // Each frame is a function at a location of the same number, the number of its name.
  std::uint64_t location_of(const std::string& frame) {
    const std::uint64_t name = number_of(frame);
    if (!locations_.try_emplace(name, true).second)
      return name;
    ProtobufMessage function;
    function.put_number(pprof::kFunctionNumber, name);
    function.put_number(pprof::kFunctionName, name);
    put(pprof::kFunction, function);
    ProtobufMessage line;
    line.put_number(pprof::kFunctionId, name);
    ProtobufMessage location;
    location.put_number(pprof::kLocationNumber, name);
    location.put_message(pprof::kLine, line);
    put(pprof::kLocation, location);
    return name;
  }

  GzipSink& out_;
  std::unordered_map<std::string, std::uint64_t> strings_;
  std::unordered_map<std::uint64_t, bool> locations_;
};

Result<void> write_pprof(const TraceInput& input, Sink& sink) {
  GzipSink compressed(sink);
  PprofWriter profile(compressed);
  const bool is_time = input.weight == Weight::time;
  profile.value_type(is_time ? "calls" : "ranges", "count");
  profile.value_type(is_time ? "time" : "moved", unit_of(input.weight));
  auto written = for_each_stack(input, sink, [&](const Stack& stack) { profile.add(stack); });
  return written ? compressed.finish() : written;
}

} // namespace

extern const TraceFormat kTraceFormatPprof = {
    .name = "pprof",
    .suffix = "pb.gz",
    .doc = "stacks for go tool pprof and Pyroscope",
    .omits = "times of single calls, and all but the sum of each stack",
    .is_binary = true,
    .has_weight = true,
    .write = write_pprof,
};

} // namespace iotrail::output
