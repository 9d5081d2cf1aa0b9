// SPDX-License-Identifier: BSD-3-Clause
#include "output/explain_text.hpp"

#include <algorithm>
#include <vector>

#include "analysis/sql_text.hpp"
#include "output/explain_place.hpp"
#include "output/op_time.hpp"
#include "output/printable.hpp"
#include "output/report_section.hpp"
#include "output/small_result.hpp"
#include "output/table.hpp"
#include "output/units.hpp"

namespace iotrail::output {

namespace {

using analysis::sql_literal;

constexpr std::size_t kPartsShown = 12; // of one operation
constexpr std::size_t kBarWidth = 18;

// Operations as programs see them, with whatever tells them to people; one that is asked for by its number may be a call
// into the C library.
constexpr std::string_view kHeadsSql = R"(
SELECT o.op_id AS op_id, op_text(o.op_id) AS name, coalesce(o.call, o.class) AS what,
       o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes, errno_name(o.error) AS error, o.path AS path,
       o.pid AS pid, p.comm AS comm, o.ts_ns - least(o.ts_ns, r.begin_ns) AS since_ns
FROM operations AS o CROSS JOIN run AS r LEFT JOIN programs AS p ON o.pid = p.program_pid
WHERE o.layer IN (SELECT asked_layer FROM asked_layers{}))";

// A line of an operation: a span, or the requests of one device, direction and cause.
struct Part {
  std::string layer;
  std::string what;
  std::vector<Span> spans;
  std::uint64_t bytes = 0; // of requests
  std::string note{};      // how many bytes, or the error
};

struct Operation {
  std::uint64_t id = 0;
  std::string title;
  Span span;
  std::vector<Part> parts;
  std::vector<std::string> later; // what became of its bytes after its end
  OpTime time;
};

std::string process_text(const SmallResult& rows, std::size_t row) {
  const std::string comm = rows.text(row, "comm");
  return comm.empty() ? fmt::format("pid {}", rows.number(row, "pid"))
                      : fmt::format("{}[{}]", comm, rows.number(row, "pid"));
}

Operation operation_of(const SmallResult& rows, std::size_t row) {
  Operation operation;
  operation.id = rows.number(row, "op_id");
  const std::uint64_t begin_ns = rows.number(row, "ts_ns");
  operation.span = {begin_ns, begin_ns + rows.number(row, "duration_ns")};
  const std::string bytes =
      rows.is_null(row, "bytes") ? "" : " " + human_bytes(rows.number(row, "bytes"));
  const std::string error = rows.text(row, "error");
  const std::string path = rows.text(row, "path");
  operation.title =
      fmt::format("{}{}{}{}, {} by {}, at second {:.6f}, operation {}", rows.text(row, "what"),
                  bytes, error.empty() ? "" : " " + error, path.empty() ? "" : " of " + path,
                  human_duration(operation.span.length_ns()), process_text(rows, row),
                  static_cast<double>(rows.number(row, "since_ns")) / 1e9, rows.text(row, "name"));
  return operation;
}

std::string ids_of(const std::vector<Operation>& operations) {
  std::string ids;
  for (const Operation& operation : operations)
    ids += fmt::format("{}{}", ids.empty() ? "" : ", ", operation.id);
  return ids;
}

// Hands over the rows of each operation, which the query names by `of_op`, as row(operation, rows, number).
template <class Row>
Result<void> visit_rows(analysis::Engine& engine, const std::string& sql,
                        std::vector<Operation>& operations, Row&& row) {
  const auto rows = SmallResult::query(engine, sql);
  if (!rows)
    return std::unexpected(rows.error());
  for (Operation& operation : operations)
    for (std::size_t number = 0; number < rows->size(); ++number)
      if (rows->number(number, "of_op") == operation.id)
        row(operation, *rows, number);
  return {};
}

// Spans of the layers below, and operations that began in it.
constexpr std::string_view kSpansSql = R"(
SELECT CASE WHEN o.op_id IN ({0}) THEN o.op_id ELSE o.parent_op END AS of_op, o.layer AS layer,
       coalesce(o.call, o.class) AS what, o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, o.bytes AS bytes,
       errno_name(o.error) AS error
FROM operations AS o LEFT JOIN layer_list AS d ON o.layer = d.layer
WHERE (o.op_id IN ({0}) OR o.parent_op IN ({0})) AND o.layer <> 'block' AND o.event <> 'sched_wait'
ORDER BY o.ts_ns, d.depth)";

