-- The class of a bio in block_queue by the size of its file, as in io_classes.
CREATE MACRO size_class_of(io_class, file_bytes) AS
  CASE WHEN io_class = 'direct' THEN 'DIRECT'
  WHEN io_class IN ('metadata', 'journal') THEN 'METADATA'
  WHEN io_class NOT IN ('data', 'read_ahead') OR file_bytes < 0 THEN 'MISC'
  WHEN file_bytes <= 4096 THEN 'FILE_4KB'
  WHEN file_bytes <= 16384 THEN 'FILE_16KB'
  WHEN file_bytes <= 65536 THEN 'FILE_64KB'
  WHEN file_bytes <= 262144 THEN 'FILE_256KB'
  WHEN file_bytes <= 1048576 THEN 'FILE_1MB'
  WHEN file_bytes <= 4194304 THEN 'FILE_4MB'
  WHEN file_bytes <= 16777216 THEN 'FILE_16MB'
  WHEN file_bytes <= 67108864 THEN 'FILE_64MB'
  WHEN file_bytes <= 268435456 THEN 'FILE_256MB'
  WHEN file_bytes <= 1073741824 THEN 'FILE_1GB'
  ELSE 'BULK' END;

-- Purposes of device I/O: one row per device, direction, class and file size class (block_queue).
--   device_name   the device of the bios; a stacked device and those below it have separate rows
--   direction     'read', 'write', 'discard', ...
--   io_class      as in block_queue: 'data', 'read_ahead', 'direct', 'metadata', 'journal', 'swap', 'device', 'no_data', 'other'
--   size_class    for 'data' and 'read_ahead' the size of the file at that time, rounded up to a class:
--                 'FILE_4KB', 'FILE_16KB', ... 'FILE_1GB', above that 'BULK'; for the others 'DIRECT',
--                 'METADATA' (including journals), else 'MISC'
--   bios, bytes   number of bios, and the sum of their bytes
CREATE VIEW io_classes AS
WITH
  bios AS (
    SELECT device, flags_text('block', bitAnd(flags, 255)) AS direction, io_class, bytes,
           size_class_of(io_class, file_bytes) AS size_class
    FROM block_queue
  )
SELECT d.name AS device_name, b.direction AS direction, b.io_class AS io_class, b.size_class AS size_class,
       count(*) AS bios, total(b.bytes) AS bytes
FROM bios AS b LEFT JOIN devices AS d ON b.device = d.device
GROUP BY d.name, b.direction, b.io_class, b.size_class;
