// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/explain_parts.hpp"

#include <algorithm>
#include <unordered_map>

#include <fmt/format.h>

#include "report/explain/explain_later.hpp"
#include "schema.hpp"

namespace iotrail::output {

namespace {

std::string ids_of(const std::vector<Operation>& operations) {
  std::string ids;
  for (const Operation& operation : operations)
    ids += fmt::format("{}{}", ids.empty() ? "" : ", ", operation.id);
  return ids;
}

// The device I/O of the operations, and of the system calls inside library calls.
std::string wanted_sql(const std::string& ids, bool has_library) {
  std::string own = fmt::format(
      "SELECT DISTINCT op AS of_op, op FROM (SELECT unnest([{}]::UBIGINT[]) AS op)", ids);
  if (!has_library)
    return own;
  return fmt::format("{} UNION SELECT app_op AS of_op, syscall_op AS op FROM app_calls_of_syscalls "
                     "WHERE place = 'inside' AND app_op IN ({})",
                     own, ids);
}

// The numbers that wanted_sql() selects. The engine looks only at listed operations. After a query for
// them, it would first compare all operations of the trace with all I/O of their devices. A longer
// list takes longer to plan than it saves.
Result<std::string> wanted_list(analysis::Engine& engine, const std::string& wanted) {
  constexpr std::size_t kMostListed = 10'000;
  const auto rows = SmallResult::query(engine, wanted);
  if (!rows)
    return std::unexpected(rows.error());
  if (rows->size() > kMostListed)
    return "SELECT op FROM wanted";
  std::string list;
  for (std::size_t row = 0; row < rows->size(); ++row)
    list += fmt::format("{}{}", list.empty() ? "" : ", ", rows->number(row, "op"));
  return list;
}

// Calls row(operation, rows, number) for each row; the query names its operation `of_op`. In a
// forged trace operations may share a number: the first of them has the rows.
template <class Row>
Result<void> visit_rows(analysis::Engine& engine, const std::string& sql,
                        std::vector<Operation>& operations, Row&& row) {
  const auto rows = SmallResult::query(engine, sql);
  if (!rows)
    return std::unexpected(rows.error());
  std::unordered_map<std::uint64_t, Operation*> by_id;
  for (Operation& operation : operations)
    by_id.emplace(operation.id, &operation);
  for (std::size_t number = 0; number < rows->size(); ++number)
    if (const auto found = by_id.find(rows->number(number, "of_op")); found != by_id.end())
      row(*found->second, *rows, number);
  return {};
}

// Spans of the layers below, operations that began in it, and commits that it waited for at others'
// request. At most {3} for each operation, as many as are shown.
constexpr std::string_view kSpansSql = R"(
WITH
  spans AS (
    SELECT CASE WHEN o.op_id IN ({0}) THEN o.op_id ELSE o.parent_op END AS of_op, o.layer AS layer,
           coalesce(o.call, o.class) AS what, o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes,
           errno_name(o.error) AS error, d.depth AS depth
    FROM operations AS o LEFT JOIN layer_list AS d ON o.layer = d.layer
    WHERE (o.op_id IN ({0}) OR o.parent_op IN ({0})) AND o.layer <> layer_at('devices') AND o.event <> 'sched_wait'
    UNION ALL
    SELECT w.of_op, t.layer, 'journal_commit', c.ts_ns, c.duration_ns, NULL, 'for others too', d.depth
    FROM fs_sync AS s JOIN ({2}) AS w ON s.op_id = w.op
      JOIN fs_journal_commit AS c ON s.device = c.device AND s.transaction = c.transaction AND c.op_id <> s.op_id
      JOIN tables AS t ON t.name = 'fs_journal_commit' JOIN layer_list AS d ON t.layer = d.layer
    WHERE c.ts_ns < plus(s.ts_ns, s.duration_ns) AND plus(c.ts_ns, c.duration_ns) > s.ts_ns
  )
SELECT *, row_number() OVER (PARTITION BY of_op ORDER BY ts_ns, depth) AS place, count(*) OVER (PARTITION BY of_op) AS parts
FROM spans
QUALIFY place <= {3}
ORDER BY place)";

void count_left_out(Operation& operation, const SmallResult& rows, std::size_t row) {
  if (rows.number(row, "place") == kPartsShown)
    operation.parts_left_out += rows.number(row, "parts") - kPartsShown;
}

void add_span(Operation& operation, const SmallResult& rows, std::size_t row) {
  const std::uint64_t begin_ns = rows.number(row, "ts_ns");
  const Span span{begin_ns, begin_ns + rows.number(row, "duration_ns")};
  operation.parts.push_back({rows.text(row, "layer"),
                             rows.text(row, "what"),
                             {},
                             {span},
                             rows.value(row, "bytes"),
                             rows.text(row, "error")});
  count_left_out(operation, rows, row);
}

// The system calls in calls into the C library, likewise. In a forged trace, thousands of either
// may share one number: each pair of numbers counts once.
constexpr std::string_view kCallsInsideSql = R"(
WITH
  pairs AS (SELECT DISTINCT app_op, syscall_op FROM app_calls_of_syscalls WHERE app_op IN ({0})),
  calls AS (
    SELECT p.app_op AS of_op, o.layer AS layer, coalesce(o.call, o.class) AS what, o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, op_text(o.op_id) AS name
    FROM pairs AS p JOIN operations AS o ON p.syscall_op = o.op_id AND o.layer = layer_at('kernel')
  )
SELECT *, row_number() OVER (PARTITION BY of_op ORDER BY ts_ns) AS place, count(*) OVER (PARTITION BY of_op) AS parts
FROM calls
QUALIFY place <= {3}
ORDER BY place)";

