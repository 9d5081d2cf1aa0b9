// SPDX-License-Identifier: BSD-3-Clause
//
// The streams of devices and of the page cache: block (ds in the older layout) and cache.
#include <fmt/format.h>

#include "export/iotrc/stream.hpp"

namespace iotrail::output::iotrc {
namespace {

// A request is inserted between its arrival and its issue.
std::string block_rows() {
  return fmt::format(
      "WITH asked AS (SELECT *, minus(ts_ns, queue_ns) AS arrived_ns, choice_text('block', flags) "
      "AS operation, nullif(flags_text('block_hint', CAST(flags & 4294967040 AS UBIGINT)), '0') AS "
      "hints, "
      "row_number() OVER (ORDER BY ts_ns, device, sector) AS request_id FROM block_complete), "
      "timed AS (SELECT a.*, CASE WHEN i.ts_ns >= a.arrived_ns THEN "
      "minus(a.ts_ns, i.ts_ns) END AS inserted_before_ns FROM asked AS a ASOF LEFT JOIN "
      "block_insert AS i ON i.device = a.device AND i.request = a.request AND "
      "i.ts_ns <= a.ts_ns), named AS (SELECT a.*, p.comm AS command, nullif(p.parent_pid, 0) AS "
      "ppid FROM timed AS a {}) "
      "SELECT plus(ts_ns, duration_ns) AS at_ns, * FROM named ORDER BY at_ns, request_id",
      program_join("p", "a.pid", "a.ts_ns"));
}

constexpr std::string_view kFlagsSql = "replace(hints, 'readahead', 'ahead')";
constexpr std::string_view kLatencySql = "format('{:.6f}', duration_ns / 1000000.0)";
constexpr std::string_view kQueueSql = "format('{:.6f}', inserted_before_ns / 1000000.0)";
constexpr std::string_view kDeviceSql = "concat(device >> 20, ':', device & 1048575)";
constexpr std::string_view kCpuSql = "nullif(cpu, 65535)";
constexpr std::string_view kCommandFlagsSql =
    "'REQ_' || replace(upper(replace(replace(hints, 'readahead', 'rahead'), 'failfast_device', "
    "'failfast_dev')), '|', '|REQ_')";
constexpr std::string_view kCodeSql = "'REQ_OP_' || upper(replace(operation, 'driver_', 'drv_'))";

const Column kPid = {"pid", "u32", "", "Process that submitted the request.", "pid"};
const Column kTid = {"tid", "u32", "", "Its thread.", "tid"};
const Column kCommand = {"command", "string", "", "Name of the process.", "command"};
const Column kSector = {"sector", "u64", "", "First sector of 512 bytes, on the whole disk.",
                        "sector"};
const Column kOperation = {"operation", "string", "", "Operation.", "operation"};
const Column kSize = {"size", "u64", "bytes", "Bytes completed.", "bytes"};
const Column kLatency = {"latency_ms", "float", "milliseconds", "From issue to completion.",
                         kLatencySql};
const Column kCpu = {"cpu_id", "u32", "", "Processor of the completion.", kCpuSql};
const Column kParent = {"ppid", "u32", "", "Parent process.", "ppid"};

Stream current_block() {
  return {.name = "block",
          .description = "Completed requests of block devices.",
          .wall_clock = kEventClock,
          .columns = {kTimestamp,
                      kOperation,
                      kPid,
                      kTid,
                      kCommand,
                      kSector,
                      kSize,
                      kLatency,
                      {"device", "string", "", "Disk, major:minor.", kDeviceSql},
                      {"flags", "string", "", "Flags of the request.", kFlagsSql},
                      kCpu,
                      kParent,
                      {"queue_latency_ms", "float", "milliseconds",
                       "From insertion into the scheduler to issue.", kQueueSql},
                      {"command_flags", "string", "", "REQ_* flags.", kCommandFlagsSql},
                      {"operation_code", "string", "", "REQ_OP_* operation.", kCodeSql},
                      {"request_id", "u64", "", "Number of the request, by issue.", "request_id"},
                      kMonoNs},
          .rows = block_rows()};
}

Stream seed_block() {
  Column operation = kOperation;
  operation.description = "Operation and flags.";
  operation.sql = "operation || CASE WHEN hints <> '' THEN '|' || replace(hints, 'readahead', "
                  "'ahead') ELSE '' END";
  return {.name = "ds",
          .description = "Completed requests of block devices.",
          .wall_clock = kEventClock,
          .columns = {kTimestamp,
                      kPid,
                      kCommand,
                      kSector,
                      operation,
                      kSize,
                      kLatency,
                      kTid,
                      kCpu,
                      kParent,
                      {"dev", "string", "", "Disk, major:minor.", kDeviceSql},
                      {"queue_time_ms", "float", "milliseconds",
                       "From insertion into the scheduler to issue.", kQueueSql},
                      {"cmd_flags", "string", "", "REQ_* flags.", kCommandFlagsSql},
                      {"op_code", "string", "", "REQ_OP_* operation.", kCodeSql}},
          .rows = block_rows()};
}

std::string cache_rows() {
  constexpr std::string_view kDropped =
      "CASE WHEN reason IN ('reclaim', 'kswapd') THEN 'EVICT' WHEN reason IN ('truncated', "
      "'deleted') THEN 'INVALIDATE' ELSE 'DROP' END";
  constexpr std::string_view kPart = "SELECT ts_ns, pid, tid, cpu, file, {} AS event_type, {} AS "
                                     "first_page, CAST({} AS UBIGINT) AS pages FROM {}";
  std::string parts = fmt::format(kPart, "'HIT'", "first_page", "pages", "cache_hit");
  const auto add = [&](std::string_view type, std::string_view first, std::string_view pages,
                       std::string_view table) {
    parts += " UNION ALL " + fmt::format(kPart, type, first, pages, table);
  };
  add("'MISS'", "first_page", "pages", "cache_add");
  add("'DIRTY'", "first_page", "pages", "cache_dirty");
  add("'WRITEBACK_START'", "NULL", "greatest(pages, 0)", "cache_writeback");
  add(kDropped, "first_page", "pages", "cache_delete");
  add("'READAHEAD'", "window_index", "window_pages", "cache_readahead");
  parts += " UNION ALL SELECT plus(ts_ns, duration_ns), pid, tid, cpu, file, 'WRITEBACK_END', "
           "NULL, CAST(greatest(pages, 0) AS UBIGINT) FROM "
           "cache_writeback_end WHERE NOT is_unfinished(result)";
  return fmt::format(
      "WITH asked AS ({}) SELECT a.ts_ns AS at_ns, a.*, f.inode AS inode, f.device AS device, "
      "p.comm "
      "AS command FROM asked AS a LEFT JOIN files AS f ON "
      "a.file = f.file AND a.file <> 0 {} ORDER BY a.ts_ns, a.event_type, a.first_page",
      parts, program_join("p", "a.pid", "a.ts_ns"));
}

Stream cache(Era era) {
  const bool is_current = era == Era::current;
  Stream stream{
      .name = "cache",
      .description = "Pages of the page cache: found, added, dirtied, written back, dropped.",
      .wall_clock = kEventClock,
      .columns =
          {kTimestamp,
           {"pid", "u32", "", "Process that was running.", "pid"},
           kCommand,
           {"event_type", "string", "",
            "HIT, MISS, DIRTY, WRITEBACK_START, WRITEBACK_END, EVICT, INVALIDATE, DROP, READAHEAD.",
            "event_type"},
           {"inode", "u64", "", "Inode number.", "nullif(inode, 0)"},
           {is_current ? "page_index" : "index", "u64", "", "First page in the file; empty if 0.",
            "nullif(first_page, 0)"},
           {is_current ? "size_pages" : "size", "u32", "pages",
            "Always empty: the trace has no file size there.", "NULL"},
           kCpu,
           {is_current ? "device_id" : "dev_id", "u32", "",
            "Device of the file system: major << 20 | minor.", "nullif(device, 0)"},
           {"count", "u32", "pages", "Pages.", "pages"}},
      .rows = cache_rows()};
  if (is_current)
    stream.columns.push_back(kMonoNs);
  return stream;
}

} // namespace

void add_device_streams(Era era, const Names&, std::vector<Stream>& all) {
  all.push_back(era == Era::current ? current_block() : seed_block());
  all.push_back(cache(era));
}

} // namespace iotrail::output::iotrc
