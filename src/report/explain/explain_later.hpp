// SPDX-License-Identifier: BSD-3-Clause
//
// What others did with the bytes of an operation, and what its devices served besides.
#pragma once

#include <string_view>

#include "report/explain/explain_parts.hpp"
#include "report/small_result.hpp"

namespace iotrail::output {

// With {2} for the query of the operations: its bytes that others took to the device, or asked it for.
inline constexpr std::string_view kLaterSql = R"(
WITH wanted AS ({2})
SELECT w.of_op AS of_op, l.direction AS direction, l.cause AS cause, any_value(y.words) AS words, l.confidence AS confidence, total(l.bytes) AS bytes, min(l.ts_ns) AS first_ns,
       any_value(b.class) AS forced_by, any_value(r.meaning) AS because, any_value(p.comm) AS comm, any_value(l.by_pid) AS pid,
       max(l.by_op) AS by_op
FROM all_links AS l
  JOIN wanted AS w ON l.op_id = w.op
  LEFT JOIN (SELECT op_id, any_value(class) AS class FROM all_events
             WHERE op_id <> 0 AND is_asked(layer)
             GROUP BY op_id) AS b ON l.by_op = b.op_id
  LEFT JOIN programs AS p ON l.by_pid = p.program_pid
  LEFT JOIN writeback_reasons AS r ON l.set_off_by = r.set_off_by AND r.set_off_by NOT IN ('call', 'unknown')
  LEFT JOIN causes AS y ON l.cause = y.cause
WHERE l.by_op <> l.op_id
GROUP BY w.of_op, l.direction, l.cause, l.confidence, l.set_off_by
ORDER BY first_ns)";

// The largest parts of what its devices served besides. With {4} for its numbers of operations.
inline constexpr std::string_view kMeanwhileSql = R"(
WITH wanted AS ({2})
SELECT w.of_op AS of_op, coalesce(m.device_name, 'the device') AS device, m.direction AS direction, any_value(y.words) AS words,
       m.comm AS comm, m.pid AS pid, total(m.bytes) AS bytes
FROM served_meanwhile AS m JOIN wanted AS w ON m.op_id = w.op LEFT JOIN causes AS y ON m.cause = y.cause
WHERE m.op_id IN ({4})
GROUP BY w.of_op, m.device_name, m.direction, m.cause, m.comm, m.pid
QUALIFY row_number() OVER (PARTITION BY w.of_op ORDER BY total(m.bytes) DESC, m.pid, m.cause) <= 3
ORDER BY bytes DESC, pid, words)";

// Each adds what such a row says to the operation.
void add_later(Operation& operation, const SmallResult& rows, std::size_t row);
void add_meanwhile(Operation& operation, const SmallResult& rows, std::size_t row);

} // namespace iotrail::output