void add_call_inside(Operation& operation, const SmallResult& rows, std::size_t row) {
  const std::uint64_t begin_ns = rows.number(row, "ts_ns");
  const Span span{begin_ns, begin_ns + rows.number(row, "duration_ns")};
  operation.parts.push_back({.layer = rows.text(row, "layer"),
                             .what = rows.text(row, "what"),
                             .spans = {span},
                             .note = rows.text(row, "name")});
  count_left_out(operation, rows, row);
}

// The innermost call into the C library around a system call.
constexpr std::string_view kCallAroundSql = R"(
SELECT c.op_id AS of_op, argMax(a.call, a.ts_ns) AS call, op_text(argMax(a.op_id, a.ts_ns)) AS name
FROM (SELECT DISTINCT ON (op_id) * FROM operations WHERE op_id IN ({0}) AND layer = layer_at('kernel') ORDER BY op_id, ts_ns) AS c
  JOIN events AS a ON c.pid = a.pid AND c.tid = a.tid AND a.ts_ns <= c.ts_ns AND plus(c.ts_ns, c.duration_ns) <= plus(a.ts_ns, a.duration_ns)
WHERE a.layer = layer_at('library')
GROUP BY c.op_id)";

void add_call_around(Operation& operation, const SmallResult& rows, std::size_t row) {
  operation.title.add(", in {library_call} of the C library ({library_op})",
                      {text_value("library_call", rows.text(row, "call")),
                       text_value("library_op", rows.text(row, "name"))});
}

// The devices' work during the operation, whatever its cause. A call that waits for data to reach
// the device also waits for others' write-back: of its file, or of all files.
constexpr std::string_view kRequestsSql = R"(
WITH
  wanted AS ({2}),
  requests AS (
    SELECT w.of_op AS of_op, l.direction, l.cause, l.device, l.issued_ns, l.completed_ns, l.bytes
    FROM all_links AS l JOIN wanted AS w ON l.by_op = w.op
    WHERE l.completed_ns IS NOT NULL
    UNION ALL
    SELECT w.of_op AS of_op, s.direction, s.cause, s.device, s.issued_ns, s.completed_ns, s.bytes
    FROM sync_writes AS s JOIN wanted AS w ON s.op_id = w.op
    WHERE s.by_op NOT IN (SELECT op FROM wanted)
    UNION ALL
    -- Without bytes, as a flush of the disk's own cache: it is in no link.
    SELECT w.of_op AS of_op, e.class AS direction, '' AS cause, c.device, c.ts_ns AS issued_ns,
           plus(c.ts_ns, c.duration_ns) AS completed_ns, 0 AS bytes
    FROM block_complete AS c JOIN wanted AS w ON c.op_id = w.op
      JOIN (SELECT op_id, ts_ns, any_value(class) AS class FROM all_events
            WHERE event = 'block_complete' AND op_id IN (SELECT op FROM wanted)
            GROUP BY op_id, ts_ns) AS e ON c.op_id = e.op_id AND c.ts_ns = e.ts_ns
    WHERE c.bytes = 0
  )
SELECT r.of_op AS of_op, r.direction AS direction, r.cause AS cause, coalesce(any_value(y.words), '') AS words, coalesce(any_value(d.name), 'device') AS device,
       r.issued_ns AS issued_ns, r.completed_ns AS completed_ns, total(r.bytes) AS bytes
FROM requests AS r LEFT JOIN devices AS d ON r.device = d.device LEFT JOIN causes AS y ON r.cause = y.cause
GROUP BY r.of_op, r.direction, r.cause, r.device, r.issued_ns, r.completed_ns
ORDER BY r.of_op, r.device, r.direction, r.cause, issued_ns)";

// Rows are ordered by device, direction and cause.
void add_request(Operation& operation, const SmallResult& rows, std::size_t row) {
  const Span device{rows.number(row, "issued_ns"), rows.number(row, "completed_ns")};
  const std::string layer = rows.text(row, "device");
  const std::string cause = rows.text(row, "cause");
  const std::string direction = rows.text(row, "direction");
  const std::string words = rows.text(row, "words");
  const std::string what =
      cause.empty() || cause == direction ? direction : direction + " " + cause;
  if (operation.parts.empty() || operation.parts.back().layer != layer ||
      operation.parts.back().what != what)
    operation.parts.push_back({.layer = layer,
                               .what = what,
                               .words = words.empty() || cause == direction
                                            ? direction
                                            : fmt::format("{}, {}", direction, words),
                               .bytes = std::uint64_t{0}});
  Part& part = operation.parts.back();
  part.spans.push_back(device);
  part.bytes = number_of(part.bytes) + rows.number(row, "bytes");
  ++part.requests;
}

