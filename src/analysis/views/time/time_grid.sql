-- The grid of pictures over time. One row.
--   bin_ns       width of a bin; the run has at most 600
--   map_bin_ns   the same for maps of places, at most 200
CREATE VIEW time_grid AS
SELECT greatest(1, (duration_ns + 599) // 600) AS bin_ns, greatest(1, (duration_ns + 199) // 200) AS map_bin_ns
FROM run;
