-- id: F45
-- title: a copy through the program
-- shown: files
-- severity: note
-- needs: syscall
-- limit: bytes = 67108864; fewer bytes are no finding
-- rows: calls.bytes >= $bytes
-- sentence: {program} read {bytes} of {subject} and wrote as much to {target}, piece by piece.
-- advice: If it changes nothing, let the kernel copy: copy_file_range, sendfile, or a reflink (FICLONE).
WITH
  calls AS (
    SELECT program, tid, class, bytes, file, path, op_id, ts_ns, until_ns, duration_ns, lead(class) OVER t AS next_class, lead(bytes) OVER t AS next_bytes,
           lead(file) OVER t AS next_file, lead(path) OVER t AS next_path, lead(until_ns) OVER t AS next_until_ns
    FROM file_calls
    WHERE moves_bytes(class) AND bytes > 0
    WINDOW t AS (PARTITION BY tid ORDER BY ts_ns)
  )
SELECT program, shown_files(path) AS subject, shown_files(next_path) AS target, count(*) AS pieces, total(bytes) AS bytes,
       union_length(ts_ns, next_until_ns) AS took_ns, CAST(0 AS BIGINT) AS could_save_ns, arg_max(op_id, duration_ns) AS op_id
FROM calls
WHERE reads(class) AND writes(next_class) AND bytes = next_bytes AND file <> next_file
GROUP BY program, tid, folded_path(path), folded_path(next_path)
HAVING total(bytes) >= $bytes
