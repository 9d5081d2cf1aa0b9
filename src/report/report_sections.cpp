// SPDX-License-Identifier: BSD-3-Clause
#include "report/report_sections.hpp"

#include <algorithm>
#include <iterator>
#include <vector>

#include "report/async_section.hpp"
#include "report/bytes_section.hpp"
#include "report/call_time_section.hpp"
#include "report/cgroup_section.hpp"
#include "report/device_section.hpp"
#include "report/failed_section.hpp"
#include "report/lock_section.hpp"
#include "report/net_sections.hpp"
#include "report/trail_sections.hpp"
#include "report/wait_section.hpp"
#include "schema.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kDepth = "depth NULLS LAST, layer";

constexpr SectionColumn kTimeColumns[] = {
    {.title = "layer", .name = "layer", .when = When::changed},
    {.title = "operation", .name = "what"},
    {.title = "calls", .name = "operations", .show = Show::count, .is_sum = true},
    {.title = "total", .name = "total_ns", .show = Show::duration, .is_sum = true},
    {.title = "of run", .name = "share", .show = Show::share},
    {.title = "p50", .name = "p50_ns", .show = Show::duration, .rank = 2},
    {.title = "p99", .name = "p99_ns", .show = Show::duration, .rank = 1},
    {.title = "max", .name = "max_ns", .show = Show::duration},
    {.title = "errors",
     .name = "errors",
     .show = Show::count_or_dash,
     .rank = 3,
     .is_alarm = true,
     .is_sum = true},
    {.title = "bytes", .name = "bytes", .show = Show::bytes, .rank = 4, .is_sum = true},
};
constexpr std::string_view kTimeSpentSql = R"(
SELECT t.*, CASE WHEN on_files THEN operation ELSE operation || ' (no file)' END AS what, d.depth AS depth,
       l.busy_ns AS layer_busy_ns, l.share AS layer_share, r.duration_ns AS run_ns,
       count(*) OVER (PARTITION BY t.layer) AS all_rows
FROM time_spent AS t
  JOIN layer_times AS l ON t.layer = l.layer
  LEFT JOIN layer_list AS d ON t.layer = d.layer
  CROSS JOIN run AS r)";

// "5 of 14 operations of syscall, 5 of 6 of block": what was cut off, group by group; empty: nothing was.
std::string cut_groups(const SmallResult& rows) {
  std::string text;
  for (std::size_t row = 0, shown = 0; row < rows.size(); ++row) {
    const std::string layer = rows.text(row, "layer");
    ++shown;
    if (row + 1 < rows.size() && rows.text(row + 1, "layer") == layer)
      continue;
    if (const std::uint64_t all = rows.number(row, "all_rows"); all > shown)
      text += fmt::format("{}{} of {}{} of {}", text.empty() ? "" : ", ", human_count(shown),
                          human_count(all), text.empty() ? " operations" : "", layer);
    shown = 0;
  }
  return text;
}

std::uint64_t largest_group(const SmallResult& rows) {
  std::uint64_t most = 0;
  for (std::size_t row = 0; row < rows.size(); ++row)
    most = std::max(most, rows.number(row, "all_rows"));
  return most;
}

// "5 of 20 operations of syscall; all: add --top 20"; empty: nothing was cut off.
std::string tell_cut(const SmallResult& rows, std::string_view by) {
  const std::string cut = cut_groups(rows);
  return cut.empty() ? cut : fmt::format("{}; all: add {}--top {}", cut, by, largest_group(rows));
}

void note_sizes(const SmallResult& rows, const store::TraceReader&, Sink& sink, std::size_t width) {
  if (const std::string cut = tell_cut(rows, ""); !cut.empty())
    print_wrapped(cut, sink, width);
}

// The rest of the run went into computing, or into waits that are no I/O.
void note_time(const SmallResult& rows, const store::TraceReader& trace, Sink& sink,
               std::size_t width) {
  std::string text = tell_cut(rows, "--by operation ");
  text += fmt::format("{}of run: share of its {} in which at least one{} was going on;",
                      text.empty() ? "" : "; ", human_duration(rows.number(0, "run_ns")),
                      trace.manifest().sample_of == 0 ? "" : " of those in the sample");
  for (std::size_t row = 0; row < rows.size(); ++row)
    if (row == 0 || rows.text(row, "layer") != rows.text(row - 1, "layer"))
      text += fmt::format("{} {} {}: {}", row == 0 ? "" : ",", row == 0 ? "any of" : "of",
                          rows.text(row, "layer"), human_share(rows.real(row, "layer_share")));
  print_wrapped(text, sink, width);
}

