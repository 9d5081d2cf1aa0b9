-- The engine-specific part of the views: another SQL engine replaces only this file.

-- Documentation of what `query --tables`, `query --describe` and docs/sql.md show besides the
-- views. A block that begins with TABLE or FUNCTION documents what the program itself makes; a
-- block above a CREATE documents that statement.

-- TABLE events: one row per event of any layer, in a common shape; in a report, the selected ones.
--   layer, event      names of the schema
--   class             class of the operation: the event's name without its layer ('read', 'open'). For a
--                     completed block request, the operation ('read', 'write', 'flush'); for calls that differ
--                     in cost, the call ('fsync', 'flush')
--   call              the function or system call; NULL: the event has none
--   op_id             the operation that it belongs to; 0: none, or one that is not recorded
--   parent_op         the operation in which, or for which, that one began; 0: none
--   pid, tid, cpu     the process, its thread, and the processor that ran it
--   ts_ns             time of the event, or begin of the span (CLOCK_MONOTONIC)
--   duration_ns       duration; NULL: not a span
--   bytes             bytes moved: the result of calls that move data, the length of block I/O, or cache pages
--                     times 4096; 0: also of a call that only peeked (MSG_PEEK); NULL: no data moves
--   error             0, a negative errno, or unfinished; see is_error(error) and is_unfinished(error)
--   file, to_file     keys of files (0: none); to_file is the second file of a copy
--   path, to_path     keys of strings (0: none): the path in the call, and the new path of a rename; for an
--                     operation of io_uring, those of its async_path
--   at_fd, to_at_fd   directory descriptor of a relative path; -100: the current directory
--   operation         the class, with the purpose if the event has one: 'write metadata'

-- TABLE all_events: one row per event of the whole trace, even if `events` has only a selection.
--   columns as in events

-- TABLE path_calls: the selected rows of all_path_calls.
--   columns as in all_path_calls

-- TABLE links: the selected rows of all_links.
--   columns as in all_links

-- TABLE requests: the selected rows of block_complete.
--   columns as in block_complete

-- TABLE file_accesses: the selected rows of all_file_accesses.
--   columns as in all_file_accesses

-- TABLE causes: one row per cause in links.
--   number           sort order
--   cause, meaning   its name and its meaning
--   is_remainder     1: no process is known for it
--   words            the cause within a sentence

-- TABLE waits: the selected rows of all_waits.
--   columns as in all_waits

-- TABLE wait_reasons: one row per reason of a wait.
--   reason, meaning   its name and its meaning; only sums of waits have the reason cpu, for the time in which a
--                     task was ready to run
--   is_for_others     1: another program or the user ends the wait, not I/O

-- TABLE tables: one row for each table of the trace.
--   name, layer         as in the schema
--   row_count           rows, according to block headers; for a damaged trace, more than can be read
--   first_ns, last_ns   smallest and largest time in it

-- TABLE value_names: one row per name of a number.
--   value_table, number, name   a set of flags contains the name if flags & mask = number
--   mask                        the bits to compare

-- TABLE layer_list: one row per layer, from the top down.
--   layer, depth, source     its name, its rank from 1, the source of its events
--   place                    its part in an I/O; layer_at(place) gives the layer of a place
--   call_rank                files and processes are counted at the recorded layer with the smallest; 0: never
--                            at this one
--   has_spans, moves_bytes   whether any of its events has a duration, and whether any has a number of bytes
--                            moved

-- TABLE manifest: one row per fact about the trace; see trace_info.
--   key, value   the fact, and its value as text

-- TABLE hooks: one row per event, with the hook that records it.
--   event, source, tier   the event, its source, and the permission that the kernel must grant
--   hook                  the hook; empty: none
--   reason, remedy        why the preferred hook was refused, and how to lift that

-- TABLE counters: one row per counter of a problem with the data.
--   counter, source, severity, doc   its name, the source that counts, its severity, its meaning
--   value                            the count

-- TABLE finding_rules: one row per rule that `iotrail findings` applies.
--   id, name, severity, title   its stable id, its name, critical, warning or note, and its title
--   needs                       the layers and events without which it cannot be judged
--   sentence, advice            the texts of a finding; {column} stands for a value of finding_NAME

-- TABLE finding_limits: one row per limit of a rule; `iotrail findings --limit ID.NAME=VALUE` changes it.
--   id, name         the rule, and the name of the limit
--   value, meaning   its value in this session, and what it decides

-- TABLE source_tallies: the rows of the view sources.
--   columns as in sources

