// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/threshold_options.hpp"

#include <algorithm>

#include "cli/options/parse_units.hpp"
#include "schema.hpp"

namespace iotrail::cli {
namespace {

bool records_calls(const capture::Filter& filter) {
  return std::ranges::any_of(schema::kEvents, [&](const schema::Event& event) {
    return event.layer == schema::Layer::syscall && filter.records(event);
  });
}

bool records_kernel(const capture::Filter& filter) {
  return std::ranges::any_of(filter.layers, [](schema::Layer layer) {
    return schema::source_of(layer) == IOT_source_kernel;
  });
}

} // namespace

void declare_thresholds(CLI::App& app, ThresholdOptions& options) {
  app.option_defaults()->group("Operations to record");
  app.add_option("--min-latency", options.latency,
                 "Only operations that took at least this long (1ms), with their effects")
      ->type_name("TIME");
  app.add_option("--min-size", options.size,
                 "Only operations that moved at least this many bytes (64K), with their effects; "
                 "with --min-latency, both conditions apply")
      ->type_name("SIZE");
}

Result<void> select_thresholds(const ThresholdOptions& options, capture::Filter& filter) {
  const auto latency_ns = parse_duration("--min-latency", options.latency.value_or(""));
  if (!latency_ns)
    return std::unexpected(latency_ns.error());
  const auto bytes = parse_size("--min-size", options.size.value_or(""));
  if (!bytes)
    return std::unexpected(bytes.error());
  filter.thresholds = {.latency_ns = *latency_ns, .bytes = *bytes};
  if (filter.thresholds.is_set() && records_kernel(filter) && !records_calls(filter))
    return fail_usage(fmt::format("{} needs the layer syscall",
                                  *latency_ns != 0 ? "--min-latency" : "--min-size"),
                      "it is the calls that tell how much was done",
                      "Add `syscall` to --layers, or the calls that count to --events.");
  return {};
}

std::vector<std::string> filters_text(const ThresholdOptions& options) {
  std::vector<std::string> words;
  if (options.latency)
    words.push_back("--min-latency " + *options.latency);
  if (options.size)
    words.push_back("--min-size " + *options.size);
  return words;
}

} // namespace iotrail::cli