// Such transfers are no calls with bytes: without their own layer only the device's columns have them.
void note_asynchronous(const store::TraceReader& trace, Sink& sink, std::size_t width) {
  if ((trace.has_rows(IOT_KIND_syscall_uring_enter) ||
       trace.has_rows(IOT_KIND_syscall_aio_submit)) &&
      !trace.has_rows(IOT_KIND_async_operation))
    print_wrapped("read, written and calls are without what went through io_uring or libaio", sink,
                  width);
}

void note_files(const SmallResult& rows, const store::TraceReader& trace, Sink& sink,
                std::size_t width) {
  note_asynchronous(trace, sink, width);
  note_rest(rows, sink, "files", "file");
}

void note_processes(const SmallResult& rows, const store::TraceReader& trace, Sink& sink,
                    std::size_t width) {
  note_asynchronous(trace, sink, width);
  // Of one alone there is nobody to mix it up with.
  if (rows.size() > 1 && !rows.is_null(0, "device_bytes_read"))
    print_wrapped(
        "dev read, dev write: of who queued it, (kernel) and a sync also what others stored; by "
        "who caused it: `Who caused what the devices did`",
        sink, width);
  note_rest(rows, sink, "processes", "process");
}

constexpr SectionColumn kFileColumns[] = {
    {.title = "dev read",
     .name = "device_bytes_read",
     .show = Show::bytes_or_dash,
     .when = When::known},
    {.title = "dev write",
     .name = "device_bytes_written",
     .show = Show::bytes_or_dash,
     .when = When::known},
    {.title = "read", .name = "bytes_read", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "written", .name = "bytes_written", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "calls",
     .name = "operations",
     .show = Show::count_or_dash,
     .rank = 3,
     .is_sum = true},
    {.title = "syncs", .name = "syncs", .show = Show::count_or_dash, .rank = 5, .is_sum = true},
    {.title = "errors", .name = "errors", .show = Show::count_or_dash, .rank = 6, .is_sum = true},
    {.title = "time", .name = "total_ns", .show = Show::duration, .rank = 4, .is_sum = true},
    {.title = "cached",
     .name = "cache_bytes_added",
     .show = Show::bytes,
     .when = When::known,
     .rank = 8},
    {.title = "dirtied",
     .name = "cache_bytes_dirtied",
     .show = Show::bytes,
     .when = When::known,
     .rank = 7},
    {.title = "inodes", .name = "many_inodes", .show = Show::count, .when = When::known, .rank = 2},
    {.title = "file", .name = "name", .fit = Fit::middle},
};
// The column of inodes is there where a path had several.
constexpr std::string_view kFilesSql = R"(
WITH
  shown AS MATERIALIZED (
    SELECT * FROM top_files
    WHERE kind = 'file' OR device_bytes_read > 0 OR device_bytes_written > 0
       OR cache_bytes_added > 0 OR cache_bytes_dirtied > 0
  ),
  sums AS (SELECT count(*) AS all_rows, max(inodes) AS most_inodes FROM shown)
SELECT f.*, CASE kind WHEN 'file' THEN coalesce(nullif(path, ''), '(no known name)') WHEN 'metadata' THEN '(metadata)'
                      ELSE '(no known file)' END AS name,
       a.all_rows AS all_rows, CASE WHEN a.most_inodes > 1 THEN nullif(f.inodes, 0) END AS many_inodes
FROM shown AS f CROSS JOIN sums AS a)";
constexpr std::string_view kFilesOrder =
    "coalesce(plus(device_bytes_read, device_bytes_written), 0) DESC, plus(bytes_read, "
    "bytes_written) DESC,"
    " plus(coalesce(cache_bytes_added, 0), coalesce(cache_bytes_dirtied, 0)) DESC, total_ns DESC "
    "NULLS "
    "LAST, name";

constexpr SectionColumn kProcessColumns[] = {
    {.title = "pid", .name = "pid", .show = Show::digits},
    {.title = "name", .name = "comm"},
    {.title = "dev read",
     .name = "device_bytes_read",
     .show = Show::bytes_or_dash,
     .when = When::known},
    {.title = "dev write",
     .name = "device_bytes_written",
     .show = Show::bytes_or_dash,
     .when = When::known},
    {.title = "read", .name = "bytes_read", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "written", .name = "bytes_written", .show = Show::bytes_or_dash, .is_sum = true},
    {.title = "time", .name = "total_ns", .show = Show::duration, .is_sum = true},
    {.title = "calls",
     .name = "operations",
     .show = Show::count_or_dash,
     .rank = 2,
     .is_sum = true},
    {.title = "syncs", .name = "syncs", .show = Show::count_or_dash, .rank = 4, .is_sum = true},
    {.title = "threads", .name = "threads", .show = Show::count_or_dash, .rank = 5},
    {.title = "errors", .name = "errors", .show = Show::count_or_dash, .rank = 6, .is_sum = true},
    {.title = "container",
     .name = "container_name",
     .when = When::known,
     .fit = Fit::middle,
     .rank = 1},
    {.title = "command", .name = "command", .fit = Fit::end, .rank = 3},
};
constexpr std::string_view kProcessesSql = R"(
WITH shown AS MATERIALIZED (SELECT * FROM top_processes), sums AS (SELECT count(*) AS all_rows FROM shown)
SELECT p.*, short_container(p.container) AS container_name, a.all_rows AS all_rows FROM shown AS p CROSS JOIN sums AS a)";
constexpr std::string_view kProcessesOrder =
    "coalesce(plus(device_bytes_read, device_bytes_written), 0) DESC, plus(bytes_read, "
    "bytes_written) DESC,"
    " total_ns DESC NULLS LAST, pid";

