// SPDX-License-Identifier: BSD-3-Clause
#include "report/trail_sections.hpp"

#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr SectionColumn kCauseColumns[] = {
    {.title = "device", .name = "device_name", .when = When::changed, .rank = 2},
    {.title = "", .name = "direction"},
    {.title = "bytes", .name = "bytes", .show = Show::bytes},
    {.title = "why", .name = "cause"},
    {.title = "call", .name = "what"},
    {.title = "calls", .name = "operations", .show = Show::count_or_dash, .rank = 3},
    {.title = "delay", .name = "delay_ns", .show = Show::duration, .when = When::known, .rank = 4},
    {.title = "process", .name = "process", .rank = 1},
    {.title = "file", .name = "path", .fit = Fit::middle},
};
constexpr std::string_view kCausesSql = R"(
WITH
  shown AS MATERIALIZED (SELECT * FROM device_causes),
  sums AS (
    SELECT count(*) AS all_rows, total(bytes) AS all_bytes, total(exact_bytes) AS all_exact,
           total(CASE is_remainder WHEN 0 THEN bytes ELSE 0 END) AS all_attributed
    FROM shown
  ),
  names AS (SELECT comm, min(pid) <> max(pid) AS has_several FROM shown WHERE pid <> 0 GROUP BY comm)
SELECT c.*, c.call AS what, a.all_rows AS all_rows, a.all_bytes AS all_bytes, a.all_exact AS all_exact,
       a.all_attributed AS all_attributed,
       CASE WHEN c.pid = 0 THEN NULL WHEN coalesce(c.comm, '') = '' THEN CAST(c.pid AS VARCHAR)
            WHEN n.has_several THEN c.comm || '[' || c.pid || ']' ELSE c.comm END AS process
FROM shown AS c CROSS JOIN sums AS a LEFT JOIN names AS n ON c.comm = n.comm)";

void note_causes(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                 std::size_t width) {
  const auto all = static_cast<double>(rows.number(0, "all_bytes"));
  if (all == 0)
    return;
  const std::uint64_t attributed = rows.number(0, "all_attributed");
  const std::uint64_t others = rows.number(0, "all_rows") - rows.size();
  print_wrapped(
      fmt::format("{} of {} that the devices completed have a cause{}{}; what the words mean: "
                  "iotrail query TRACE \"FROM causes\"",
                  human_share(static_cast<double>(attributed) / all),
                  human_bytes(rows.number(0, "all_bytes")),
                  rows.number(0, "all_exact") < attributed ? ", not all beyond doubt" : "",
                  others ? fmt::format("; {} smaller ones are not shown", human_count(others))
                         : ""),
      sink, width);
}

constexpr SectionColumn kConservationColumns[] = {
    {.title = "device", .name = "device_name", .when = When::changed},
    {.title = "", .name = "direction"},
    {.title = "completed", .name = "completed", .show = Show::bytes},
    {.title = "with a cause", .name = "attributed", .show = Show::bytes_or_dash},
    {.title = "share", .name = "share", .show = Show::share},
    {.title = "beyond doubt", .name = "exact", .show = Show::bytes_or_dash, .rank = 1},
    {.title = "remainder", .name = "remainder", .show = Show::bytes_or_dash},
    {.title = "missing", .name = "missing", .show = Show::count, .when = When::known},
    {.title = "under way", .name = "waiting", .show = Show::bytes, .when = When::known, .rank = 2},
};
constexpr std::string_view kConservationSql = R"(
SELECT *, nullif(differs, 0) AS missing, nullif(under_way, 0) AS waiting FROM conservation)";

constexpr SectionColumn kRemainderColumns[] = {
    {.title = "device", .name = "device_name", .when = When::changed},
    {.title = "", .name = "direction"},
    {.title = "bytes", .name = "bytes", .show = Show::bytes},
    {.title = "why", .name = "cause"},
    {.title = "that is", .name = "meaning", .fit = Fit::wrap},
};
constexpr std::string_view kRemaindersSql = R"(
SELECT d.device_name AS device_name, d.direction AS direction, d.cause AS cause, c.meaning AS meaning,
       total(d.bytes) AS bytes
FROM device_causes AS d JOIN causes AS c ON d.cause = c.cause
WHERE d.is_remainder = 1
GROUP BY d.device_name, d.direction, d.cause, c.meaning)";

constexpr SectionColumn kFateColumns[] = {
    {.title = "written", .name = "written", .show = Show::bytes},
    {.title = "to device", .name = "to_device", .show = Show::bytes_or_dash},
    {.title = "overwritten", .name = "absorbed", .show = Show::bytes_or_dash},
    {.title = "dropped", .name = "dropped", .show = Show::bytes_or_dash},
    {.title = "in the cache", .name = "pending", .show = Show::bytes_or_dash},
    {.title = "process", .name = "process", .rank = 1},
    {.title = "inodes", .name = "many_inodes", .show = Show::count, .when = When::known, .rank = 2},
    {.title = "file", .name = "path", .fit = Fit::middle},
};
// A path that several inodes had one after the other, as of a database's journal, is one row.
constexpr std::string_view kFatesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT pid, path, count(*) AS inodes, total(written) AS written, total(to_device) AS to_device, total(absorbed) AS absorbed,
           total(dropped) AS dropped, total(pending) AS pending
    FROM write_fates GROUP BY pid, path
  ),
  sums AS (SELECT count(*) AS all_rows, max(inodes) AS most_inodes FROM shown)