void add_span(Operation& operation, const SmallResult& rows, std::size_t row) {
  const std::uint64_t begin_ns = rows.number(row, "ts_ns");
  const Span span{begin_ns, begin_ns + rows.number(row, "duration_ns")};
  Part part{rows.text(row, "layer"), rows.text(row, "what"), {span}};
  part.note = rows.text(row, "error");
  if (part.note.empty() && !rows.is_null(row, "bytes"))
    part.note = human_bytes(rows.number(row, "bytes"));
  if (part.layer == "fs" && part.what == "journal_commit")
    operation.time.journal.push_back(span);
  operation.parts.push_back(std::move(part));
}

// Of calls into the C library, the system calls made in them; one row without any where there were none.
constexpr std::string_view kCallsInsideSql = R"(
WITH
  inside AS (
    SELECT p.app_op AS app_op, coalesce(o.call, o.class) AS what, o.ts_ns AS ts_ns, o.duration_ns AS duration_ns, op_text(o.op_id) AS name
    FROM app_calls_of_syscalls AS p JOIN operations AS o ON p.syscall_op = o.op_id AND o.layer = 'syscall'
    WHERE p.app_op IN ({0})
  )
SELECT e.op_id AS of_op, i.what AS what, i.ts_ns AS ts_ns, i.duration_ns AS duration_ns, i.name AS name
FROM all_events AS e LEFT JOIN inside AS i ON e.op_id = i.app_op
WHERE e.op_id IN ({0}) AND e.layer = 'app' AND 'syscall' IN (SELECT asked_layer FROM asked_layers)
ORDER BY i.ts_ns)";

void add_call_inside(Operation& operation, const SmallResult& rows, std::size_t row) {
  operation.time.is_library_known = true;
  if (rows.is_null(row, "what"))
    return;
  const std::uint64_t begin_ns = rows.number(row, "ts_ns");
  const Span span{begin_ns, begin_ns + rows.number(row, "duration_ns")};
  operation.time.calls.push_back(span);
  operation.parts.push_back({"syscall", rows.text(row, "what"), {span}, 0, rows.text(row, "name")});
}

// What devices did in its course, whoever had caused that. A call that waits for data to reach the device waits for what
// others write back meanwhile: of its file, or of all.
constexpr std::string_view kRequestsSql = R"(
WITH
  waits AS (SELECT op_id, ts_ns AS begin_ns, plus(ts_ns, duration_ns) AS end_ns, file AS of_file, class
            FROM operations WHERE op_id IN ({0}) AND is_sync(class) AND layer IN (SELECT asked_layer FROM asked_layers)),
  requests AS (
    SELECT by_op AS of_op, direction, cause, device, ts_ns, issued_ns, completed_ns, bytes
    FROM all_links WHERE by_op IN ({0}) AND completed_ns IS NOT NULL
    UNION ALL
    SELECT w.op_id AS of_op, l.direction, l.cause, l.device, l.ts_ns, l.issued_ns, l.completed_ns, l.bytes
    FROM all_links AS l JOIN waits AS w ON l.completed_ns > w.begin_ns AND l.ts_ns < w.end_ns
    WHERE l.by_op NOT IN ({0}) AND l.direction = 'write' AND l.stored_ns IS NOT NULL AND l.completed_ns IS NOT NULL
      AND (l.file = w.of_file OR w.class IN ('sync', 'syncfs'))
  )