// Classes as wide as a line has room for; `sizes` has finer ones.
constexpr SectionColumn kSizeColumns[] = {
    {.title = "layer", .name = "layer", .when = When::changed},
    {.title = "operation", .name = "operation"},
    {.title = "0 B",
     .name = "none",
     .show = Show::count_or_dash,
     .when = When::known,
     .rank = 1,
     .is_sum = true},
    {.title = "1 B+", .name = "from_1", .show = Show::count_or_dash, .is_sum = true},
    {.title = "512 B+", .name = "from_512", .show = Show::count_or_dash, .is_sum = true},
    {.title = "4 KiB+", .name = "from_4k", .show = Show::count_or_dash, .is_sum = true},
    {.title = "16 KiB+", .name = "from_16k", .show = Show::count_or_dash, .is_sum = true},
    {.title = "64 KiB+", .name = "from_64k", .show = Show::count_or_dash, .is_sum = true},
    {.title = "256 KiB+", .name = "from_256k", .show = Show::count_or_dash, .is_sum = true},
};
constexpr std::string_view kSizesSql = R"(
SELECT s.layer AS layer, s.operation AS operation, d.depth AS depth,
       CAST(nullif(sum(CASE WHEN from_bytes = 0 THEN operations ELSE 0 END), 0) AS BIGINT) AS none,
       CAST(sum(CASE WHEN from_bytes BETWEEN 1 AND 511 THEN operations ELSE 0 END) AS BIGINT) AS from_1,
       CAST(sum(CASE WHEN from_bytes BETWEEN 512 AND 4095 THEN operations ELSE 0 END) AS BIGINT) AS from_512,
       CAST(sum(CASE WHEN from_bytes BETWEEN 4096 AND 16383 THEN operations ELSE 0 END) AS BIGINT) AS from_4k,
       CAST(sum(CASE WHEN from_bytes BETWEEN 16384 AND 65535 THEN operations ELSE 0 END) AS BIGINT) AS from_16k,
       CAST(sum(CASE WHEN from_bytes BETWEEN 65536 AND 262143 THEN operations ELSE 0 END) AS BIGINT) AS from_64k,
       CAST(sum(CASE WHEN from_bytes >= 262144 THEN operations ELSE 0 END) AS BIGINT) AS from_256k,
       total(operations) AS operations, total(bytes) AS bytes,
       count(*) OVER (PARTITION BY s.layer) AS all_rows
FROM sizes AS s LEFT JOIN layer_list AS d ON s.layer = d.layer
WHERE s.layer IN (SELECT asked_layer FROM asked_layers UNION ALL SELECT layer_at('devices'))
GROUP BY s.layer, s.operation, d.depth)";

constexpr SectionColumn kLayerColumns[] = {
    {.title = "layer", .name = "layer", .when = When::changed},
    {.title = "operation", .name = "operation"},
    {.title = "count", .name = "operations", .show = Show::count, .is_sum = true},
    {.title = "bytes", .name = "bytes", .show = Show::bytes, .is_sum = true},
    {.title = "errors",
     .name = "errors",
     .show = Show::count_or_dash,
     .when = When::known,
     .rank = 2,
     .is_alarm = true,
     .is_sum = true},
    {.title = "unfinished",
     .name = "unfinished",
     .show = Show::count,
     .when = When::known,
     .rank = 4,
     .is_sum = true},
    {.title = "mean", .name = "mean_ns", .show = Show::duration, .rank = 1},
    {.title = "p50", .name = "p50_ns", .show = Show::duration, .rank = 3},
    {.title = "p99", .name = "p99_ns", .show = Show::duration},
    {.title = "max", .name = "max_ns", .show = Show::duration},
};
constexpr std::string_view kLayersSql = R"(
SELECT l.* EXCLUDE (errors, unfinished), nullif(errors, 0) AS errors, nullif(unfinished, 0) AS unfinished,
       d.depth AS depth
FROM layers AS l LEFT JOIN layer_list AS d ON l.layer = d.layer)";