// Times at which its task did not run: blocked, or waiting for a CPU that others had.
constexpr std::string_view kWaitsSql = R"(
WITH
  waits AS (SELECT CASE WHEN op_id IN ({0}) THEN op_id ELSE parent_op END AS of_op, ts_ns, duration_ns, blocked_ns,
                   runnable_ns, reason, coalesce(waited_in, '') AS waited_in
            FROM all_waits WHERE op_id IN ({0}) OR parent_op IN ({0})),
  spans AS (
    SELECT of_op, ts_ns AS begin_ns, plus(ts_ns, blocked_ns) AS end_ns, reason, waited_in FROM waits WHERE reason IS NOT NULL
    UNION ALL
    SELECT of_op, plus(ts_ns, blocked_ns) AS begin_ns, plus(ts_ns, duration_ns) AS end_ns, 'cpu' AS reason, '' AS waited_in
    FROM waits WHERE runnable_ns > 0
  )
SELECT s.*, k.noun AS words
FROM spans AS s LEFT JOIN time_kinds AS k ON kind_of_time('wait', s.reason) = k.kind
ORDER BY of_op, reason, waited_in, begin_ns)";

// Rows are ordered by reason, then by the waiting function.
void add_wait(Operation& operation, const SmallResult& rows, std::size_t row) {
  const Span span{rows.number(row, "begin_ns"), rows.number(row, "end_ns")};
  const std::string reason = rows.text(row, "reason");
  const std::string waited_in = rows.text(row, "waited_in");
  const auto is_of = [&](const Part& part) {
    return part.layer == "wait" && part.what == reason && part.note == waited_in;
  };
  if (operation.parts.empty() || !is_of(operation.parts.back()))
    operation.parts.push_back(
        {.layer = "wait", .what = reason, .words = rows.text(row, "words"), .note = waited_in});
  operation.parts.back().spans.push_back(span);
}

// Its time by part. If it is no call into the C library, the query does not read those calls.
constexpr std::string_view kTimeSql = R"(
SELECT t.op_id AS of_op, k.words AS words, total(t.ns) AS ns,
       coalesce('FUSE daemon ' || any_value(o.daemon), p.words, CASE WHEN t.reason <> 'cpu' AND NOT contains(coalesce(k.noun, ''), replace(t.reason, '_', '-')) THEN t.reason END) AS detail
FROM {1} AS t JOIN time_parts AS p ON t.step = p.step
  JOIN time_kinds AS k ON kind_of_time(p.part, t.reason) = k.kind
  LEFT JOIN (SELECT waiting_op, daemon FROM served_ops WHERE waiting_op IN ({0})) AS o ON t.op_id = o.waiting_op AND t.reason = 'server'
WHERE t.op_id IN ({0})
GROUP BY t.op_id, t.step, k.words, k.noun, p.words, t.reason
ORDER BY t.step, t.reason)";

void add_time(Operation& operation, const SmallResult& rows, std::size_t row) {
  operation.time.push_back(
      {rows.text(row, "words"), rows.text(row, "detail"), rows.number(row, "ns")});
}

// What is asked of operations, in the order in which it is printed, and where each row goes.
struct Question {
  std::string_view sql;
  void (*add)(Operation& operation, const SmallResult& rows, std::size_t row);
};
constexpr Question kQuestions[] = {{kSpansSql, add_span},
                                   {kCallsInsideSql, add_call_inside},
                                   {kCallAroundSql, add_call_around},
                                   {kRequestsSql, add_request},
                                   {kWaitsSql, add_wait},
                                   {kTimeSql, add_time},
                                   {kLaterSql, add_later},
                                   {kMeanwhileSql, add_meanwhile}};

} // namespace

std::string process_text(const SmallResult& rows, std::size_t row) {
  const std::string comm = rows.text(row, "comm");
  return comm.empty() ? fmt::format("pid {}", rows.number(row, "pid"))
                      : fmt::format("{}[{}]", comm, rows.number(row, "pid"));
}

Result<void> add_parts(analysis::Engine& engine, std::vector<Operation>& operations) {
  const std::string ids = ids_of(operations);
  const bool has_library = std::ranges::any_of(operations, &Operation::is_library);
  const std::string_view times = has_library ? "op_time" : "call_parts";
  const std::string wanted = wanted_sql(ids, has_library);
  const auto listed = has_library ? wanted_list(engine, wanted) : ids;
  if (!listed)
    return std::unexpected(listed.error());
  for (const auto& [sql, add] : kQuestions)
    if (Result<void> added = visit_rows(
            engine, fmt::format(fmt::runtime(sql), ids, times, wanted, kPartsShown, *listed),
            operations, add);
        !added)
      return added;
  return {};
}

} // namespace iotrail::output
