-- What the views need and engines spell differently: on another engine only this file is another one.

-- What is there besides the views, for `query --tables`, `query --describe` and docs/sql.md. A block that begins with
-- TABLE or FUNCTION tells of what the program itself makes; one above a CREATE tells of that.

-- TABLE events: all events of all layers in one shape, or of the selection of a report.
--   layer, event      names of the schema
--   class             what it does: the event's name without its layer ('read', 'open'); of a completed block request,
--                     the operation ('read', 'write', 'flush'); of calls that differ in cost, the call ('fsync', 'flush')
--   call              the function or system call, where the event tells, else NULL
--   op_id             the operation under which it happened; 0: none, or one that is not recorded
--   parent_op         the operation inside which, or for which, that one began; 0: none
--   pid, tid, cpu     the process, its thread, and the processor that ran it
--   ts_ns             when it happened or began (CLOCK_MONOTONIC)
--   duration_ns       NULL: not a span
--   bytes             bytes moved: the result of calls that move data, the length of block I/O, pages times 4096 of the
--                     cache; NULL where no data moves
--   error             0, a negative errno, or unfinished: is_error(error) and is_unfinished(error) tell them apart
--   file, to_file     keys of files (0: none); to_file is the second file of a copy
--   path, to_path     keys of strings (0: none): the path that a call names, and the new one of a rename; of an operation of
--                     io_uring those of its async_path
--   at_fd, to_at_fd   where a relative path begins: a descriptor; -100: the current directory
--   operation         the class, with what it was for where the event tells: 'read ahead', 'write metadata'

-- TABLE all_events: events of the whole trace, where `events` was narrowed down to a selection.
--   columns as in events

-- TABLE path_calls: those of all_path_calls that are selected.
--   columns as in all_path_calls

-- TABLE links: those of all_links that are selected.
--   columns as in all_links

-- TABLE requests: those of block_complete that are selected.
--   columns as in block_complete

-- TABLE causes: what the causes of links mean.
--   number           their order
--   cause, meaning   its name, and in words
--   is_remainder     1: one that names nobody

-- TABLE waits: those of all_waits that are selected.
--   columns as in all_waits

-- TABLE wait_reasons: what calls wait for, in words.
--   reason, meaning   its name, and what it is; cpu, of the time in which a task could have run, is only in sums of waits
--   is_for_others     1: for other programs or the user, not for I/O

-- TABLE tables: one row for each table of the trace.
--   name, layer         as in the schema
--   row_count           rows, as block headers tell: of a damaged trace, more than can be read
--   first_ns, last_ns   smallest and largest time in it

-- TABLE value_names: what numbers stand for.
--   value_table, number, name   a set of flags holds the name where flags & mask = number
--   mask                        bits that decide

-- TABLE layer_list: the layers from the top down.
--   layer, depth, source     its name, its rank from 1, who delivers its events
--   place                    what it is to an I/O: layer_at(place) says which there are
--   call_rank                files and processes are counted at the recorded layer with the smallest; 0: never at this one
--   has_spans, moves_bytes   whether any of its events has a duration, whether any tells bytes that were moved

-- TABLE manifest: what the trace says about itself; see trace_info.
--   key, value   the fact and its value as text

-- TABLE hooks: what serves each event.
--   event, source, tier   the event, who delivers it, what the kernel must allow
--   hook                  what serves it; empty: nothing
--   reason, remedy        why what is preferred was refused, and what would lift that

-- TABLE counters: every counter of what can go wrong with data.
--   counter, source, severity, doc   its name, who counts, how bad it is, what it means
--   value                            how often it happened

-- TABLE source_tallies: as the view sources.
--   columns as in sources

-- TABLE selection: the times that `events` are of. One row.
--   from_ns, to_ns   at or after the one, before the other

-- FUNCTION errno_name(error): 'ENOENT' for -2, 'unfinished' for what did not end, empty for 0 and above.

-- FUNCTION shown_path_at(file, ts_ns): the path that a file had then, as shown_path of file_paths; empty: it was seen without one,
-- see given_paths; NULL: there is no such file.

-- FUNCTION flags_text(value_table, flags): 'O_RDWR|O_CREAT' for flags_text('open', 66). The table of a field is in its
-- meaning, without `flags_`.

-- FUNCTION choice_text(value_table, flags): the operation alone, 'read', of what flags_text('block', flags) shows as
-- 'read|sync'. '' where the flags have none.

-- FUNCTION is_on_descriptor(call): true for the functions of the C library that work on a descriptor, past all streams.

-- FUNCTION op_text(op_id): an operation as `script` shows it, '1.27': the 27th of CPU 1; 'p3.7': the 7th of thread 3 that
-- the preload library follows.

-- FUNCTION is_error(error): true for a negative errno, not for what did not end.

-- FUNCTION is_unfinished(error): true for what was open when the recording stopped or its task died.

-- FUNCTION bytes_of_pages(pages): what pages of the page cache hold.

-- FUNCTION at_fdcwd(): the number that stands for the current directory where descriptors stand.