SELECT f.*, CASE WHEN coalesce(p.comm, '') = '' THEN CAST(f.pid AS VARCHAR) ELSE p.comm || '[' || f.pid || ']' END AS process,
       CASE WHEN a.most_inodes > 1 THEN f.inodes END AS many_inodes, a.all_rows AS all_rows
FROM shown AS f CROSS JOIN sums AS a LEFT JOIN programs AS p ON f.pid = p.program_pid)";

void note_fates(const SmallResult& rows, const store::TraceReader&, Sink& sink, std::size_t width) {
  if (const std::uint64_t all = rows.number(0, "all_rows"); all > rows.size())
    print_wrapped(fmt::format("{} of {} rows; all: iotrail query TRACE \"FROM write_fates\"",
                              human_count(rows.size()), human_count(all)),
                  sink, width);
}

constexpr SectionColumn kBalanceColumns[] = {
    {.title = "", .name = "direction", .when = When::changed}, {.title = "", .name = "sign"},
    {.title = "bytes", .name = "bytes", .show = Show::count},  {.title = "", .name = "part"},
    {.title = "that is", .name = "meaning", .fit = Fit::wrap},
};
constexpr std::string_view kBalanceSql = R"(
WITH
  parts AS (
    SELECT direction, step, part, sum(bytes) AS bytes FROM byte_balance GROUP BY direction, step, part
  ),
  rows AS (
    SELECT p.direction AS direction, p.step AS step, p.part AS part, p.bytes AS bytes, b.meaning AS meaning,
           CASE WHEN p.bytes < 0 THEN '-' WHEN p.step > 1 THEN '+' ELSE '' END AS sign
    FROM parts AS p JOIN balance_parts AS b ON p.direction = b.direction AND p.step = b.step
    UNION ALL
    SELECT direction, 99 AS step, 'completed' AS part, sum(bytes) AS bytes, 'by the devices' AS meaning, '=' AS sign
    FROM parts GROUP BY direction
  )
SELECT direction, step, part, meaning, sign, CAST(least(abs(bytes), 18446744073709551615) AS UBIGINT) AS bytes
FROM rows
 WHERE bytes <> 0 OR step = 99)";

constexpr SectionColumn kWriteBackColumns[] = {
    {.title = "bytes", .name = "bytes", .show = Show::bytes},
    {.title = "share", .name = "share", .show = Show::share},
    {.title = "set off by", .name = "what"},
    {.title = "process", .name = "process"},
    {.title = "dirty for", .name = "mean_delay_ns", .show = Show::duration},
    {.title = "at most", .name = "longest_delay_ns", .show = Show::duration, .rank = 1},
    {.title = "that is", .name = "meaning", .when = When::known, .fit = Fit::wrap},
};
constexpr std::string_view kWriteBacksSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT coalesce(call, set_off_by) AS what, set_off_by,
           CASE WHEN pid IS NULL THEN NULL ELSE coalesce(nullif(comm, ''), CAST(pid AS VARCHAR)) END AS process,
           total(bytes) AS bytes,
           CASE WHEN bool_or(mean_delay_ns IS NOT NULL) -- least() passes NULL over
             THEN CAST(least(sum(CAST(mean_delay_ns AS HUGEINT) * bios)
                             / nullif(sum(CASE WHEN mean_delay_ns IS NULL THEN 0 ELSE bios END), 0), 9.2e18) AS BIGINT) END AS mean_delay_ns,
           max(longest_delay_ns) AS longest_delay_ns
    FROM write_backs
    GROUP BY ALL
  ),
  sums AS (SELECT total(bytes) AS all_bytes FROM shown)
SELECT w.*, w.bytes / nullif(all_bytes, 0) AS share, CASE WHEN w.what <> w.set_off_by OR w.what = 'call' THEN NULL ELSE r.meaning END AS meaning
FROM shown AS w JOIN writeback_reasons AS r ON w.set_off_by = r.set_off_by CROSS JOIN sums)";

constexpr SectionColumn kReadAheadColumns[] = {
    {.title = "read ahead", .name = "ahead", .show = Show::bytes},
    {.title = "used", .name = "used_share", .show = Show::share},
    {.title = "unused", .name = "unused", .show = Show::bytes_or_dash},
    {.title = "late", .name = "late_bytes", .show = Show::bytes, .when = When::known},
    {.title = "waited", .name = "waited_ns", .show = Show::duration, .when = When::known},
    {.title = "asked for", .name = "asked", .show = Show::bytes_or_dash, .rank = 1},
    {.title = "file", .name = "path", .fit = Fit::middle},
};
constexpr std::string_view kReadAheadSql = R"(
WITH shown AS MATERIALIZED (SELECT * FROM read_ahead WHERE ahead >= 65536), sums AS (SELECT count(*) AS all_rows FROM shown)
SELECT r.* EXCLUDE (path), coalesce(nullif(r.path, ''), '(no known name)') AS path, r.used / r.ahead AS used_share,
       nullif(r.late, 0) AS late_bytes, nullif(r.late_ns, 0) AS waited_ns, a.all_rows AS all_rows
