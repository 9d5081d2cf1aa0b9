# SPDX-License-Identifier: BSD-3-Clause
"""Programs that push their own block I/O: what they pushed is in the trace, or counted as lost."""
import os
import pathlib
import signal
import subprocess
import unittest

import harness

FIRST_LANE = -(-(48 + 16 + 256 + 64 * 144) // 64) * 64  # behind numbers, names and devices
PRODUCER = os.environ.get("IOTRAIL_PRODUCER", "")


@unittest.skipUnless(pathlib.Path(PRODUCER).is_file(), "the example was not built")
class Producer(harness.AcceptanceTest):
    def push(self, name, threads, count, *records):
        done = harness.run(PRODUCER, self.folder / name, threads, count, *records)
        self.assertEqual(done.returncode, 0, done.stderr)
        words = done.stdout.split()
        return int(words[1]), int(words[3].rstrip(","))

    def imported(self, *names):
        path = self.folder / "t.iotrail"
        done = harness.run(harness.IOTRAIL, "import", *(self.folder / name for name in names), "-o", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        return harness.Recording(path, done)

    def lost(self, trace):
        return trace.manifest["counters"].get("import_malformed", 0)

    def rows(self, trace, table):
        return trace.value(f"SELECT count(*) FROM {table}")

    def test_each_push_of_all_threads_is_there(self):
        pushed, lost = self.push("a", 4, 20_000)
        self.assertEqual((pushed, lost), (160_000, 0))
        trace = self.imported("a")
        self.assertEqual(self.lost(trace), 0)
        (row,) = trace.query("SELECT count(*) AS n, count(DISTINCT bio) AS bios, sum(bytes) AS bytes, count(DISTINCT tid) AS threads, "
                             "count(DISTINCT sector) AS sectors, sum(CASE WHEN choice_text('block', flags) = 'write' THEN 1 ELSE 0 END) "
                             "AS writes FROM block_queue")
        self.assertEqual([int(value) for value in row.values()], [80_000, 80_000, 80_000 * 4096, 4, 40_000, 40_000])
        self.assertEqual(self.rows(trace, "block_complete"), 80_000)
        self.assertEqual(trace.value("SELECT name FROM devices"), "made0")
        self.assertEqual(self.rows(trace, "block_complete WHERE error <> 0 OR duration_ns > 60000000000"), 0)

    def test_what_does_not_fit_is_counted(self):
        pushed, lost = self.push("a", 3, 1000, 1600)
        self.assertGreaterEqual(lost, pushed - 1600)
        trace = self.imported("a")
        written = self.rows(trace, "block_queue") + self.rows(trace, "block_complete")
        self.assertEqual(self.lost(trace), lost)
        self.assertLessEqual(written + lost, pushed)
        self.assertGreaterEqual(written, 1600 - 3 * 2)

    def test_two_producers_and_a_kill(self):
        self.push("whole", 2, 5000)
        endless = subprocess.Popen([PRODUCER, self.folder / "killed", "2", str(1 << 40), "400000"], stdout=subprocess.DEVNULL)
        self.addCleanup(endless.wait)
        self.addCleanup(endless.kill)
        harness.wait_for(lambda: (self.folder / "killed").exists() and self.places(self.folder / "killed") > 20_000, "pushes")
        endless.send_signal(signal.SIGKILL)
        endless.wait()
        trace = self.imported("whole", "killed")
        taken, skipped = self.places(self.folder / "killed"), self.skipped(self.folder / "killed")
        rows = {int(row["pid"]): int(row["n"]) for row in trace.query(
            "SELECT pid, count(*) AS n FROM (SELECT pid FROM block_queue UNION ALL SELECT pid FROM block_complete) GROUP BY pid")}
        self.assertEqual(len(rows), 2)
        self.assertEqual(min(rows.values()), 20_000)
        self.assertEqual(rows[endless.pid] + self.lost(trace), taken + skipped)
        self.assertLessEqual(self.lost(trace) - skipped, 2, "more than one unfinished push of each thread")
        self.assertEqual(self.rows(trace, "devices"), 2)

    def lanes(self, path):
        """(places taken, room, skipped) of each lane: an independent reading of the file's head."""
        data = path.read_bytes()[:16384]
        if data[:8] != b"IOTPROD1":
            return []
        lanes = int.from_bytes(data[16:20], "little")
        room = int.from_bytes(data[24:32], "little")
        begin = FIRST_LANE
        return [(min(int.from_bytes(data[at:at + 8], "little"), room), room, int.from_bytes(data[at + 8:at + 16], "little"))
                for at in range(begin, begin + 64 * lanes, 64)]

    def places(self, path):
        return sum(taken for taken, _, _ in self.lanes(path))

    def skipped(self, path):
        return sum(skipped for _, _, skipped in self.lanes(path))

    def test_bad_files(self):
        head = harness.run(PRODUCER, self.folder / "a", 1, 10, 100)
        self.assertEqual(head.returncode, 0)
        again = harness.run(PRODUCER, self.folder / "a", 1, 10)
        self.assertEqual(again.returncode, 1)
        self.assertIn("File exists", again.stderr)
        self.assertEqual(harness.run(PRODUCER, self.folder / "b", 1, 10, 1 << 30).returncode, 1)
        self.assertFalse((self.folder / "b").exists())
        whole = (self.folder / "a").read_bytes()
        for size in (0, 7, 4000, 20_000):
            (self.folder / "cut").write_bytes(whole[:size])
            done = harness.run(harness.IOTRAIL, "import", self.folder / "cut", "--from", "producer", "-o", self.folder / f"{size}.iotrail")
            self.assertIn(done.returncode, (0, 1), done.stderr)


if __name__ == "__main__":
    harness.main()
