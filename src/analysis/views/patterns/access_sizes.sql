-- Sizes of the accesses of each file, exact: one row per layer, file, disk, direction and size.
--   layer, file, device, path, direction   as in access_streams
--   bytes             size of an access
--   accesses          number of accesses of that size
--   share             by all accesses of the file in that layer and direction
CREATE VIEW access_sizes AS
WITH
  counted AS (
    SELECT layer, file, device, is_read, bytes, count(*) AS accesses, sum(count(*)) OVER (PARTITION BY layer, file, device, is_read) AS all_accesses
    FROM file_accesses
    GROUP BY layer, file, device, is_read, bytes
  )
SELECT c.layer AS layer, c.file AS file, n.path AS path, c.device AS device, CASE WHEN c.is_read THEN 'read' ELSE 'write' END AS direction,
       c.bytes AS bytes, c.accesses AS accesses, c.accesses / c.all_accesses AS share
FROM counted AS c LEFT JOIN file_names AS n ON c.file = n.file;
