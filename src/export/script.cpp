// SPDX-License-Identifier: BSD-3-Clause
#include "export/script.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "export/field_text.hpp"
#include "text/sink.hpp"
#include "text/units.hpp"

namespace iotrail::output {

// The time of day; if it is unknown, seconds since the first event.
static std::string time_text(const store::TraceReader& trace, std::uint64_t ts_ns) {
  const store::Manifest& manifest = trace.manifest();
  if (trace.damage().manifest)
    return fmt::format("{:18.9f}",
                       static_cast<double>(ts_ns - std::min(ts_ns, manifest.begin_ns)) / 1e9);
  return clock_time(static_cast<std::int64_t>(ts_ns) + manifest.monotonic_to_real_ns);
}

Result<std::uint64_t> write_script(const store::TraceReader& trace, std::FILE* file,
                                   const std::vector<iot_u16>& kinds,
                                   const ScriptSelection& selection) {
  const analysis::TraceDictionaries dictionaries = analysis::TraceDictionaries::load(trace);
  const auto filter = ScriptFilter::make(trace, dictionaries, selection);
  if (!filter)
    return std::unexpected(filter.error());
  Sink sink(file);
  std::uint64_t lines = 0;
  store::EventStream events(trace, kinds);
  while (!sink.is_broken() && events.next()) {
    if (!selection.is_all() && !filter->selects(events))
      continue;
    sink.print("{} {}\n", time_text(trace, events.time_ns()), event_text(events, dictionaries));
    ++lines;
  }
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return lines;
}

} // namespace iotrail::output
