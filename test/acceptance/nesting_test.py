# SPDX-License-Identifier: BSD-3-Clause
"""Each system call is found in the C library call that made it, which the program itself knows."""
import os

import harness

CALLS = os.environ["IOTRAIL_CALLS"]
RINGS = ("--layers", "app,syscall", "--buffer", "32M")


class Nesting(harness.AcceptanceTest):
    def places(self, recording):
        self.require(recording, "app", "syscall")
        self.assert_adds_up(recording)
        rows = recording.query("SELECT place, count(*) AS n FROM app_calls_of_syscalls GROUP BY place")
        return {row["place"]: int(row["n"]) for row in rows}

    def assert_only_the_linker_is_outside(self, recording):
        """Calls of the dynamic linker come before the first call of the program itself. The library
        maps and unmaps thread stacks outside of any call."""
        late = recording.value(
            "SELECT count(*) FROM app_calls_of_syscalls AS l JOIN events AS s ON l.syscall_op = s.op_id "
            "WHERE l.place <> 'inside' AND s.class NOT IN ('mmap', 'munmap', 'madvise') "
            "AND s.ts_ns > (SELECT min(ts_ns) FROM events WHERE layer = 'app')")
        self.assertEqual(int(late), 0)

    def test_threads(self):
        threads, calls = 4, 25000
        recording = self.record(CALLS, "threads", self.folder, threads, calls, options=RINGS)
        places = self.places(recording)
        self.assertNotIn("cut", places)
        self.assertGreaterEqual(places["inside"], 2 * threads * calls)
        self.assert_only_the_linker_is_outside(recording)
        for kind in ("read", "write"):  # each at an offset of its own within its thread
            (row,) = recording.query(
                f'SELECT count(*) AS n, count(DISTINCT a.op_id) AS callers FROM syscall_{kind} AS s '
                f'JOIN app_calls_of_syscalls AS l ON l.syscall_op = s.op_id JOIN app_{kind} AS a ON a.op_id = l.app_op '
                f'WHERE a.position = s.position AND a.tid = s.tid AND a.bytes_requested = s.bytes_requested')
            self.assertEqual({name: int(value) for name, value in row.items()},
                             {"n": threads * calls, "callers": threads * calls})

    def test_buffered_streams(self):
        recording = self.record(CALLS, "stdio", self.folder, 200000, options=RINGS)
        self.assertNotIn("cut", self.places(recording))
        self.assert_only_the_linker_is_outside(recording)
        rows = recording.query("SELECT app_call, sum(s.result) AS bytes FROM app_calls_of_syscalls AS l "
                               "JOIN syscall_write AS s ON l.syscall_op = s.op_id GROUP BY app_call ORDER BY app_call")
        self.assertEqual([row["app_call"] for row in rows], ["fclose", "fputc"])
        self.assertEqual(sum(int(row["bytes"]) for row in rows), 200000)
        (row,) = recording.query(
            "SELECT count(*) AS n, count(DISTINCT app_op) AS calls, sum(bytes) AS bytes, count(DISTINCT syscall_op) AS writes "
            "FROM stdio_writes WHERE confidence = 'exact' AND syscall_op IS NOT NULL AND call = 'fputc'")
        self.assertEqual({name: int(value) for name, value in row.items()},
                         # Of 4 KiB each, except the last.
                         {"n": 200000, "calls": 200000, "bytes": 200000, "writes": 49})

    def test_streams_of_programs(self):
        """For each file, calls on streams and system calls carry as many bytes as the file has."""
        data = {name: self.folder / name for name in ("numbers", "shuffled")}
        script = f"seq 20000 >{data['numbers']}; sort -R {data['numbers']} >{data['shuffled']}"
        recording = self.record("sh", "-c", script, options=RINGS)
        self.require(recording, "app", "syscall")
        for path in data.values():
            with self.subTest(path=path.name):
                (row,) = recording.query(
                    "SELECT sum(bytes) AS bytes, count(*) FILTER (WHERE confidence <> 'exact' OR app_op IS NULL OR "
                    f"syscall_op IS NULL) AS unknown FROM stdio_writes JOIN files USING (file) WHERE path = '{path}'")
                self.assertEqual((int(row["bytes"]), int(row["unknown"])), (path.stat().st_size, 0))

    def test_default_layers(self):
        """The layers below do not disturb it: their events share the system call's operation."""
        recording = self.record(CALLS, "threads", self.folder, 2, 1000)
        self.require(recording, "app", "syscall")
        charged = recording.value(
            "SELECT count(*) FROM events AS e JOIN app_calls_of_syscalls AS l ON e.op_id = l.syscall_op "
            "JOIN files AS f ON e.file = f.file "  # open also dirties pages of the disk: metadata
            f"WHERE e.event = 'cache_dirty' AND l.app_call <> 'pwrite' AND f.path LIKE '{self.folder}/thread%'")
        self.assertEqual(int(charged), 0)


if __name__ == "__main__":
    harness.main()