SELECT r.of_op AS of_op, r.direction AS direction, r.cause AS cause, coalesce(any_value(d.name), 'device') AS device,
       min(r.ts_ns) AS ts_ns, r.issued_ns AS issued_ns, r.completed_ns AS completed_ns, total(r.bytes) AS bytes
FROM requests AS r LEFT JOIN devices AS d ON r.device = d.device
GROUP BY r.of_op, r.direction, r.cause, r.device, r.issued_ns, r.completed_ns
ORDER BY r.of_op, r.device, r.direction, r.cause, issued_ns)";

// They come by device, direction and cause.
void add_request(Operation& operation, const SmallResult& rows, std::size_t row) {
  const Span device{rows.number(row, "issued_ns"), rows.number(row, "completed_ns")};
  operation.time.queue.push_back({rows.number(row, "ts_ns"), device.begin_ns});
  operation.time.device.push_back(device);
  const std::string layer = rows.text(row, "device");
  const std::string what = rows.text(row, "direction") + " " + rows.text(row, "cause");
  if (operation.parts.empty() || operation.parts.back().layer != layer ||
      operation.parts.back().what != what)
    operation.parts.push_back({layer, what, {}});
  Part& part = operation.parts.back();
  part.spans.push_back(device);
  part.bytes += rows.number(row, "bytes");
  part.note = fmt::format("{} in {}", human_bytes(part.bytes), human_count(part.spans.size()));
}

// When its task did not run: the part of each wait in which it could not, and the one in which others did.
constexpr std::string_view kWaitsSql = R"(
WITH waits AS (SELECT CASE WHEN op_id IN ({0}) THEN op_id ELSE parent_op END AS of_op, ts_ns, duration_ns, blocked_ns,
                      runnable_ns, reason, coalesce(waited_in, '') AS waited_in
               FROM all_waits WHERE op_id IN ({0}) OR parent_op IN ({0}))
SELECT of_op, ts_ns AS begin_ns, plus(ts_ns, blocked_ns) AS end_ns, reason, waited_in FROM waits WHERE reason IS NOT NULL
UNION ALL
SELECT of_op, plus(ts_ns, blocked_ns) AS begin_ns, plus(ts_ns, duration_ns) AS end_ns, 'cpu' AS reason, '' AS waited_in
FROM waits WHERE runnable_ns > 0
ORDER BY of_op, reason, waited_in, begin_ns)";

// They come by reason and by the function that waited.
void add_wait(Operation& operation, const SmallResult& rows, std::size_t row) {
  const Span span{rows.number(row, "begin_ns"), rows.number(row, "end_ns")};
  const std::string reason = rows.text(row, "reason");
  const std::string waited_in = rows.text(row, "waited_in");
  std::vector<Waits>& waits = operation.time.waits;
  const bool is_new_reason = waits.empty() || waits.back().reason != reason;
  if (is_new_reason)
    waits.push_back({reason, {}});
  if (is_new_reason || operation.parts.back().note != waited_in)
    operation.parts.push_back({"wait", reason, {}, 0, waited_in});
  waits.back().spans.push_back(span);
  operation.parts.back().spans.push_back(span);
}

// Operations whose every wait would be in the trace: those of a task that is in one at a time.
constexpr std::string_view kWaitsKnownSql = R"(
SELECT DISTINCT o.op_id AS of_op
FROM all_events AS o JOIN layer_list AS d ON o.layer = d.layer
WHERE o.op_id IN ({0}) AND o.layer IN (SELECT seen_layer FROM call_layer) AND d.source = 'kernel'
  AND (o.op_id IN (SELECT op_id FROM sched_wait)
       OR (SELECT count(*) FROM hooks WHERE event = 'sched_wait' AND hook <> '') > 0))";

void mark_waits_known(Operation& operation, const SmallResult&, std::size_t) {
  operation.time.are_waits_known = true;
}

constexpr std::string_view kPhasesSql =
    "SELECT op_id AS of_op, submit_ns, worker_ns, untold_ns FROM async_phases WHERE op_id IN ({0})";

