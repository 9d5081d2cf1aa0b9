// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/tables/call_parts.hpp"

#include <gtest/gtest.h>

#include <random>

#include "analysis/engine/test_engine.hpp"

namespace iotrail::analysis {
namespace {

// The same facts by joins over all pieces at once.
constexpr std::string_view kByJoins = R"(WITH
  wait_bits AS MATERIALIZED (
    SELECT reason, CAST(1 << (15 + row_number() OVER (ORDER BY reason)) AS UBIGINT) AS bit FROM
      wait_reasons
  ),
  known AS (SELECT count(*) > 0 AS has_waits FROM hooks WHERE event = 'sched_wait' AND hook <>
    ''),
  heads AS (
    SELECT op_id, ts_ns, plus(ts_ns, duration_ns) AS until_ns, layer
    FROM events
    WHERE op_id <> 0 AND duration_ns IS NOT NULL AND is_asked(layer)
  ),
  own AS (
    SELECT op_id, ts_ns AS from_ns, until_ns,
           CASE WHEN layer = layer_at('library') THEN CAST(1 << step_of('call') AS UBIGINT)
                WHEN layer <> layer_at('later') AND (has_waits OR op_id IN (SELECT op_id FROM
                  sched_wait)) THEN CAST(1 << step_of('system call') AS UBIGINT)
                ELSE CAST(1 << step_of('kernel') AS UBIGINT) END AS what
    FROM heads CROSS JOIN known
  ),
  held_back_reads AS (SELECT * FROM all_links WHERE by_op = 0 AND op_id <> 0 AND direction =
    'read'),
  held_back AS (
    SELECT op_id, ts_ns FROM block_queue WHERE by_kernel_thread <> 0
    UNION ALL
    SELECT op_id, ts_ns FROM held_back_reads
  ),
  asked AS (
    SELECT by_op AS op_id, ts_ns, inserted_ns, issued_ns, completed_ns
    FROM all_links WHERE by_op <> 0 AND completed_ns IS NOT NULL
    UNION ALL
    SELECT op_id, ts_ns, inserted_ns, issued_ns, completed_ns
    FROM all_links WHERE by_op <> op_id AND op_id <> 0 AND direction = 'read' AND completed_ns IS
      NOT NULL
    UNION ALL
    SELECT op_id, ts_ns, inserted_ns, issued_ns, completed_ns FROM sync_writes WHERE by_op <>
      op_id
    UNION ALL
    SELECT op_id, ts_ns, NULL AS inserted_ns, ts_ns AS issued_ns, plus(ts_ns, duration_ns) AS
      completed_ns
    FROM block_complete WHERE op_id <> 0 AND bytes = 0
  ),
  requests AS (
    SELECT op_id, ts_ns, CASE WHEN inserted_ns IS NOT NULL THEN least(greatest(inserted_ns,
      ts_ns), issued_ns) END AS inserted_ns,
           issued_ns, completed_ns
    FROM asked
    GROUP BY ALL
  ),
  waited AS (SELECT w.*, b.bit AS bit FROM all_waits AS w LEFT JOIN wait_bits AS b ON w.reason =
    b.reason),
  wait_parts AS (
    SELECT op_id, parent_op, ts_ns AS from_ns, plus(ts_ns, blocked_ns) AS until_ns, CAST(1 <<
      step_of('wait') AS UBIGINT) | bit AS what FROM waited WHERE bit IS NOT NULL
    UNION ALL
    SELECT op_id, parent_op, plus(ts_ns, blocked_ns) AS from_ns, plus(ts_ns, duration_ns) AS
      until_ns,
           CAST(1 << step_of('wait') AS UBIGINT) | (SELECT bit FROM wait_bits WHERE reason =
             'cpu') AS what
    FROM waited WHERE runnable_ns > 0
  ),
  commits AS (SELECT op_id, parent_op, ts_ns, plus(ts_ns, duration_ns) AS until_ns FROM
    fs_journal_commit),
  begins AS (
    SELECT op_id, min(ts_ns) AS ts_ns, max(until_ns) AS until_ns
    FROM heads
    WHERE op_id IN (SELECT op_id FROM async_operation UNION ALL SELECT op_id FROM held_back)
    GROUP BY op_id
  ),
  phases AS (
    SELECT a.op_id AS op_id, h.ts_ns AS begin_ns, plus(h.ts_ns, a.submit_ns) AS submitted_ns,
           plus(h.ts_ns, plus(a.submit_ns, a.worker_ns)) AS worked_ns, minus(h.until_ns,
             a.unreported_ns) AS done_ns, h.until_ns AS until_ns
    FROM async_phases AS a JOIN begins AS h ON a.op_id = h.op_id
  ),
  pieces AS (
    SELECT op_id, issued_ns AS from_ns, completed_ns AS until_ns, CAST(1 << step_of('device') AS
      UBIGINT) AS what FROM requests
    UNION ALL SELECT op_id, inserted_ns, issued_ns, CAST(1 << step_of('scheduler') AS UBIGINT)
      FROM requests WHERE inserted_ns IS NOT NULL
    UNION ALL SELECT op_id, ts_ns, inserted_ns, CAST(1 << step_of('plug') AS UBIGINT) FROM
      requests WHERE inserted_ns IS NOT NULL
    UNION ALL SELECT op_id, ts_ns, issued_ns, CAST(1 << step_of('queue') AS UBIGINT) FROM
      requests WHERE inserted_ns IS NULL
    UNION ALL SELECT b.op_id, h.ts_ns, b.ts_ns, CAST(1 << step_of('held back') AS UBIGINT) FROM
      held_back AS b JOIN begins AS h ON b.op_id = h.op_id
    UNION ALL SELECT op_id, ts_ns, until_ns, CAST(1 << step_of('journal') AS UBIGINT) FROM commits
    UNION ALL SELECT parent_op, ts_ns, until_ns, CAST(1 << step_of('journal') AS UBIGINT) FROM
      commits
    UNION ALL SELECT op_id, ts_ns, plus(ts_ns, duration_ns), CAST(1 << step_of('file system') AS
      UBIGINT) FROM all_events
              WHERE layer = layer_at('files') AND duration_ns IS NOT NULL AND NOT is_asked(layer)
    UNION ALL SELECT op_id, begin_ns, submitted_ns, CAST(1 << step_of('submit') AS UBIGINT) FROM
      phases
    UNION ALL SELECT op_id, submitted_ns, worked_ns, CAST(1 << step_of('worker') AS UBIGINT) FROM
      phases
    UNION ALL SELECT op_id, done_ns, until_ns, CAST(1 << step_of('unreported') AS UBIGINT) FROM
      phases
    UNION ALL SELECT op_id, from_ns, until_ns, what FROM wait_parts
    UNION ALL SELECT parent_op, from_ns, until_ns, what FROM wait_parts
  ),
  divided AS (
    SELECT op_id FROM pieces WHERE op_id <> 0
    UNION
    SELECT op_id FROM heads GROUP BY op_id HAVING count(*) > 1
  ),
  summed AS (
    SELECT op_id, unnest(overlap_times(from_ns, until_ns, CAST(what AS UBIGINT)), recursive :=
      true)
    FROM (SELECT op_id, from_ns, until_ns, what FROM own SEMI JOIN divided USING (op_id)
          UNION ALL
          SELECT op_id, from_ns, until_ns, what FROM pieces WHERE op_id <> 0) AS p
    GROUP BY op_id
  ),
  times AS (
    SELECT op_id, what, ns FROM summed
    UNION ALL
    SELECT op_id, CAST(what AS UBIGINT) AS what, until_ns - from_ns AS ns FROM own ANTI JOIN
      divided USING (op_id) WHERE until_ns > from_ns
  ),
  counted AS (
    SELECT op_id, ns, what,
           CASE WHEN what & CAST(1 << step_of('call') AS UBIGINT) <> 0 THEN CAST(1 <<
             step_of('call') AS UBIGINT)
                WHEN what & CAST(1 << step_of('system call') AS UBIGINT) <> 0 AND what & CAST(1
                  << step_of('wait') AS UBIGINT) = 0
                  THEN what & (CAST(1 << step_of('file system') AS UBIGINT) | CAST(1 <<
                    step_of('system call') AS UBIGINT))
                ELSE what END AS parts
    FROM times
    WHERE what & (CAST(1 << step_of('call') AS UBIGINT) | CAST(1 << step_of('system call') AS
      UBIGINT) | CAST(1 << step_of('kernel') AS UBIGINT)) <> 0
  ),
  steps AS (SELECT op_id, ns, what, CAST(bit_count((parts & ((~parts) + 1)) - 1) AS INTEGER) AS
    step FROM counted),
  bits AS (SELECT bit_or(bit) AS all_bits FROM wait_bits),
  named AS (
    SELECT op_id, ns, step,
           CASE WHEN step = step_of('wait') THEN (what & all_bits) & ((~(what & all_bits)) + 1)
             END AS wait
    FROM steps CROSS JOIN bits
  )
SELECT n.op_id, n.step, w.reason, sum(n.ns)
FROM named AS n LEFT JOIN wait_bits AS w ON n.wait = w.bit
GROUP BY ALL ORDER BY ALL)";

class RandomEvents {
public:
  explicit RandomEvents(unsigned seed) : random_(seed) {}

