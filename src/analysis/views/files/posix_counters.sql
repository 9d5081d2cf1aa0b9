-- What was done to each file, with the counters of Darshan's module POSIX: one row per file with calls.
-- Failed calls do not count. A copy is a read of its source, which has its time, and a write of its target.
--   file, path   the file, and its last name
--   POSIX_OPENS, POSIX_READS, POSIX_WRITES, POSIX_STATS, POSIX_FSYNCS, POSIX_FDSYNCS   numbers of calls; STATS: also of access()
--   POSIX_BYTES_READ, POSIX_BYTES_WRITTEN   bytes moved
--   POSIX_MAX_BYTE_READ, POSIX_MAX_BYTE_WRITTEN   the highest position moved; -1: none is known
--   POSIX_CONSEC_READS, POSIX_CONSEC_WRITES   calls that began at the end of the one before
--   POSIX_SEQ_READS, POSIX_SEQ_WRITES   calls that began there or behind it
--   POSIX_SIZE_READ_0_100, POSIX_SIZE_READ_100_1K, POSIX_SIZE_READ_1K_10K, POSIX_SIZE_READ_10K_100K   reads by bytes moved
--   POSIX_SIZE_READ_100K_1M, POSIX_SIZE_READ_1M_4M, POSIX_SIZE_READ_4M_10M, POSIX_SIZE_READ_10M_100M   reads by bytes moved
--   POSIX_SIZE_READ_100M_1G, POSIX_SIZE_READ_1G_PLUS   reads by bytes moved
--   POSIX_SIZE_WRITE_0_100, POSIX_SIZE_WRITE_100_1K, POSIX_SIZE_WRITE_1K_10K, POSIX_SIZE_WRITE_10K_100K   writes by bytes moved
--   POSIX_SIZE_WRITE_100K_1M, POSIX_SIZE_WRITE_1M_4M, POSIX_SIZE_WRITE_4M_10M, POSIX_SIZE_WRITE_10M_100M   writes by bytes moved
--   POSIX_SIZE_WRITE_100M_1G, POSIX_SIZE_WRITE_1G_PLUS   writes by bytes moved
--   POSIX_F_READ_TIME, POSIX_F_WRITE_TIME, POSIX_F_META_TIME   their time in seconds; META: all others
CREATE VIEW posix_counters AS
WITH
  -- One row per number: in a forged trace, thousands of operations may share one.
  targets AS (
    SELECT op_id, ts_ns, min(out_file) AS file, min(out_position) AS position FROM syscall_copy WHERE out_file <> 0 GROUP BY op_id, ts_ns
  ),
  done AS (
    SELECT * FROM file_transfers WHERE file <> 0 AND NOT is_error(error) AND NOT is_unfinished(error)
  ),
  calls AS (
    SELECT file, class, coalesce(call, class) AS call, duration_ns, ts_ns, coalesce(bytes, 0) AS bytes, CAST(position AS HUGEINT) AS position,
           reads(class) AS is_read, writes(class) AND NOT copies(class) AS is_write
    FROM done
    UNION ALL
    SELECT t.file AS file, d.class AS class, coalesce(d.call, d.class) AS call, 0 AS duration_ns, d.ts_ns AS ts_ns, coalesce(d.bytes, 0) AS bytes,
           CAST(CASE WHEN t.position >= 0 THEN t.position END AS HUGEINT) AS position, false AS is_read, true AS is_write
    FROM done AS d JOIN targets AS t ON d.op_id = t.op_id AND d.ts_ns = t.ts_ns
    WHERE copies(d.class) AND t.file NOT IN (SELECT file FROM files_without_device)
  ),
  placed AS (
    SELECT *, lag(position + bytes) OVER (PARTITION BY file, is_read, is_write ORDER BY ts_ns) AS expected
    FROM calls
  )