void add_phases(Operation& operation, const SmallResult& rows, std::size_t row) {
  const std::uint64_t begin_ns = operation.span.begin_ns;
  const std::uint64_t end_ns = operation.span.end_ns;
  const std::uint64_t submitted_ns = begin_ns + rows.number(row, "submit_ns");
  operation.time.submit = {{begin_ns, submitted_ns}};
  operation.time.worker = {{submitted_ns, submitted_ns + rows.number(row, "worker_ns")}};
  operation.time.untold = {{end_ns - rows.number(row, "untold_ns"), end_ns}};
}

// Its bytes on their way to a device after its end.
constexpr std::string_view kLaterSql = R"(
SELECT l.op_id AS of_op, l.cause AS cause, l.confidence AS confidence, total(l.bytes) AS bytes, min(l.ts_ns) AS first_ns,
       any_value(b.class) AS forced_by, any_value(r.meaning) AS because, any_value(p.comm) AS comm, any_value(l.by_pid) AS pid
FROM all_links AS l
  LEFT JOIN (SELECT op_id, any_value(class) AS class FROM all_events
             WHERE op_id <> 0 AND layer IN (SELECT asked_layer FROM asked_layers)
             GROUP BY op_id) AS b ON l.by_op = b.op_id
  LEFT JOIN programs AS p ON l.by_pid = p.program_pid
  LEFT JOIN writeback_reasons AS r ON l.set_off_by = r.set_off_by AND r.set_off_by NOT IN ('call', 'unknown')
WHERE l.op_id IN ({0}) AND l.by_op <> l.op_id
GROUP BY l.op_id, l.cause, l.confidence, l.set_off_by
ORDER BY first_ns)";

void add_later(Operation& operation, const SmallResult& rows, std::size_t row) {
  const std::uint64_t first_ns = rows.number(row, "first_ns");
  const std::string forced = rows.text(row, "forced_by");
  const std::string because = rows.text(row, "because");
  operation.later.push_back(fmt::format(
      "{} of it ({}, {}) went to the device {} after its begin, {}",
      human_bytes(rows.number(row, "bytes")), rows.text(row, "cause"), rows.text(row, "confidence"),
      human_duration(first_ns - std::min(first_ns, operation.span.begin_ns)),
      forced.empty() ? "written back by the kernel" + (because.empty() ? "" : ": " + because)
                     : fmt::format("by a {} of {}", forced, process_text(rows, row))));
}

// What is asked of operations, in the order in which it is printed, and where each row goes.
struct Question {
  std::string_view sql;
  void (*add)(Operation& operation, const SmallResult& rows, std::size_t row);
};
constexpr Question kQuestions[] = {
    {kSpansSql, add_span}, {kCallsInsideSql, add_call_inside}, {kRequestsSql, add_request},
    {kWaitsSql, add_wait}, {kWaitsKnownSql, mark_waits_known}, {kPhasesSql, add_phases},
    {kLaterSql, add_later}};

std::string bar(const Span& whole, const std::vector<Span>& spans) {
  const double length = static_cast<double>(std::max<std::uint64_t>(1, whole.length_ns()));
  const auto place = [&](std::uint64_t ts_ns) {
    const std::uint64_t clamped = std::clamp(ts_ns, whole.begin_ns, whole.end_ns);
    return static_cast<std::size_t>(static_cast<double>(clamped - whole.begin_ns) / length *
                                    kBarWidth);
  };
  std::string text(kBarWidth, ' ');
  for (const Span& span : spans) {
    const std::size_t begin = std::min(place(span.begin_ns), kBarWidth - 1);
    const std::size_t end = std::clamp(place(span.end_ns), begin + 1, kBarWidth);
    std::fill(text.begin() + static_cast<std::ptrdiff_t>(begin),
              text.begin() + static_cast<std::ptrdiff_t>(end), '#');
  }
  return "|" + text + "|";
}

