# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of slow or large operations only: --min-latency, --min-size.
Each test knows which of its operations match. The trace must have these with all their effects,
and nothing of the others."""
import os
import shutil
import sys

import harness

USAGE = 2
BLOCK_BYTES = 4096
LARGE_BYTES = 65536
OPENS = "^257 "  # openat, in /proc/PID/syscall
WAIT_NS = 20_000_000
# Reads ten times from a pipe that is filled late, and writes 1,000 blocks in between.
WAITER = f"""
import os, sys, threading, time
reader, writer = os.pipe()
def fill():
    for _ in range(10):
        time.sleep({3 * WAIT_NS / 1e9})
        os.write(writer, b'x')
thread = threading.Thread(target=fill)
thread.start()
file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT, 0o666)
for _ in range(10):
    for block in range(100):
        os.pwrite(file, b'x' * {BLOCK_BYTES}, block * {BLOCK_BYTES})
    os.read(reader, 1)
thread.join()
"""
# Writes 100 small and 10 large blocks straight to the disk.
SIZES = f"""
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
block = mmap.mmap(-1, {LARGE_BYTES})
for i in range(100):
    os.pwrite(file, memoryview(block)[:{BLOCK_BYTES}], i * {BLOCK_BYTES})
for i in range(10):
    os.pwrite(file, block, i * {LARGE_BYTES})
