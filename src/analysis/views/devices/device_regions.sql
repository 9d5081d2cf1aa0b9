-- Which parts of each disk were used: one row per device, operation and region of so many sectors that a
-- request touched. Regions begin at a sector; what lies before it, or from the last sector on, is left out.
--   columns as in device_regions
CREATE MACRO device_regions_of(region_sectors, from_sector, until_sector) AS TABLE
WITH
  asked AS (
    SELECT device, choice_text('block', flags) AS operation, CAST(sector AS HUGEINT) AS first_sector,
           CAST(sector AS HUGEINT) + (bytes - 1) // 512 AS last_sector
    FROM requests
    WHERE bytes > 0
  ),
  clipped AS (
    SELECT device, operation, CAST(quotient(greatest(first_sector, from_sector) - from_sector, region_sectors) AS BIGINT) AS first_region,
           CAST(quotient(least(last_sector, until_sector - 1) - from_sector, region_sectors) AS BIGINT) AS last_region
    FROM asked
    WHERE last_sector >= from_sector AND first_sector < until_sector
  ),
  counted AS (
    SELECT device, operation, first_region, last_region, count(*) AS requests FROM clipped GROUP BY ALL
    UNION ALL
    SELECT device, 'total' AS operation, first_region, last_region, count(*) AS requests FROM clipped GROUP BY ALL
  ),
  touched AS (SELECT device, operation, unnest(range(first_region, last_region + 1)) AS region, requests FROM counted)
SELECT t.device AS device, any_value(d.name) AS device_name, t.operation AS operation,
       CAST(least((t.region * CAST(region_sectors AS HUGEINT) + from_sector) * 512, 18446744073709551615) AS UBIGINT) AS from_byte,
       CAST(least(((t.region + 1) * CAST(region_sectors AS HUGEINT) + from_sector) * 512, 18446744073709551615) AS UBIGINT) AS to_byte,
       total(t.requests) AS requests
FROM touched AS t LEFT JOIN devices AS d ON t.device = d.device
GROUP BY t.device, t.operation, t.region;

-- Which parts of each disk were used: one row per device, operation and region of 10 MiB that a
-- request touched, as in the LBA histogram of iotrace.
--   device, device_name, operation   as in device_statistics; 'total': all
--   from_byte, to_byte   the first byte of the region, and the one behind its last
--   requests          requests that touch it: a request counts in each region
CREATE VIEW device_regions AS
SELECT device, device_name, operation, from_byte, to_byte, requests FROM device_regions_of(20480, 0, 36893488147419103232);