  std::string text() {
    add("manifest layers=\"syscall vfs block sched fs async\" begin_ns=1 end_ns=1000000");
    add("devices device=8388608 name=sda");
    add("file path=/n/f inode=9 device=8:1 mode=0100644 file_system=nfs");
    for (int op = 1; op <= 150; ++op)
      add_operation(op);
    return std::move(text_);
  }

private:
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  void add(const std::string& line) { text_ += line + "\n"; }
  std::string file() {
    return fmt::format("/{}", below(3) == 0 ? "n/f" : below(2) == 0 ? "a" : "b");
  }

  void add_operation(int op) {
    at_ns_ += below(700);
    tid_ = 7 + below(3);
    const unsigned duration_ns = below(1500);
    const std::string task = fmt::format("op_id={} pid=7 tid={}", op, tid_);
    const std::string times = fmt::format("ts_ns={} {} duration_ns={}", at_ns_, task, duration_ns);
    switch (below(6)) {
    case 0:
      add(fmt::format("syscall_sync {} call=fsync file={}", times, file()));
      break;
    case 1:
      add(fmt::format("syscall_sync {} call=sync", times));
      break;
    case 2:
      add(fmt::format("async_operation {} call=IORING_OP_READ handed_over_ns={} result={}", times,
                      below(2) * below(900), below(5) == 0 ? -4095 : 1));
      break;
    default:
      add(fmt::format("syscall_write {} call=write file={} offset={} result=4096", times, file(),
                      below(4) * 4096));
      add(fmt::format("cache_dirty ts_ns={} {} file={} pages=1 index={}", at_ns_ + 1, task, file(),
                      below(4)));
    }
    if (below(2) == 0)
      add(fmt::format("vfs_write ts_ns={} {} duration_ns={} result=1", at_ns_ + below(200), task,
                      below(1000)));
    for (unsigned i = below(3); i > 0; --i)
      add_wait(op);
    if (below(3) == 0)
      add_request(op);
    if (below(8) == 0)
      add(fmt::format("fs_journal_commit ts_ns={} op_id={} parent_op={} duration_ns={}",
                      at_ns_ + below(500), below(2) * static_cast<unsigned>(op), below(150),
                      below(900)));
  }

