// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "export/model/block_actions.hpp"
#include "export/trace_format.hpp"
#include "export/trace_rows.hpp"

namespace iotrail::output {
namespace {

constexpr std::uint64_t kMostCpus = 8192; // of Linux

// The events of one device on one processor are a file. Readers expect no gap: a processor without
// events has a file, too.
struct BlktraceFile {
  std::uint64_t device;
  std::uint64_t cpu;
  std::string name; // "sda.blktrace.0"
};

constexpr std::string_view kBlktraceFilesSql = R"(
SELECT a.device, a.cpu, coalesce(d.name, 'device_' || a.device) AS name FROM (SELECT DISTINCT
device, cpu FROM block_actions WHERE device <> 0) AS a LEFT JOIN (SELECT device, min(name) AS
name FROM devices GROUP BY device) AS d ON a.device = d.device ORDER BY ALL)";
constexpr std::string_view kBlktraceProcessesSql =
    "SELECT DISTINCT tid, comm FROM block_actions WHERE comm IS NOT NULL AND tid <> 0 ORDER BY ALL";

// A name becomes part of a file's name.
std::string blktrace_device(std::string_view name) {
  std::string safe(name.substr(0, 64));
  std::ranges::replace_if(
      safe, [](unsigned char c) { return c <= ' ' || c >= 0x7f || c == '/'; }, '_');
  return safe;
}

void put_blktrace_record(Sink& sink, const blk_io_trace& record) {
  sink.put(std::string_view(reinterpret_cast<const char*>(&record), sizeof record));
}

// The names of tasks, which blkparse shows behind each event.
Result<std::string> blktrace_processes(const TraceInput& input, const Sink& sink) {
  std::string records;
  Sink out(records);
  auto done = for_each_row(input.engine, kBlktraceProcessesSql, sink, [&](const TraceRow& row) {
    constexpr std::size_t kNameBytes = 16; // of a task, with the zero at its end
    std::string name(row.text(1).substr(0, kNameBytes - 1));
    name.resize(kNameBytes);
    put_blktrace_record(out, {.magic = BLK_IO_TRACE_MAGIC | BLK_IO_TRACE_VERSION,
                              .sequence = 0,
                              .time = 0,
                              .sector = 0,
                              .bytes = 0,
                              .action = BLK_TN_PROCESS,
                              .pid = static_cast<std::uint32_t>(row.number(0)),
                              .device = 0,
                              .cpu = 0,
                              .error = 0,
                              .pdu_len = kNameBytes});
    out.put(name);
  });
  if (!done)
    return std::unexpected(done.error());
  if (auto finished = out.finish(); !finished)
    return std::unexpected(finished.error());
  return records;
}

Result<void> write_blktrace_file(const TraceInput& input, const BlktraceFile& file,
                                 const std::string& processes, std::FILE* stream) {
  Sink sink(stream);
  if (file.cpu == 0)
    sink.put(processes);
  auto done =
      for_each_block_action(input, sink, file.device, file.cpu, [&](const BlockAction& action) {
        blk_io_trace record = action.record;
        record.pdu_len = action.letter == 'U' ? sizeof action.requests : 0;
        put_blktrace_record(sink, record);
        for (int shift = 56; action.letter == 'U' && shift >= 0;
             shift -= 8) // the first byte is the highest
          sink.put(static_cast<char>(action.requests >> static_cast<unsigned>(shift)));
      });
  return done ? sink.finish() : done;
}

Result<void> write_blktrace(const TraceInput& input, const OutputDirectory& directory) {
  std::string none;
  const Sink sink(none);
  std::vector<BlktraceFile> files;
  auto done = for_each_row(input.engine, kBlktraceFilesSql, sink, [&](const TraceRow& row) {
    const bool is_new = files.empty() || files.back().device != row.number(0);
    const std::uint64_t last = row.number(1);
    std::uint64_t cpu = is_new ? 0 : files.back().cpu + 1;
    for (cpu = last < kMostCpus ? cpu : last; cpu <= last; ++cpu)
      files.push_back({.device = row.number(0),
                       .cpu = cpu,
                       .name = fmt::format("{}.blktrace.{}", blktrace_device(row.text(2)), cpu)});
  });
  if (!done)
    return done;
  const auto processes = blktrace_processes(input, sink);
  if (!processes)
    return std::unexpected(processes.error());
  for (const BlktraceFile& file : files)
    if (auto written = directory.write(file.name,
                                       [&](std::FILE* stream) {
                                         return write_blktrace_file(input, file, *processes,
                                                                    stream);
                                       });
        !written)
      return written;
  return {};
}

} // namespace

extern const TraceFormat kTraceFormatBlktrace = {
    .name = "blktrace",
    .suffix = "blktrace",
    .doc = "events of block devices for blkparse, btt, btreplay, iowatcher and fio",
    .omits = "all layers but the block layer, the causes of its requests, splits and remaps",
    .is_binary = true,
    .write_files = write_blktrace,
};

} // namespace iotrail::output
