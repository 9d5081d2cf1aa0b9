-- Files by how often their pages were read and written: one row per file. Calls of the layers of
-- asked_layers, at known positions.
--   place             1: the file with the most page accesses
--   file, path        key of the file, and its last name
--   accesses, bytes   number of calls, and the sum of their bytes
--   page_accesses     pages of 4096 bytes that each call touched, summed up
--   distinct_pages    number of different ones
--   accesses_per_page   page_accesses by distinct_pages: 1: each page once
--   share             page_accesses by those of all files
--   running_share     the same for this file and all before it
CREATE VIEW hot_files AS
WITH
  sums AS (
    SELECT file, count(*) AS accesses, total(bytes) AS bytes, total(pages) AS page_accesses, union_length(first_page, plus(first_page, pages)) AS distinct_pages
    FROM page_accesses
    GROUP BY file
  ),
  ranked AS (SELECT *, row_number() OVER (ORDER BY page_accesses DESC, bytes DESC, file) AS place FROM sums),
  whole AS (SELECT sum(page_accesses) AS all_accesses FROM sums)
SELECT r.place AS place, r.file AS file, n.path AS path, r.accesses AS accesses, r.bytes AS bytes, r.page_accesses AS page_accesses,
       r.distinct_pages AS distinct_pages, r.page_accesses / nullif(r.distinct_pages, 0) AS accesses_per_page,
       r.page_accesses / w.all_accesses AS share, sum(r.page_accesses) OVER (ORDER BY r.place) / w.all_accesses AS running_share
FROM ranked AS r CROSS JOIN whole AS w LEFT JOIN file_names AS n ON r.file = n.file;