  void add_wait(int op) {
    static constexpr const char* kStacks[] = {"jbd2_log_wait_commit", "folio_wait_bit_common",
                                              "pipe_read", "unheard_of"};
    const unsigned duration_ns = below(800);
    add(fmt::format("sched_wait ts_ns={} op_id={} parent_op={} pid=7 tid={} duration_ns={} "
                    "runnable_ns={} state={} stack={}",
                    at_ns_ + below(900), op, below(4) == 0 ? below(150) : 0, tid_, duration_ns,
                    below(2) * below(900), below(5) == 0 ? "running" : "sleeping",
                    kStacks[below(4)]));
  }

  void add_request(int op) {
    const unsigned begin_ns = at_ns_ + below(400);
    const unsigned sector = 8 * below(2000);
    const bool is_read = below(2) == 0;
    const unsigned bytes = below(5) == 0 ? 0 : 4096;
    add(fmt::format("block_queue ts_ns={} op_id={} pid=7 bio={} device=8388608 sector={} bytes={} "
                    "flags={} file=/a offset={} is_contiguous=1 by_kernel_thread={}",
                    begin_ns, below(4) == 0 ? 0 : op, op, sector, bytes, is_read ? "read" : "write",
                    below(4) * 4096, below(6) == 0 ? 1 : 0));
    if (below(2) == 0)
      add(fmt::format("block_insert ts_ns={} request={} device=8388608 sector={} bytes={} flags={}",
                      begin_ns + 20, op, sector, bytes, is_read ? "read" : "write"));
    add(fmt::format("block_complete ts_ns={} op_id={} request={} device=8388608 sector={} bytes={} "
                    "flags={} duration_ns={}",
                    begin_ns + 50, op, op, sector, bytes, is_read ? "read" : "write", below(1500)));
  }

  std::mt19937 random_;
  std::string text_;
  unsigned at_ns_ = 1000;
  unsigned tid_ = 7;
};

TEST(CallParts, are_those_that_joins_of_all_pieces_find) {
  for (const unsigned seed : {1U, 2U, 3U}) {
    const golden::TestTrace trace(RandomEvents(seed).text());
    const auto engine = open(trace);
    const auto parts = rows_of(
        *engine, "SELECT op_id, step, reason, sum(ns) FROM call_parts GROUP BY ALL ORDER BY ALL");
    EXPECT_GT(parts.size(), 200U);
    EXPECT_EQ(parts, rows_of(*engine, kByJoins)) << "seed " << seed;
  }
}

// Each call that another call selects is divided as in the whole trace.
TEST(CallParts, of_a_selection_are_those_of_the_whole_trace) {
  const golden::TestTrace trace(RandomEvents(4).text());
  auto selected = Engine::open(trace.path(), {.selection = {.file = "/a"}});
  ASSERT_TRUE(selected.has_value());
  const auto parts = rows_of(
      **selected, "SELECT op_id, step, reason, sum(ns) FROM call_parts GROUP BY ALL ORDER BY ALL");
  EXPECT_GT(parts.size(), 50U);
  EXPECT_EQ(parts, rows_of(**selected, kByJoins));
}

} // namespace
} // namespace iotrail::analysis