-- FUNCTION union_length(from_ns, until_ns): an aggregate: the time in which at least one of the spans was going on.

-- FUNCTION overlap_times(from_ns, until_ns, what): an aggregate: a list of {what, ns}, for how long exactly those things went
-- on at once whose bits are set in `what` of the spans.

-- FUNCTION TABLE(from_ns := ..., to_ns := ...): the rows of an event table with what happened in a time; reads no other
-- blocks. For example syscall_read(from_ns := 5, to_ns := 9).

-- The date (UTC) of nanoseconds since 1970, as files and snapshots have them; NULL: beyond the years 1677 to 2262.
CREATE MACRO date_of(real_ns) AS CASE WHEN abs(CAST(real_ns AS HUGEINT)) < 9223286400000000000
  THEN make_timestamp_ns(CAST(real_ns AS BIGINT)) END;

-- Wall-clock time (UTC) of a time of the trace.
CREATE MACRO wall_clock(ts_ns) AS date_of(CAST(ts_ns AS HUGEINT) +
  (SELECT CAST(value AS HUGEINT) FROM manifest WHERE "key" = 'monotonic_to_real_ns'));

-- The median, exact: the smallest value of x that at least half of the rows does not exceed.
-- It is taken out of one aggregate with p99, so that a query with both collects the values once.
CREATE MACRO p50(x) AS quantile_disc(x, [0.5, 0.99])[1];

-- The smallest value of x that at least 99 of 100 rows do not exceed, exact.
CREATE MACRO p99(x) AS quantile_disc(x, [0.5, 0.99])[2];

-- The sum as a whole number. A trace may hold any numbers: a sum that is too large is the largest number there is.
CREATE MACRO total(x) AS CAST(CASE WHEN sum(x) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(x) END AS BIGINT);

-- The mean as a whole number, with the same limit.
CREATE MACRO mean(x) AS CASE WHEN avg(x) >= 9223372036854775807 THEN 9223372036854775807 ELSE CAST(round(avg(x)) AS BIGINT) END;

-- The sum of two numbers that are not negative; where it is too large, the largest number of 64 bits.
CREATE MACRO plus(a, b) AS CASE WHEN CAST(a AS UBIGINT) > CAST(18446744073709551615 AS UBIGINT) - CAST(b AS UBIGINT)
  THEN CAST(18446744073709551615 AS UBIGINT) ELSE CAST(a AS UBIGINT) + CAST(b AS UBIGINT) END;

-- What is left of a number that is not negative when another one is taken from it; 0 where that is larger, as a time of a
-- damaged trace may be.
CREATE MACRO minus(a, b) AS CASE WHEN CAST(b AS UBIGINT) <= CAST(a AS UBIGINT) THEN CAST(a AS UBIGINT) - CAST(b AS UBIGINT)
  WHEN a IS NOT NULL AND b IS NOT NULL THEN CAST(0 AS UBIGINT) END;

-- The bits that are set in both.
CREATE MACRO bitAnd(a, b) AS a & b;

-- Joins by the nearest time always sort: comparing each pair, as for a few rows on the left, takes seconds where the right
-- side has many.
SET asof_loop_join_threshold = 0;

-- True for what moves bytes of files, whichever way.
CREATE MACRO moves_bytes(class) AS reads(class) OR writes(class);

-- The layer that what happens at a layer counts for: an operation whose result is told later is one of the kernel's as well.
CREATE MACRO counts_for(layer) AS CASE layer WHEN layer_at('later') THEN layer_at('kernel') ELSE layer END;

-- A path without `./`, double slashes and a slash at its end.
CREATE MACRO tidy_path(path) AS regexp_replace(replace(regexp_replace(path, '/+', '/', 'g'), '/./', '/'), '^\./|(.)/$', '\1');

-- The path that a directory had then: by its file, or as it was first told.
CREATE MACRO place_of(directory_file, directory, ts_ns) AS
  CASE WHEN directory_file = 0 THEN directory ELSE coalesce(nullif(shown_path_at(CAST(directory_file AS UINTEGER), ts_ns), ''), directory) END;

-- When to look for the name of an operation's file: as it begins. An asynchronous one may wait for another that renames it.
CREATE MACRO named_at(layer, ts_ns, duration_ns) AS CASE WHEN layer = layer_at('later') THEN plus(ts_ns, coalesce(duration_ns, 0)) ELSE ts_ns END;

-- A path as a call gives it, tidy, with the directory before it that it begins at, if that is known and it is not whole.
-- What is longer than a path can be (PATH_MAX) is none: a strange trace may name such a text in each row.
CREATE MACRO path_in(directory, given) AS CASE WHEN strlen(given) >= 4096 THEN NULL WHEN given LIKE '/%' OR directory IS NULL
  THEN tidy_path(given) ELSE directory || CASE WHEN directory = '/' THEN '' ELSE '/' END || tidy_path(given) END;

-- A container as its runtime shows it: of an id the first 12 digits; a name as it is.
CREATE MACRO short_container(container) AS CASE WHEN regexp_full_match(container, '[0-9a-f]{64}') THEN left(container, 12) ELSE container END;