void print_operation(const Operation& operation, Sink& sink, std::size_t width) {
  bool is_first = true;
  for (const std::string& line : wrapped(printable(operation.title), width - 2)) {
    sink.print("{}{}\n", is_first ? "" : "  ", line);
    is_first = false;
  }
  TextTable table({{"layer", Align::left},
                   {"what", Align::left},
                   {"took", Align::right},
                   {"from its begin to its end", Align::left},
                   {"", Align::right, Fit::end}});
  const std::size_t shown = std::min(operation.parts.size(), kPartsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Part& part = operation.parts[i];
    table.add({printable(part.layer), printable(part.what),
               human_duration(covered_ns(part.spans, operation.span)),
               bar(operation.span, part.spans), part.note});
  }
  table.print(sink, "  ", width);
  if (shown < operation.parts.size())
    sink.print("  and {} more\n", operation.parts.size() - shown);
  print_wrapped(printable(time_text(operation.time, operation.span)), sink, width);
  for (const std::string& line : operation.later)
    print_wrapped(printable(line), sink, width);
}

// "12.7", "p3.1" or a plain number.
std::string op_condition(const std::string& op) {
  return fmt::format("(name = {0} OR CAST(op_id AS VARCHAR) = {0})", sql_literal(op));
}

std::string heads_sql(const ExplainOptions& options) {
  const std::string heads = fmt::format(kHeadsSql, options.op.empty() ? "" : " UNION SELECT 'app'");
  if (!options.op.empty())
    return fmt::format("SELECT * FROM ({}) WHERE {}", heads, op_condition(options.op));
  if (options.at_ns)
    return fmt::format(
        "SELECT * FROM ({}) WHERE since_ns <= {} AND plus(since_ns, duration_ns) >= {} "
        "ORDER BY since_ns LIMIT {}",
        heads, *options.at_ns, *options.at_ns, options.slowest);
  return fmt::format("{} ORDER BY duration_ns DESC, ts_ns LIMIT {}", heads, options.slowest);
}

Error not_found(analysis::Engine& engine, const ExplainOptions& options) {
  Error error{"nothing to explain", "no operation is in the trace", "", 0};
  if (options.op.empty() && !options.at_ns)
    return error;
  error.why = options.op.empty() ? "no operation was under way then"
                                 : "there is no operation " + options.op;
  const auto next = SmallResult::query(
      engine, fmt::format("SELECT name, since_ns FROM ({}) ORDER BY "
                          "abs(CAST(since_ns AS HUGEINT) - {}), op_id LIMIT 1",
                          fmt::format(kHeadsSql, ""), options.at_ns.value_or(0)));
  if (next && next->size() > 0)
    error.hint =
        fmt::format("{} is {}, at second {:.6f}.", options.at_ns ? "The next one" : "The first one",
                    next->text(0, "name"), static_cast<double>(next->number(0, "since_ns")) / 1e9);
  return error;
}

} // namespace

Result<void> write_explanation(analysis::Engine& engine, const ExplainOptions& options,
                               std::FILE* file) {
  Sink sink(file);
  if (options.sector)
    return write_place(engine, options, sink);
  if (options.request)
    return write_request(engine, options, sink);
  const auto heads = SmallResult::query(engine, heads_sql(options));
  if (!heads)
    return std::unexpected(heads.error());
  if (heads->size() == 0)
    return std::unexpected(not_found(engine, options));
  std::vector<Operation> operations;
  for (std::size_t row = 0; row < heads->size(); ++row)
    operations.push_back(operation_of(*heads, row));
  const std::string ids = ids_of(operations);
  for (const auto& [sql, add] : kQuestions)
    if (Result<void> added =
            visit_rows(engine, fmt::format(fmt::runtime(sql), ids), operations, add);
        !added)
      return added;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    sink.put(i == 0 ? "" : "\n");
    print_operation(operations[i], sink, options.width);
  }
  return sink.finish();
}

} // namespace iotrail::output
