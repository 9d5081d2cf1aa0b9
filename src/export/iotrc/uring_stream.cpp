// SPDX-License-Identifier: BSD-3-Clause
//
// The stream io_uring of the older layout: 42 columns.
#include <fmt/format.h>

#include "export/iotrc/stream.hpp"

namespace iotrail::output::iotrc {
namespace {

// An operation is a row of submission and one of completion; a call of io_uring_enter is a row too.
std::string uring_rows(const Names& names) {
  return fmt::format(
      "WITH operations AS (SELECT *, plus(ts_ns, duration_ns) AS end_ns FROM async_operation WHERE "
      "starts_with(call, 'IORING_OP_')), "
      "asked AS (SELECT ts_ns AS at_ns, 'ENTER' AS event_type, op_id, pid, tid, cpu, fd AS "
      "ring_fd, "
      "NULL AS ring, to_submit, min_complete, nullif(flags_text('uring', flags), '0') AS "
      "enter_flags, "
      "NULL AS request, NULL AS user_data, NULL AS call, NULL AS fd, NULL AS bytes_requested, NULL "
      "AS position, NULL AS sqe_flags, result, NULL AS submit_ns, NULL AS complete_ns, "
      "duration_ns, "
      "NULL AS is_async, submissions_left, completions_ready, 0 AS file FROM syscall_uring_enter "
      "UNION ALL SELECT ts_ns, 'SUBMIT', op_id, pid, tid, cpu, NULL, ring, NULL, NULL, NULL, "
      "op_id, user_data, call, fd, bytes_requested, position, nullif(flags_text('sqe', flags), "
      "'0'), NULL, "
      "ts_ns, NULL, NULL, NULL, NULL, NULL, file FROM operations "
      "UNION ALL SELECT end_ns, 'COMPLETE', op_id, pid, tid, NULL, NULL, ring, NULL, NULL, NULL, "
      "op_id, user_data, call, fd, bytes_requested, position, nullif(flags_text('sqe', flags), "
      "'0'), result, "
      "ts_ns, end_ns, duration_ns, "
      "CASE WHEN handed_over_ns <> 0 THEN 1 ELSE 0 END, NULL, NULL, file FROM operations WHERE NOT "
      "is_unfinished(result)) "
      "SELECT a.*, CASE WHEN a.result < 0 AND NOT is_unfinished(a.result) THEN -a.result END AS "
      "errno, {0} AS name, nullif(f.inode, 0) AS inode, f.device AS device, f.file_system AS "
      "file_system, p.comm AS command "
      "FROM asked AS a LEFT JOIN files AS f ON a.file = f.file AND a.file <> 0 {1} ORDER BY "
      "a.at_ns, "
      "a.op_id, a.event_type DESC",
      names.path("nullif(path_at(CAST(a.file AS UINTEGER), a.at_ns), '')"),
      program_join("p", "a.pid", "a.at_ns"));
}

Column empty(std::string_view name, std::string_view type) {
  return {name, type, "", "Always empty: not recorded.", "NULL"};
}
Column value(std::string_view name, std::string_view type, std::string_view sql) {
  return {name, type, "", "", sql};
}

} // namespace

void add_uring_streams(Era era, const Names& names, std::vector<Stream>& all) {
  if (era == Era::current)
    return;
  all.push_back(
      {.name = "io_uring",
       .description = "Operations of io_uring, and calls of io_uring_enter.",
       .wall_clock = kEventClock,
       .columns =
           {kTimestamp,
            {"timestamp_ns", "u64", "nanoseconds", "CLOCK_MONOTONIC.", "at_ns"},
            {"event_type", "string", "", "ENTER, SUBMIT or COMPLETE.", "event_type"},
            value("pid", "u32", "pid"),
            value("tid", "u32", "tid"),
            value("command", "string", "command"),
            value("cpu", "u32", "nullif(cpu, 65535)"),
            value("ring_fd", "u32", "ring_fd"),
            value("ring_ptr", "string", "printf('0x%x', ring)"),
            value("to_submit", "u32", "to_submit"),
            value("min_complete", "u32", "min_complete"),
            value("enter_flags", "string", "replace(enter_flags, 'IORING_ENTER_', '')"),
            {"req_ptr", "string", "", "Number of the operation in the trace, as hexadecimal.",
             "printf('0x%x', request)"},
            value("user_data", "u64", "user_data"),
            value("opcode", "string", "replace(call, 'IORING_OP_', '')"),
            value("fd", "s32", "fd"),
            value("len", "u32", "nullif(bytes_requested, 0)"),
            value("offset", "u64", "CASE WHEN position >= 0 THEN position END"),
            value("sqe_flags", "string", "sqe_flags"),
            empty("ioprio", "u16"),
            empty("buf_index", "u16"),
            empty("personality", "u16"),
            value("result", "s32", "CASE WHEN NOT is_unfinished(result) THEN result END"),
            value("is_error", "u8", "CASE WHEN errno IS NOT NULL THEN 1 END"),
            value("errno", "s32", "errno"),
            value("submit_ts", "u64", "submit_ns"),
            value("complete_ts", "u64", "complete_ns"),
            value("latency_ns", "u64", "duration_ns"),
            empty("worker_pid", "u32"),
            empty("worker_tid", "u32"),
            empty("worker_cpu", "u32"),
            value("is_async", "u8", "is_async"),
            empty("sq_head", "u32"),
            empty("sq_tail", "u32"),
            empty("cq_head", "u32"),
            empty("cq_tail", "u32"),
            value("sq_depth", "u32", "CASE WHEN submissions_left >= 0 THEN submissions_left END"),
            value("cq_depth", "u32", "CASE WHEN completions_ready >= 0 THEN completions_ready END"),
            value("inode", "u64", "inode"),
            value("filename", "string", "name"),
            value("device", "string",
                  "CASE WHEN device <> 0 THEN concat(device >> 20, ':', device & 1048575) END"),
            value("fs_type", "string",
                  "CASE WHEN file_system LIKE 'ext_' THEN 'EXT2/3/4' ELSE "
                  "upper(nullif(file_system, '')) END")},
       .rows = uring_rows(names)});
}

} // namespace iotrail::output::iotrc
