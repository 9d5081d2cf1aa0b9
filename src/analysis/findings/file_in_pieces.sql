-- id: F46
-- title: a file in many pieces
-- shown: files
-- severity: note
-- needs: fs
-- limit: pieces = 100; fewer pieces are no finding
-- limit: piece_bytes = 65536; larger pieces are no finding
-- limit: bytes = 16777216; a smaller file is no finding
-- rows: fs_allocate >= $pieces
-- sentence: {bytes} of {subject} lie on the disk in {pieces} pieces of {mean_bytes}.
-- advice: Reserve the space first (fallocate), write larger pieces, defragment, or turn copy-on-write off for it.
SELECT path AS subject, bytes, pieces, mean_piece_bytes AS mean_bytes, CAST(0 AS BIGINT) AS could_save_ns, CAST(NULL AS UBIGINT) AS op_id
FROM allocations
WHERE path IS NOT NULL AND pieces >= $pieces AND mean_piece_bytes < $piece_bytes AND bytes >= $bytes
