-- How much of what was read ahead was of use, by file. Loads from mapped memory are not seen, so that a file that is mapped
-- seems to use less.
--   file, path    key of the file, and its last name
--   asked         bytes that the operation that brought them in had asked for
--   ahead         bytes that it brought in besides
--   used          of them, read by a call later
--   unused        of them, not
CREATE VIEW read_ahead AS
SELECT l.file AS file, n.path AS path,
       total(CASE l.cause WHEN 'read' THEN l.bytes ELSE 0 END) AS asked,
       total(CASE l.cause WHEN 'read_ahead' THEN l.bytes ELSE 0 END) AS ahead,
       total(l.used_bytes) AS used,
       total(CASE l.cause WHEN 'read_ahead' THEN l.bytes - least(l.bytes, l.used_bytes) ELSE 0 END) AS unused
FROM links AS l LEFT JOIN file_names AS n ON l.file = n.file
WHERE l.cause IN ('read', 'read_ahead')
GROUP BY l.file, n.path;
