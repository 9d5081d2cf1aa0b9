// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <optional>
#include <string>

#include "import/import_format.hpp"
#include "import/numbers.hpp"

namespace iotrail::import {
namespace {

// "9, 9405841, 0, 4096, 61440, 0": the time of the end in ms, the latency in ns, the direction, the
// size, and where fio logs them the position and the priority.
struct FioLatency {
  std::uint64_t end_ns;
  std::uint64_t duration_ns;
  std::uint64_t direction; // 0 read, 1 write, 2 trim
  std::uint64_t bytes;
  std::optional<std::uint64_t> offset;
};

// fio's clock begins with the job; the first operation may have begun in the first millisecond.
constexpr std::uint64_t kFioBegin_ns = 1'000'000'000'000;

std::optional<FioLatency> fio_latency(std::string_view line) {
  const auto parts = split(line, ',');
  if (parts.size() < 4 || parts.size() > 7)
    return std::nullopt;
  const auto at_ms = to_number<std::uint32_t>(trimmed(parts[0]));
  const auto duration_ns = to_number(trimmed(parts[1]));
  const auto direction = to_number(trimmed(parts[2]));
  const auto bytes = to_number<std::uint32_t>(trimmed(parts[3]));
  if (!at_ms || !duration_ns || !direction || *direction > 2 || !bytes)
    return std::nullopt;
  // The last part is a priority, before which a position may stand.
  const auto offset = parts.size() > 4 ? to_number(trimmed(parts[4])) : std::nullopt;
  return FioLatency{std::uint64_t{*at_ms} * 1'000'000 + kFioBegin_ns, *duration_ns, *direction,
                    *bytes, parts.size() > 5 ? offset : std::nullopt};
}

// fio's logs of bandwidth and of rates have the same columns. Only the file's name says that it is a
// log of latencies.
bool is_fio_latency(std::string_view head, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  return (name.find("_lat.") != std::string_view::npos ||
          name.find("_clat.") != std::string_view::npos) &&
         fio_latency(head.substr(0, head.find('\n')));
}

Result<void> read_fio_latency(std::span<Input> inputs, TraceBuilder& trace) {
  std::uint32_t job = 0;
  for (Input& input : inputs) {
    ++job;
    const std::uint32_t file = trace.file(input.path());
    while (const auto line = input.next_line()) {
      if (trace.is_stopped())
        break;
      const auto latency = fio_latency(*line);
      if (!latency) {
        trace.malformed(input, "no line of a log of latencies");
        continue;
      }
      if (latency->direction == 2) {
        trace.left_out("trims");
        continue;
      }
      EventRow row(latency->direction == 1 ? iot_u16{IOT_KIND_syscall_write}
                                           : iot_u16{IOT_KIND_syscall_read});
      row.set("ts_ns", latency->end_ns - std::min(latency->end_ns, latency->duration_ns))
          .set("op_id", trace.next_op())
          .set("pid", job)
          .set("tid", job)
          .set("duration_ns", latency->duration_ns)
          .set("bytes_requested", latency->bytes)
          .set("result", latency->bytes)
          .set("file", file)
          .set("call", latency->direction == 1 ? IOT_syscall_pwrite64 : IOT_syscall_pread64);
      if (latency->offset && *latency->offset <= INT64_MAX)
        row.set("offset", *latency->offset);
      if (!trace.add(row))
        trace.malformed(input, "its time is impossible");
    }
    if (input.failure() != nullptr)
      return std::unexpected(*input.failure());
  }
  return {};
}

} // namespace

extern const ImportFormat kImportFormatFiolog = {
    .name = "fio-lat",
    .doc = "fio --write_lat_log, --log_offset=1 for positions",
    .lacks = "the file (the log stands for it), results, the process (the job's number), times "
             "finer than a millisecond",
    .recognizes = is_fio_latency,
    .read = read_fio_latency,
};

} // namespace iotrail::import
