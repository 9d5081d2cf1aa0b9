// SPDX-License-Identifier: BSD-3-Clause
#include "serve/metrics/metrics_text.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

namespace iotrail::serve {
namespace {

constexpr double kNsPerSecond = 1e9;

// Names of layers, events, operations, sources and counters come from the schema: no label needs an
// escape.
class Metrics {
public:
  void begin(std::string_view name, std::string_view type, std::string_view help) {
    name_ = name;
    fmt::format_to(std::back_inserter(text_), "# HELP {0} {2}\n# TYPE {0} {1}\n", name, type, help);
  }
  void put(std::string_view suffix, std::string_view labels, auto value) {
    const std::string_view open = labels.empty() ? "" : "{";
    const std::string_view close = labels.empty() ? "" : "}";
    fmt::format_to(std::back_inserter(text_), "{}{}{}{}{} {}\n", name_, suffix, open, labels, close,
                   value);
  }
  void put(std::string_view labels, auto value) { put("", labels, value); }
  std::string take() { return std::move(text_); }

private:
  std::string text_;
  std::string_view name_;
};

std::string labels_of(const OperationKey& key) {
  const auto& [layer, event, operation] = key;
  return fmt::format(R"(layer="{}",event="{}",operation="{}")", layer, event, operation);
}

void put_sizes(Metrics& metrics, const LiveSums& sums) {
  metrics.begin("iotrail_operation_size_bytes", "histogram",
                "Bytes of events that moved at least one.");
  for (const auto& [key, counts] : sums) {
    if (!counts.has_bytes)
      continue;
    const std::string labels = labels_of(key);
    std::uint64_t until = 0;
    for (std::size_t i = 0; i < counts.sizes.size(); ++i) {
      until += counts.sizes[i];
      const std::string limit = i < kSizeLimits.size() ? fmt::format("{}", kSizeLimits[i]) : "+Inf";
      metrics.put("_bucket", fmt::format(R"({},le="{}")", labels, limit), until);
    }
    metrics.put("_sum", labels, counts.bytes);
    metrics.put("_count", labels, until);
  }
}

void put_operations(Metrics& metrics, const LiveSums& sums) {
  metrics.begin("iotrail_events_total", "counter", "Events in the trace.");
  for (const auto& [key, counts] : sums)
    metrics.put(labels_of(key), counts.events);
  metrics.begin("iotrail_event_errors_total", "counter", "Events with an error as their result.");
  for (const auto& [key, counts] : sums)
    metrics.put(labels_of(key), counts.errors);
  put_sizes(metrics, sums);
}

void put_losses(Metrics& metrics, const store::Manifest& manifest) {
  metrics.begin("iotrail_events_produced_total", "counter",
                "Events that arose, whether or not they are in the trace yet.");
  for (const store::SourceTally& source : manifest.sources)
    metrics.put(fmt::format(R"(source="{}")", source.name), source.produced);
  metrics.begin("iotrail_events_lost_total", "counter", "Events that the trace lacks.");
  for (const store::SourceTally& source : manifest.sources)
    metrics.put(fmt::format(R"(source="{}")", source.name), source.lost);
  metrics.begin("iotrail_imperfections_total", "counter",
                "Losses, gaps and other imperfections by counter: docs/events.md.");
  for (const auto& [counter, value] : manifest.counters)
    metrics.put(fmt::format(R"(counter="{}")", counter), value);
}

void put_recorder(Metrics& metrics, const store::Manifest& manifest, std::uint64_t now_ns) {
  const std::uint64_t until_ns = manifest.end_ns != 0 ? manifest.end_ns : now_ns;
  metrics.begin("iotrail_recording_seconds", "gauge", "Length of the recording so far.");
  metrics.put("",
              static_cast<double>(until_ns - std::min(until_ns, manifest.begin_ns)) / kNsPerSecond);
  metrics.begin("iotrail_recording_is_running", "gauge", "1 until the recording ends.");
  metrics.put("", manifest.end_ns == 0 ? 1 : 0);
  metrics.begin("iotrail_recorder_cpu_seconds_total", "counter", "CPU time of the recorder.");
  metrics.put("", static_cast<double>(manifest.recorder_cpu_ns) / kNsPerSecond);
  metrics.begin("iotrail_recorder_memory_bytes", "gauge",
                "Peak memory of the recorder without its rings.");
  metrics.put("", manifest.recorder_memory_bytes);
  metrics.begin("iotrail_ring_memory_bytes", "gauge", "Memory of the rings.");
  metrics.put("", manifest.ring_memory_bytes);
}

} // namespace

std::string metrics_text(const LiveSums& sums, const store::Manifest& manifest,
                         std::uint64_t now_ns) {
  Metrics metrics;
  put_operations(metrics, sums);
  put_losses(metrics, manifest);
  put_recorder(metrics, manifest, now_ns);
  return metrics.take();
}

} // namespace iotrail::serve