constexpr SectionColumn kSlowestColumns[] = {
    {.title = "layer", .name = "layer", .when = When::changed},
    {.title = "took", .name = "duration_ns", .show = Show::duration},
    {.title = "at second", .name = "at_second", .show = Show::seconds},
    {.title = "call", .name = "what"},
    {.title = "result", .name = "bytes", .show = Show::bytes, .instead = "error_name"},
    {.title = "process", .name = "process", .rank = 1},
    {.title = "file", .name = "path", .fit = Fit::middle},
};
constexpr std::string_view kSlowestSql = R"(
SELECT s.* EXCLUDE (path), d.depth AS depth, CASE WHEN ts_ns > begin_ns THEN (ts_ns - begin_ns) / 1e9 ELSE 0e0 END AS at_second,
       coalesce(nullif(call, ''), operation) AS what, errno_name(error) AS error_name,
       CASE WHEN coalesce(comm, '') = '' THEN CAST(pid AS VARCHAR) ELSE comm || '[' || pid || ']' END AS process, path
FROM slowest AS s
  CROSS JOIN (SELECT CAST(value AS UBIGINT) AS begin_ns FROM manifest WHERE "key" = 'begin_ns') AS start
  LEFT JOIN layer_list AS d ON s.layer = d.layer)";

constexpr Section kFirstPage[] = {
    {.name = "time",
     .title = "Where the time went",
     .view = "time_spent",
     .layer_phrase = ", calls at layer ",
     .if_empty = "no calls were recorded",
     .sql = kTimeSpentSql,
     .order = "busy_ns DESC, operations DESC, what",
     .group = "layer",
     .group_order = kDepth,
     .rows = 5,
     .columns = kTimeColumns,
     .add_notes = note_time},
    {.name = "files",
     .title = "Files",
     .view = "top_files",
     .if_empty = "none",
     .sql = kFilesSql,
     .order = kFilesOrder,
     .order_words = "bytes at the device, then by bytes in calls",
     .rows = 5,
     .columns = kFileColumns,
     .add_notes = note_files},
    {.name = "processes",
     .title = "Processes",
     .view = "top_processes",
     .if_empty = "none: neither calls nor requests of devices were recorded",
     .sql = kProcessesSql,
     .order = kProcessesOrder,
     .order_words = "bytes at the device, then by bytes in calls",
     .rows = 5,
     .columns = kProcessColumns,
     .add_notes = note_processes},
    {.name = "sizes",
     .title = "How large: operations by size",
     .view = "sizes",
     .sql = kSizesSql,
     .order = "bytes DESC, operation",
     .group = "layer",
     .group_order = kDepth,
     .rows = 2,
     .columns = kSizeColumns,
     .add_notes = note_sizes},
};

constexpr Section kFurtherPages[] = {
    {.name = "layers",
     .title = "Operations, layer by layer",
     .view = "layers",
     .if_empty = "none",
     .sql = kLayersSql,
     .order = "operations DESC, operation",
     .group = "layer",
     .group_order = kDepth,
     .columns = kLayerColumns},
    {.name = "slowest",
     .title = "Slowest operations on files",
     .view = "slowest",
     .sql = kSlowestSql,
     .order = "duration_ns DESC, ts_ns",
     .group = "layer",
     .group_order = kDepth,
     .rows = 5,
     .columns = kSlowestColumns},
};

constexpr std::pair<std::string_view, std::string_view> kSubjects[] = {
    {"operation", "time"}, {"file", "files"}, {"process", "processes"}, {"device", "devices"}};

} // namespace

std::span<const Section> first_page() {
  static const std::vector<Section> kPages = [] {
    std::vector<Section> pages(std::begin(kFirstPage), std::end(kFirstPage));
    pages.push_back(failed_section());
    return pages;
  }();
  return kPages;
}

std::span<const Section> further_pages() {
  static const std::vector<Section> kPages = [] {
    // Why calls took so long comes first.
    std::vector<Section> pages = {call_time_section(),  waits_section(),  lock_section(),
                                  device_section(),     causes_section(), write_backs_section(),
                                  read_ahead_section(), async_section(),  cgroup_section(),
                                  server_section(),     tcp_section()};
    std::ranges::copy(kFurtherPages, std::back_inserter(pages));
    const auto slowest = std::ranges::find(pages, "slowest", &Section::name);
    pages.insert(slowest, {bytes_section(), balance_section()});
    return pages;
  }();
  return kPages;
}

const Section* section_by(std::string_view subject) {
  for (const auto& [name, section] : kSubjects)
    for (const std::span<const Section> pages : {first_page(), further_pages()})
      if (const auto found = std::ranges::find(pages, section, &Section::name);
          name == subject && found != pages.end())
        return &*found;
  return nullptr;
}

} // namespace iotrail::output