-- TABLE disk_counters: one row per disk that completes requests, with what it counted by itself
-- (/sys/block/NAME/stat). disk_balance compares it with the trace. Disks without I/O are left out.
--   device, name        the whole disk
--   recorded            'all': each of its requests is recorded; 'followed': those for recorded tasks and files;
--                       'none'
--   begin_ns, end_ns    when the counters were read (CLOCK_MONOTONIC)
--   read_bytes, written_bytes, discarded_bytes, flushes   growth of the counters in between
--   in_flight           requests at the device at the begin; their completion is counted, but not recorded
--   request_max_bytes   the largest request that the kernel makes for it

-- TABLE selection: the time range of `events`. One row.
--   from_ns, to_ns   from the first time on, before the second

-- FUNCTION errno_name(error): 'ENOENT' for -2, 'unfinished' for an unfinished operation, empty for
-- 0 and above.

-- FUNCTION shown_path_at(file, ts_ns): the path of a file at a time, in the form of shown_path in
-- file_paths. Empty: a file seen without a path, see given_paths; NULL: no such file.

-- FUNCTION path_at(file, ts_ns): the same without ' (deleted)'.

-- FUNCTION flags_text(value_table, flags): flags as text: 'O_RDWR|O_CREAT' for flags_text('open',
-- 66). The value table of a field is its meaning without `flags_`.

-- FUNCTION choice_text(value_table, flags): the operation alone, 'read', where flags_text('block',
-- flags) shows 'read|sync'. '' if the flags have none.

-- FUNCTION is_on_descriptor(call): true for C library functions that work on a descriptor instead
-- of a stream.

-- FUNCTION is_served(file_system): true for types of file systems that get their data from a server
-- or from another program: NFS, FUSE, ...

-- FUNCTION op_text(op_id): an operation in the short form of `script`: '1.27' is the 27th of CPU 1,
-- 'p3.7' the 7th of preload thread 3.

-- FUNCTION folded_path(path): a path with * in the place of each number, so that files with
-- numbered names are one kind.

-- FUNCTION is_error(error): true for a negative errno, false for an unfinished operation.

-- FUNCTION is_unfinished(error): true if the recording stopped or the task died before the end.

-- FUNCTION bytes_of_pages(pages): the size of page cache pages in bytes.

-- FUNCTION at_fdcwd(): the number that stands for the current directory in a descriptor column.

-- FUNCTION union_length(from_ns, until_ns): an aggregate: the time with at least one span in
-- progress.

-- FUNCTION busiest_share(from_ns, until_ns, window_ns): an aggregate: the largest share of a window
-- of that length with at least one span in progress, wherever the window begins.

-- FUNCTION overlap_times(from_ns, until_ns, what): an aggregate: a list of {what, ns}. `what` is a
-- combination of bits, `ns` the time in which the spans in progress had exactly these bits.

-- FUNCTION merged_spans(from_ns, until_ns): an aggregate: a list of {from_ns, until_ns}, the times with at
-- least one span in progress.

-- FUNCTION span_gaps(from_ns, until_ns): an aggregate: a list of {from_ns, until_ns}, the times between the
-- spans, those without a length included.

-- FUNCTION peak_length(at_ns, from, until, is_removed): an aggregate: each row adds a range to a set of
-- numbers, or removes it, at a time. The result is the largest size that the set had.

-- FUNCTION TABLE(from_ns := ..., to_ns := ...): the rows of an event table in a time range; reads
-- only the blocks of that range. For example syscall_read(from_ns := 5, to_ns := 9).

-- The UTC date of nanoseconds since 1970, the unit of file and snapshot times; NULL: outside the
-- years 1677 to 2262.
CREATE MACRO date_of(real_ns) AS CASE WHEN abs(CAST(real_ns AS HUGEINT)) < 9223286400000000000
  THEN make_timestamp_ns(CAST(real_ns AS BIGINT)) END;

-- The UTC wall-clock time of a time in the trace.
CREATE MACRO wall_clock(ts_ns) AS date_of(CAST(ts_ns AS HUGEINT) +
  (SELECT CAST(value AS HUGEINT) FROM manifest WHERE "key" = 'monotonic_to_real_ns'));

-- The exact median: the smallest value of x that at least half of the rows do not exceed. It shares
-- one aggregate with p99, so that a query with both collects the values once.
CREATE MACRO p50(x) AS quantile_disc(x, [0.5, 0.99])[1];

-- The smallest value of x that at least 99 of 100 rows do not exceed, exact.
CREATE MACRO p99(x) AS quantile_disc(x, [0.5, 0.99])[2];

