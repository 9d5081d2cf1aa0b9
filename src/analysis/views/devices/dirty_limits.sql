-- Mounted file systems with a strict limit of unwritten data (strict_limit in /sys/class/bdi): one row per file system,
-- used or not, as set when the recording ended. The kernel holds their writers back at this limit, however little is
-- unwritten on the machine.
--   device       of the file system, as in files
--   max_percent  the limit, as a part of vm.dirty_ratio: max_ratio in /sys/class/bdi
CREATE VIEW dirty_limits AS
SELECT TRY_CAST(split_part("key", '.', 4) AS UINTEGER) AS device, TRY_CAST(value AS UINTEGER) AS max_percent
FROM manifest
WHERE starts_with("key", 'tag.iotrail.dirty.') AND TRY_CAST(split_part("key", '.', 4) AS UINTEGER) IS NOT NULL;
