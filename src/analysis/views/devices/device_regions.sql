-- Which parts of each disk were used: one row per device, operation and region of 10 MiB that a
-- request touched, as in the LBA histogram of iotrace.
--   device, device_name, operation   as in device_statistics; 'total': all
--   from_byte, to_byte   the first byte of the region, and the one behind its last
--   requests          requests that touch it: a request counts in each region
CREATE VIEW device_regions AS
WITH
  asked AS (
    SELECT device, choice_text('block', flags) AS operation, CAST(sector // 20480 AS BIGINT) AS first_region,
           CAST((CAST(sector AS HUGEINT) + (bytes - 1) // 512) // 20480 AS BIGINT) AS last_region
    FROM requests
    WHERE bytes > 0
  ),
  counted AS (
    SELECT device, operation, first_region, last_region, count(*) AS requests FROM asked GROUP BY ALL
    UNION ALL
    SELECT device, 'total' AS operation, first_region, last_region, count(*) AS requests FROM asked GROUP BY ALL
  ),
  touched AS (SELECT device, operation, unnest(range(first_region, last_region + 1)) AS region, requests FROM counted)
SELECT t.device AS device, any_value(d.name) AS device_name, t.operation AS operation,
       CAST(least(CAST(t.region AS HUGEINT) * 10485760, 18446744073709551615) AS UBIGINT) AS from_byte,
       CAST(least(CAST(t.region + 1 AS HUGEINT) * 10485760, 18446744073709551615) AS UBIGINT) AS to_byte, total(t.requests) AS requests
FROM touched AS t LEFT JOIN devices AS d ON t.device = d.device
GROUP BY t.device, t.operation, t.region;