SELECT c.file AS file, any_value(f.path) AS path,
       count(*) FILTER (opens(class)) AS POSIX_OPENS, count(*) FILTER (is_read) AS POSIX_READS,
       count(*) FILTER (is_write) AS POSIX_WRITES, count(*) FILTER (looks_up(class)) AS POSIX_STATS,
       count(*) FILTER (is_sync(class) AND NOT call ILIKE '%fdatasync%') AS POSIX_FSYNCS,
       count(*) FILTER (is_sync(class) AND call ILIKE '%fdatasync%') AS POSIX_FDSYNCS,
       coalesce(total(CASE WHEN is_read THEN bytes END), 0) AS POSIX_BYTES_READ,
       coalesce(total(CASE WHEN is_write THEN bytes END), 0) AS POSIX_BYTES_WRITTEN,
       coalesce(max(position + bytes - 1) FILTER (is_read AND bytes > 0), -1) AS POSIX_MAX_BYTE_READ,
       coalesce(max(position + bytes - 1) FILTER (is_write AND bytes > 0), -1) AS POSIX_MAX_BYTE_WRITTEN,
       count(*) FILTER (is_read AND position = expected) AS POSIX_CONSEC_READS,
       count(*) FILTER (is_write AND position = expected) AS POSIX_CONSEC_WRITES,
       count(*) FILTER (is_read AND position >= expected) AS POSIX_SEQ_READS,
       count(*) FILTER (is_write AND position >= expected) AS POSIX_SEQ_WRITES,
       count(*) FILTER (is_read AND bytes < 100) AS POSIX_SIZE_READ_0_100,
       count(*) FILTER (is_read AND bytes >= 100 AND bytes < 1024) AS POSIX_SIZE_READ_100_1K,
       count(*) FILTER (is_read AND bytes >= 1024 AND bytes < 10240) AS POSIX_SIZE_READ_1K_10K,
       count(*) FILTER (is_read AND bytes >= 10240 AND bytes < 102400) AS POSIX_SIZE_READ_10K_100K,
       count(*) FILTER (is_read AND bytes >= 102400 AND bytes < 1048576) AS POSIX_SIZE_READ_100K_1M,
       count(*) FILTER (is_read AND bytes >= 1048576 AND bytes < 4194304) AS POSIX_SIZE_READ_1M_4M,
       count(*) FILTER (is_read AND bytes >= 4194304 AND bytes < 10485760) AS POSIX_SIZE_READ_4M_10M,
       count(*) FILTER (is_read AND bytes >= 10485760 AND bytes < 104857600) AS POSIX_SIZE_READ_10M_100M,
       count(*) FILTER (is_read AND bytes >= 104857600 AND bytes < 1073741824) AS POSIX_SIZE_READ_100M_1G,
       count(*) FILTER (is_read AND bytes >= 1073741824) AS POSIX_SIZE_READ_1G_PLUS,
       count(*) FILTER (is_write AND bytes < 100) AS POSIX_SIZE_WRITE_0_100,
       count(*) FILTER (is_write AND bytes >= 100 AND bytes < 1024) AS POSIX_SIZE_WRITE_100_1K,
       count(*) FILTER (is_write AND bytes >= 1024 AND bytes < 10240) AS POSIX_SIZE_WRITE_1K_10K,
       count(*) FILTER (is_write AND bytes >= 10240 AND bytes < 102400) AS POSIX_SIZE_WRITE_10K_100K,
       count(*) FILTER (is_write AND bytes >= 102400 AND bytes < 1048576) AS POSIX_SIZE_WRITE_100K_1M,
       count(*) FILTER (is_write AND bytes >= 1048576 AND bytes < 4194304) AS POSIX_SIZE_WRITE_1M_4M,
       count(*) FILTER (is_write AND bytes >= 4194304 AND bytes < 10485760) AS POSIX_SIZE_WRITE_4M_10M,
       count(*) FILTER (is_write AND bytes >= 10485760 AND bytes < 104857600) AS POSIX_SIZE_WRITE_10M_100M,
       count(*) FILTER (is_write AND bytes >= 104857600 AND bytes < 1073741824) AS POSIX_SIZE_WRITE_100M_1G,
       count(*) FILTER (is_write AND bytes >= 1073741824) AS POSIX_SIZE_WRITE_1G_PLUS,
       coalesce(total(CASE WHEN is_read THEN duration_ns END), 0) / 1e9 AS POSIX_F_READ_TIME,
       coalesce(total(CASE WHEN is_write THEN duration_ns END), 0) / 1e9 AS POSIX_F_WRITE_TIME,
       coalesce(total(CASE WHEN NOT is_read AND NOT is_write THEN duration_ns END), 0) / 1e9 AS POSIX_F_META_TIME
FROM placed AS c LEFT JOIN file_names AS f ON c.file = f.file
GROUP BY c.file;
