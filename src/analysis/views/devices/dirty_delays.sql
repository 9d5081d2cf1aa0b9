-- How long pages had been dirty when a bio took them to a device: one row per trigger of write-back and
-- class of delay. Bytes without a known write are not in it.
--   set_off_by    as in write_backs
--   class         of the delay: from 64 ns * 2 ^ (class / 3) on; shorter ones are in class 0
--   bytes, bios   as in write_backs
CREATE VIEW dirty_delays AS
SELECT set_off_by, CAST(floor(3 * log2(greatest(minus(ts_ns, stored_ns), 64) / 64)) AS INTEGER) AS class, total(bytes) AS bytes,
       count(*) AS bios
FROM links
WHERE set_off_by IS NOT NULL AND stored_ns IS NOT NULL
GROUP BY ALL;
