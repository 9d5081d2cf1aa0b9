// SPDX-License-Identifier: BSD-3-Clause
#include <map>
#include <vector>

#include <nlohmann/json.hpp>

#include "export/json.hpp"
#include "export/model/stacks.hpp"
#include "export/trace_format.hpp"

namespace iotrail::output {
namespace {

using nlohmann::json;

// The frames of all stacks, each once, and the stacks as numbers of frames.
struct SpeedscopeStacks {
  std::map<std::string, std::size_t> number_of;
  std::vector<std::string> names;
  std::vector<std::vector<std::size_t>> samples;
  std::vector<std::uint64_t> weights;

  void add(const Stack& stack) {
    std::vector<std::size_t>& sample = samples.emplace_back();
    for (const std::string& frame : stack.frames) {
      const auto [known, is_new] = number_of.try_emplace(frame, names.size());
      if (is_new)
        names.push_back(frame);
      sample.push_back(known->second);
    }
    weights.push_back(stack.weight);
  }
};

Result<void> write_speedscope(const TraceInput& input, Sink& sink) {
  SpeedscopeStacks stacks;
  auto read = for_each_stack(input, sink, [&](const Stack& stack) { stacks.add(stack); });
  if (!read)
    return read;
  sink.put(
      R"({"$schema":"https://www.speedscope.app/file-format-schema.json","exporter":"iotrail",)");
  sink.put("\"shared\":{\"frames\":[");
  for (std::size_t i = 0; i < stacks.names.size(); ++i) {
    sink.put(i == 0 ? "{\"name\":" : ",{\"name\":");
    put_json_text(sink, stacks.names[i]);
    sink.put('}');
  }
  std::uint64_t total = 0;
  for (const std::uint64_t weight : stacks.weights)
    total += weight;
  sink.print("]}},\"profiles\":[{{\"type\":\"sampled\",\"name\":\"{0}\",\"unit\":\"{0}\","
             "\"startValue\":0,\"endValue\":{1},\"samples\":",
             unit_of(input.weight), total);
  sink.put(json(stacks.samples).dump());
  sink.put(",\"weights\":");
  sink.put(json(stacks.weights).dump());
  sink.put("}]}\n");
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatSpeedscope = {
    .name = "speedscope",
    .suffix = "speedscope.json",
    .doc = "stacks for www.speedscope.app",
    .omits = "times of single calls, and all but the sum of each stack",
    .has_weight = true,
    .write = write_speedscope,
};

} // namespace iotrail::output
