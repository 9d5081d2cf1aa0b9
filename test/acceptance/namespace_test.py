# SPDX-License-Identifier: BSD-3-Clause
"""Programs in pid namespaces of their own: each has one identity in all layers, its ids in the
initial namespace."""
import os
import unittest

import harness

WRITES = 100000
CLOCK_OFFSET_S = 100_000  # of a time namespace; times that forget it lie so far apart
NEAR_NS = CLOCK_OFFSET_S * 10**9 // 100
DD = f"dd if=/dev/zero of=/dev/null bs=1 count={WRITES} status=none"
ROWS_OF_DD = "SELECT DISTINCT pid, tid FROM {0} WHERE result = 1 ORDER BY pid"


class Namespaces(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.require_program("unshare")
        if os.geteuid() != 0:
            self.skipTest("making a pid namespace needs root")

    def assert_two_processes(self, recording):
        self.assertNotIn("preload_task_unknown", recording.manifest["counters"])
        writers = recording.query(ROWS_OF_DD.format("app_write"))
        self.assertEqual(len(writers), 2, writers)
        for writer in writers:
            self.assertEqual(writer["pid"], writer["tid"])
            self.assertGreater(int(writer["pid"]), 1)
        named = recording.query("SELECT DISTINCT pid FROM processes WHERE comm = 'dd' ORDER BY pid")
        self.assertEqual([row["pid"] for row in named], [row["pid"] for row in writers])
        return writers

    @harness.long
    def test_two_namespaces_are_two_processes(self):
        recording = self.record("sh", "-c", f"unshare -pf {DD}; unshare -pf {DD}", options=("--layers", "app"))
        self.assert_adds_up(recording)
        self.assert_two_processes(recording)

    @harness.long
    def test_program_that_sees_its_own_proc_only(self):
        recording = self.record("sh", "-c", f"unshare -pf --mount-proc {DD}; unshare -pf --mount-proc {DD}",
                                options=("--layers", "app"))
        self.assert_adds_up(recording)
        self.assert_two_processes(recording)

    def test_layers_agree_on_the_process(self):
        recording = self.record("sh", "-c", f"unshare -pf {DD}; unshare -pf {DD}", options=("--layers", "app,syscall"))
        self.require(recording, "app", "syscall")
        self.assert_adds_up(recording)
        writers = self.assert_two_processes(recording)
        self.assertEqual(recording.query(ROWS_OF_DD.format("syscall_write")), writers)

    def record_inside(self, script, *layers):
        """A recorder in a pid namespace of its own, as in a container."""
        path = self.folder / "inside.iotrail"
        process = harness.run("unshare", "-pf", "--mount-proc", "sh", "-c", script,
                              env={**os.environ, "RECORD": f"{harness.IOTRAIL} record -o {path} --layers {','.join(layers)}"})
        self.assertEqual(process.returncode, 0, process.stderr)
        recording = harness.Recording(path, process)
        self.require(recording, *layers)
        self.assert_adds_up(recording)
        return recording

    def test_recorder_in_a_namespace_of_its_own(self):
        recording = self.record_inside(f"$RECORD -- sh -c '{DD}; {DD}'", "app", "syscall", "process")
        writers = self.assert_two_processes(recording)
        self.assertEqual(recording.query(ROWS_OF_DD.format("syscall_write")), writers)
        self.assertEqual(recording.value(f"SELECT count(*) FROM syscall_write WHERE result = 1"), 2 * WRITES)

    @harness.long
    def test_recorder_in_a_namespace_of_its_own_follows_a_process_there(self):
        recording = self.record_inside(f"sh -c 'until grep -q RUNNING {self.folder}/inside.iotrail/manifest.json; do sleep 0.1; done 2>/dev/null; {DD}; sleep 0.1' "
                                       "& $RECORD -p $!", "syscall", "process")
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_write WHERE result = 1"), WRITES)
        (writer,) = recording.query(ROWS_OF_DD.format("syscall_write"))
        self.assertEqual(recording.value(f"SELECT comm FROM processes WHERE pid = {writer['pid']} ORDER BY since_ns DESC LIMIT 1"), "dd")

    def assert_layers_agree_on_the_time(self, recording):
        self.require(recording, "app", "syscall")
        self.assert_adds_up(recording)
        apart = recording.value("SELECT max(abs(CAST(s.ts_ns AS BIGINT) - CAST(a.ts_ns AS BIGINT))) "
                                "FROM (SELECT min(ts_ns) AS ts_ns FROM app_write) AS a, "
                                "(SELECT min(ts_ns) AS ts_ns FROM syscall_write) AS s")
        self.assertLess(int(apart), NEAR_NS)
        row, = recording.query("SELECT max(start_ns) AS start, max(since_ns) AS since FROM processes WHERE comm = 'dd'")
        self.assertLess(abs(int(row["since"]) - int(row["start"])), NEAR_NS, row)

    @harness.long
    def test_recorder_in_a_time_namespace(self):
        path = self.folder / "t.iotrail"
        process = harness.run("unshare", "-T", "--monotonic", CLOCK_OFFSET_S, "--boottime", CLOCK_OFFSET_S // 2, "-f", harness.IOTRAIL,
                              "record", "-o", path, "--layers", "app,syscall", "--", *DD.split())
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assert_layers_agree_on_the_time(harness.Recording(path, process))

    def test_program_in_a_time_namespace(self):
        self.assert_layers_agree_on_the_time(
            self.record("unshare", "-T", "--monotonic", str(CLOCK_OFFSET_S), "-f", *DD.split(), options=("--layers", "app,syscall")))

    def test_program_has_one_row(self):
        recording = self.record(*DD.split(), options=("--layers", "app,syscall"))
        self.require(recording, "app", "syscall")
        rows = recording.query("SELECT pid, start_ns, since_ns FROM processes")
        self.assertEqual(len(rows), 1, rows)
        self.assertGreater(int(rows[0]["start_ns"]), 0)
        self.assertLess(int(rows[0]["start_ns"]), int(rows[0]["since_ns"]))
        joined = recording.value("SELECT count(*) FROM app_write AS w JOIN processes AS p ON w.pid = p.pid")
        self.assertEqual(int(joined), int(recording.value("SELECT count(*) FROM app_write")))


if __name__ == "__main__":
    harness.main()