FROM shown AS r CROSS JOIN sums AS a)";

void note_read_ahead(const SmallResult& rows, const store::TraceReader&, Sink& sink,
                     std::size_t width) {
  bool is_late = false;
  for (std::size_t row = 0; row < rows.size(); ++row)
    is_late |= !rows.is_null(row, "late_bytes");
  const std::uint64_t all = rows.number(0, "all_rows");
  print_wrapped(fmt::format("{}unused: not read in the recording; loads from mapped memory are not "
                            "seen{}",
                            all > rows.size() ? fmt::format("{} more files are not shown; ",
                                                            human_count(all - rows.size()))
                                              : "",
                            is_late ? "; late: not there yet when the call that wanted them began, "
                                      "which waited for them"
                                    : ""),
                sink, width);
}

constexpr SectionColumn kSourceColumns[] = {
    {.title = "source", .name = "source"},
    {.title = "produced", .name = "produced", .show = Show::count},
    {.title = "written", .name = "written", .show = Show::count},
    {.title = "lost", .name = "lost", .show = Show::count_or_dash},
};

constexpr Section balance() {
  return {.name = "byte_balance",
          .title = "From the calls to the devices, byte by byte, in the whole trace",
          .view = "byte_balance",
          .sql = kBalanceSql,
          .order = "direction DESC, step",
          .columns = kBalanceColumns};
}

constexpr SectionColumn kStepColumns[] = {
    {.title = "of", .name = "above", .when = When::changed},
    {.title = "operation", .name = "class"},
    {.title = "count", .name = "operations", .show = Show::count_or_dash},
    {.title = "went on", .name = "went_on", .show = Show::count_or_dash},
    {.title = "to", .name = "below"},
    {.title = "as", .name = "operations_below", .show = Show::count},
};
constexpr std::string_view kStepsSql = R"(
SELECT s.above AS above, s.below AS below, s.operations AS operations, s.went_on AS went_on, s.operations_below AS operations_below,
       coalesce(s.class, 'none of these') AS class, CASE WHEN s.class IS NULL THEN 1 ELSE 0 END AS is_rest,
       a.depth AS above_depth, b.depth AS below_depth
FROM layer_steps AS s JOIN layer_list AS a ON s.above = a.layer JOIN layer_list AS b ON s.below = b.layer
WHERE s.operations_below > 0)";

constexpr Section kVerification[] = {
    {.name = "sources",
     .title = "Events",
     .view = "sources",
     .if_empty = "not counted: the trace has no end",
     .sql = "SELECT * FROM sources",
     .order = "source",
     .columns = kSourceColumns},
    {.name = "layer_steps",
     .title = "Operations, from layer to layer",
     .view = "layer_steps",
     .sql = kStepsSql,
     .order = "above_depth, below_depth, is_rest, operations DESC, class",
     .columns = kStepColumns},
    {.name = "conservation",
     .title = "Bytes that devices completed",
     .view = "conservation",
     .if_empty = "none: no request of a device is in the trace",
     .sql = kConservationSql,
     .order = "completed DESC, device_name, direction",
     .columns = kConservationColumns},
    {.name = "remainders",
     .title = "Remainders: nobody in the trace is known to have caused these",
     .view = "device_causes",
     .sql = kRemaindersSql,
     .order = "bytes DESC, device_name, direction, cause",
     .columns = kRemainderColumns},
    balance(),
    {.name = "fates",
     .title = "What became of bytes written into the page cache",
     .view = "write_fates",
     .sql = kFatesSql,
     .order = "written DESC, path, process",
     .rows = 10,
     .columns = kFateColumns,
     .add_notes = note_fates},
};

} // namespace

Section causes_section() {
  return {.name = "device_causes",
          .title = "Who caused what the devices did",
          .view = "device_causes",
          .sql = kCausesSql,
          .order = "bytes DESC, device_name, direction, cause, what, path",
          .order_words = "bytes",
          .rows = 8,
          .columns = kCauseColumns,
          .add_notes = note_causes};
}

Section write_backs_section() {
  return {.name = "write_backs",
          .title = "What set off the writing back of dirty pages",
          .view = "write_backs",
          .sql = kWriteBacksSql,
          .order = "bytes DESC, what, process",
          .rows = 6,
          .columns = kWriteBackColumns};
}

Section read_ahead_section() {
  return {.name = "read_ahead",
          .title = "Read-ahead, of files of which 64 KiB or more were",
          .view = "read_ahead",
          .sql = kReadAheadSql,
          .order = "ahead DESC, path",
          .order_words = "bytes",
          .rows = 6,
          .columns = kReadAheadColumns,
          .add_notes = note_read_ahead};
}

Section balance_section() {
  return balance();
}

std::span<const Section> verification() {
  return kVerification;
}

} // namespace iotrail::output