-- The sum as a whole number. A trace may hold any numbers: a sum that is too large becomes the
-- largest number.
CREATE MACRO total(x) AS CAST(CASE WHEN sum(x) > 9223372036854775807 THEN 9223372036854775807 ELSE sum(x) END AS BIGINT);

-- The mean as a whole number, with the same limit.
CREATE MACRO mean(x) AS CASE WHEN avg(x) >= 9223372036854775807 THEN 9223372036854775807 ELSE CAST(round(avg(x)) AS BIGINT) END;

-- The sum of two numbers that are not negative; if it is too large, the largest number of 64 bits.
CREATE MACRO plus(a, b) AS CASE WHEN CAST(a AS UBIGINT) > CAST(18446744073709551615 AS UBIGINT) - CAST(b AS UBIGINT)
  THEN CAST(18446744073709551615 AS UBIGINT) ELSE CAST(a AS UBIGINT) + CAST(b AS UBIGINT) END;

-- The difference of two numbers that are not negative; 0 instead of a negative result, which times
-- of a damaged trace may give.
CREATE MACRO minus(a, b) AS CASE WHEN CAST(b AS UBIGINT) <= CAST(a AS UBIGINT) THEN CAST(a AS UBIGINT) - CAST(b AS UBIGINT)
  WHEN a IS NOT NULL AND b IS NOT NULL THEN CAST(0 AS UBIGINT) END;

-- The whole quotient of two numbers that are not negative. The engine divides numbers of 128 bits bit by bit.
CREATE MACRO quotient(a, b) AS CASE WHEN a <= 18446744073709551615 AND b <= 18446744073709551615
  THEN CAST(CAST(a AS UBIGINT) // CAST(b AS UBIGINT) AS HUGEINT) ELSE CAST(a AS HUGEINT) // CAST(b AS HUGEINT) END;

-- The bits set in both numbers.
CREATE MACRO bitAnd(a, b) AS a & b;

-- True for classes that read or write bytes of files.
CREATE MACRO moves_bytes(class) AS reads(class) OR writes(class);

-- True for classes that move bytes to the program, from files, pipes or sockets.
CREATE MACRO takes_bytes(class) AS reads(class) OR receives(class);

-- True for classes that move bytes from the program, to files, pipes or sockets.
CREATE MACRO gives_bytes(class) AS writes(class) OR sends(class);

-- Layer under which it is counted: an asynchronous operation counts as one of the kernel's.
CREATE MACRO counts_for(layer) AS CASE layer WHEN layer_at('later') THEN layer_at('kernel') ELSE layer END;

-- A path without `./`, double slashes and a trailing slash.
CREATE MACRO tidy_path(path) AS regexp_replace(replace(regexp_replace(path, '/+', '/', 'g'), '/./', '/'), '^\./|(.)/$', '\1');

-- The path of a directory at that time: from its file, or else its first known path.
CREATE MACRO place_of(directory_file, directory, ts_ns) AS
  CASE WHEN directory_file = 0 THEN directory ELSE coalesce(nullif(shown_path_at(CAST(directory_file AS UINTEGER), ts_ns), ''), directory) END;

-- Time at which to look up the file name of an operation: its begin. For an asynchronous one its
-- end, because it may wait for another operation that renames the file.
CREATE MACRO named_at(layer, ts_ns, duration_ns) AS CASE WHEN layer = layer_at('later') THEN plus(ts_ns, coalesce(duration_ns, 0)) ELSE ts_ns END;

-- A path as given by a call, in tidy form. A relative path gets its directory in front, if that is
-- known. A text longer than a path can be (PATH_MAX) gives NULL, because a hostile trace may have
-- one in each row.
CREATE MACRO path_in(directory, given) AS CASE WHEN strlen(given) >= 4096 THEN NULL WHEN given LIKE '/%' OR directory IS NULL
  THEN tidy_path(given) ELSE directory || CASE WHEN directory = '/' THEN '' ELSE '/' END || tidy_path(given) END;

-- A container as its runtime shows it: the first 12 digits of an id; a name unchanged.
CREATE MACRO short_container(container) AS CASE WHEN regexp_full_match(container, '[0-9a-f]{64}') THEN left(container, 12) ELSE container END;

-- An aggregate over paths of one kind: the path, or the kind if there are several.
CREATE MACRO shown_files(path) AS CASE WHEN min(path) = max(path) THEN min(path) ELSE folded_path(min(path)) END;