"""


class Thresholds(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.place.mkdir()

    def data(self, size=1 << 20):
        path = self.place / "data"
        with open(path, "wb") as file:
            file.write(b"x" * size)
            os.fsync(file.fileno())
        return path

    def recorded(self, layers, *command, options):
        recording = self.record(*command, options=[*options, "--layers", layers])
        self.require(recording, *layers.split(","))
        self.assert_adds_up(recording)
        return recording

    def left_out(self, recording):
        return sum(source["left_out"] for source in recording.manifest["sources"])

    def of_data(self, recording, table, column="count(*)"):
        return recording.value(f"SELECT {column} FROM {table} JOIN files USING (file) WHERE path LIKE '%/data'")

    def assert_completions(self, recording, bytes_moved):
        """Some kernels do not report each completion; a counter has the missing ones."""
        if recording.manifest["counters"].get("kernel_completion_missed", 0) == 0:
            self.assertEqual(self.of_data(recording, "block_complete", "sum(bytes)"), bytes_moved)

    def test_only_operations_that_wait_are_recorded(self):
        recording = self.recorded("syscall,cache,sched", sys.executable, "-c", WAITER, self.data(),
                                  options=["--min-latency", f"{WAIT_NS // 1000}us"])
        waits = recording.query("SELECT r.duration_ns, (SELECT sum(w.duration_ns) FROM sched_wait w WHERE w.op_id = r.op_id) AS waited_ns "
                                "FROM syscall_read r JOIN files USING (file) WHERE path LIKE 'pipe:%'")
        self.assertEqual(len(waits), 10)
        for row in waits:
            self.assertGreaterEqual(int(row["duration_ns"]), WAIT_NS)
            self.assertGreaterEqual(int(row["waited_ns"]), int(row["duration_ns"]) / 2, "its wait was left out")
        fast = recording.value(f"SELECT count(*) FROM events WHERE layer = 'syscall' AND duration_ns < {WAIT_NS} AND error != -4095")
        self.assertEqual(fast, 0)
        # Except one that was delayed, on a busy machine.
        written = self.of_data(recording, "syscall_write")
        self.assertLess(written, 20)
        self.assertGreaterEqual(self.left_out(recording), 1000 - written)
        orphans = recording.value("SELECT count(*) FROM cache_dirty WHERE op_id != 0 AND op_id NOT IN (SELECT op_id FROM syscall_write)")
        self.assertEqual(orphans, 0, "pages of writes that were left out")

    def test_the_library_s_calls(self):
        recording = self.recorded("app", sys.executable, "-c", WAITER, self.data(), options=["--min-latency", f"{WAIT_NS // 1000}us"])
        self.assertEqual(recording.value("SELECT count(*) FROM app_read JOIN files USING (file) WHERE path LIKE 'pipe:%'"), 10)
        self.assertEqual(recording.value(f"SELECT count(*) FROM events WHERE duration_ns < {WAIT_NS}"), 0)
        self.assertGreater(self.left_out(recording), 900)

    def test_large_calls_with_their_requests(self):
        recording = self.recorded("syscall,cache,block", sys.executable, "-c", SIZES, self.data(), options=["--min-size", "64K"])
        self.assertEqual(self.of_data(recording, "syscall_write"), 10)
        self.assertEqual(self.of_data(recording, "block_queue", "sum(bytes)"), 10 * LARGE_BYTES)
        self.assert_completions(recording, 10 * LARGE_BYTES)
        self.assertGreaterEqual(self.left_out(recording), 200)

    @harness.long
    def test_asynchronous_operations(self):
        self.require_program("fio")
        data = self.data(4 << 20)
        jobs = [f"--filename={data}", "--rw=randread", "--direct=1", "--iodepth=4", "--thread", "--fallocate=none", "--output-format=terse",
                "--name=small", f"--bs={BLOCK_BYTES}", "--io_size=400k", "--name=large", f"--bs={LARGE_BYTES}", "--io_size=2560k"]
        for engine in ("io_uring", "libaio"):
            with self.subTest(engine):
                shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
                recording = self.recorded("syscall,async,block", "fio", f"--ioengine={engine}", *jobs, options=["--min-size", "64K"])
                self.assertEqual(self.of_data(recording, "async_operation"), 40)
                self.assertEqual(self.of_data(recording, "block_queue", "sum(bytes)"), 40 * LARGE_BYTES)
                self.assert_completions(recording, 40 * LARGE_BYTES)

    def test_slow_requests_are_complete(self):
        """Whichever of 2,000 reads are slow: each has its request, and no request belongs to
        another read."""
        self.require_program("fio")
        fio = ["fio", "--name=j", f"--filename={self.data(8 << 20)}", "--rw=randread", "--direct=1", "--bs=4k", "--ioengine=psync",
               "--numjobs=4", "--thread", "--io_size=2m", "--fallocate=none", "--output-format=terse"]
        for least_us in (500, 200, 100, 50):  # the speed depends on the disk
            shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
            recording = self.recorded("syscall,block", *fio, options=["--min-latency", f"{least_us}us"])
            slow = recording.value("SELECT count(*) FROM syscall_read JOIN files USING (file) WHERE path LIKE '%/data' AND result = 4096")
            if slow:
                break
        self.assertGreater(slow, 0)
        self.assertEqual(recording.value(f"SELECT count(*) FROM syscall_read WHERE duration_ns < {least_us * 1000} AND result != -4095"), 0)
        self.assertEqual(recording.value("SELECT count(DISTINCT r.op_id) FROM block_queue AS b JOIN syscall_read AS r ON b.op_id = r.op_id "
                                         "JOIN files AS f ON r.file = f.file WHERE f.path LIKE '%/data'"), slow)
        self.assertEqual(self.of_data(recording, "block_queue"), slow, "bios of reads that were left out")
        self.assert_completions(recording, slow * BLOCK_BYTES)

    def test_unfinished_operations_are_recorded(self):
        fifo = self.place / "fifo"
        os.mkfifo(fifo)
        # Ends the process that waits.
        self.addCleanup(lambda: os.close(os.open(fifo, os.O_RDWR | os.O_NONBLOCK)))
        recording = self.record("sh", "-c", f"(read -r line < fifo) >/dev/null 2>&1 & until grep -q '{OPENS}' /proc/$!/syscall; do sleep 0.1; done; exit 0", cwd=self.place,
                                options=["--min-latency", "10s", "--layers", "syscall"])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_open WHERE result = -4095"), 1)
        self.assertEqual(recording.value("SELECT count(*) FROM events WHERE layer = 'syscall' AND error != -4095"), 0)

    def test_the_report_counts_the_events_left_out(self):
        recording = self.recorded("syscall,cache", sys.executable, "-c", WAITER, self.data(), options=["--min-latency", "20ms"])
        left_out = f"WITHOUT {self.left_out(recording):,} events"
        self.assertIn(left_out, recording.process.stderr)
        self.assertIn(left_out, harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout)
        self.assertIn("--min-latency 20ms", recording.manifest["filters"])

    def test_mistakes_are_reported(self):
        for options, says in ((["--min-latency", "0s"], "above 0"), (["--min-latency", "0.1ns"], "above 0"), (["--min-size", ""], "is empty"), (["--min-latency", "soon"], "soon"), (["--min-size", "-1"], "--min-size"),
                              (["--min-latency", "1ms", "--layers", "block"], "needs the layer syscall"),
                              (["--min-size", "4K", "--events", "block_queue"], "needs the layer syscall")):
            with self.subTest(options):
                process = harness.run(harness.IOTRAIL, "record", *options, "--", "true", cwd=self.folder)
                self.assertEqual(process.returncode, USAGE, process.stderr)
                self.assertIn(says, process.stderr)


if __name__ == "__main__":
    harness.main()
