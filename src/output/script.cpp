// SPDX-License-Identifier: BSD-3-Clause
#include "output/script.hpp"

#include "output/field_text.hpp"
#include "output/sink.hpp"
#include "output/units.hpp"

namespace iotrail::output {

Result<std::uint64_t> write_script(const store::TraceReader& trace, std::FILE* file,
                                   const std::vector<iot_u16>& kinds) {
  const analysis::TraceDictionaries dictionaries = analysis::TraceDictionaries::load(trace);
  const std::int64_t to_real_ns = trace.manifest().monotonic_to_real_ns;
  Sink sink(file);
  std::uint64_t lines = 0;
  store::EventStream events(trace, kinds);
  while (!sink.is_broken() && events.next()) {
    const auto real_ns = static_cast<std::int64_t>(events.time_ns()) + to_real_ns;
    sink.print("{} {}\n", clock_time(real_ns), event_text(events, dictionaries));
    ++lines;
  }
  if (auto done = sink.finish(); !done)
    return std::unexpected(done.error());
  return lines;
}

} // namespace iotrail::output
