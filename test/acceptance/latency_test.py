# SPDX-License-Identifier: BSD-3-Clause
"""--min-latency in the kernel: `record` and `stat` at once, beside a recording of all calls of the same process."""
import os
import signal
import subprocess
import sys

import harness

SLOW_MS = 60
LIMIT_MS = 20
MARGIN_NS = 10_000_000  # two recordings measure a call at slightly different times
CALLS = 20_000
SMALLEST_RING = "64K"
# Waits for its begin. Then reads ten times from a pipe that is filled once the reader has waited long enough, with short
# calls in between.
PROGRAM = f"""
import os, sys, threading, time
os.read(0, 1)
reader, writer = os.pipe()
is_waiting = f'0 {{reader:#x}} '
def fill():
    for _ in range(10):
        while not open(f'/proc/self/task/{{os.getpid()}}/syscall').read().startswith(is_waiting):
            time.sleep(0.001)
        time.sleep({SLOW_MS / 1000})
        os.write(writer, b'x')
thread = threading.Thread(target=fill)
thread.start()
file = os.open('/dev/zero', os.O_RDONLY)
for _ in range(10):
    for _ in range({CALLS // 10}):
        os.pread(file, 64, 0)
    os.read(reader, 1)
thread.join()
"""


class Latency(harness.AcceptanceTest):
    def start(self, *verb, name):
        """A recorder of self.program that is running."""
        path = self.folder / f"{name}.iotrail"
        process = subprocess.Popen([harness.IOTRAIL, *verb, "-o", path, "-p", str(self.program.pid)], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        self.addCleanup(process.stderr.close)

        def is_running():
            if process.poll() is not None:
                self.skipTest(f"this machine does not allow the kernel source: {process.stderr.read()}")
            return harness.state(path) == "RUNNING"
        harness.wait_for(is_running, path)
        return process, path

    def start_program(self, source):
        self.program = subprocess.Popen([sys.executable, "-c", source], stdin=subprocess.PIPE)
        self.addCleanup(self.program.wait)
        self.addCleanup(self.program.kill)
        self.addCleanup(self.program.stdin.close)

    def let_it_run(self):
        self.program.stdin.write(b"x")
        self.program.stdin.flush()
        self.assertEqual(self.program.wait(harness.PATIENCE_S), 0)

    def finish(self, started):
        process, path = started
        self.assertEqual(process.wait(harness.PATIENCE_S), 0, process.stderr.read())
        return harness.Recording(path, None)

    def calls(self, full, at_least_ns):
        """Number of calls of this duration or more, by event, of the recording of all."""
        rows = full.query(f"SELECT event, count(*) AS n FROM events WHERE layer = 'syscall' AND duration_ns >= {at_least_ns} GROUP BY event")
        return {row["event"]: int(row["n"]) for row in rows}

    def assert_between(self, counted, full):
        surely, perhaps = (self.calls(full, LIMIT_MS * 1_000_000 + margin_ns) for margin_ns in (MARGIN_NS, -MARGIN_NS))
        for event in counted.keys() | perhaps.keys():
            self.assertLessEqual(surely.get(event, 0), counted.get(event, 0), event)
            self.assertLessEqual(counted.get(event, 0), perhaps.get(event, 0), event)
        self.assertGreaterEqual(counted["syscall_read"], 10)

    def test_each_call_is_recorded_or_left_out(self):
        self.start_program(PROGRAM)
        slow_ones = ("--min-latency", f"{LIMIT_MS}ms")
        started = [self.start("record", "-q", "--layers", "syscall", name="full"),
                   self.start("record", "-q", "--layers", "syscall", *slow_ones, name="slow"),
                   self.start("stat", "--layers", "syscall", *slow_ones, name="sums")]
        self.let_it_run()
        full, slow, sums = [self.finish(each) for each in started]
        self.assert_adds_up(full)
        self.assert_adds_up(slow)
        (all_calls,) = full.manifest["sources"]
        self.assertGreaterEqual(all_calls["written"], CALLS)
        for recording in (slow, sums):
            (source,) = recording.manifest["sources"]
            self.assertEqual((source["produced"], source["lost"]), (source["written"], 0))
            self.assertEqual(source["written"] + source["left_out"], all_calls["written"])
        self.assert_between({row["event"]: int(row["n"]) for row in slow.query(
            "SELECT event, count(*) AS n FROM events WHERE layer = 'syscall' GROUP BY event")}, full)
        self.assert_between({row["event"]: int(row["n"]) for row in sums.query(
            "SELECT event, sum(events) AS n FROM sums WHERE layer = 'syscall' GROUP BY event")}, full)
        self.assertEqual(int(sums.value(f"SELECT count(*) FROM sums WHERE below_ns > 0 AND below_ns <= {LIMIT_MS * 1_000_000}")), 0)

    def test_short_calls_take_no_room_in_the_rings(self):
        self.start_program(PROGRAM)
        started = self.start("record", "-q", "--layers", "syscall", "--buffer", SMALLEST_RING, "--min-latency", f"{LIMIT_MS}ms", name="stopped")
        recorder, _ = started
        recorder.send_signal(signal.SIGSTOP)
        self.let_it_run()
        recorder.send_signal(signal.SIGCONT)
        recording = self.finish(started)
        self.assert_adds_up(recording)
        (source,) = recording.manifest["sources"]
        self.assertGreaterEqual(source["written"] + source["left_out"], CALLS)
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_read JOIN files USING (file) WHERE path LIKE 'pipe:%'"), 10)

    @harness.long
    def test_layers_below_keep_the_effects_of_slow_calls(self):
        """With more layers a short call may have effects: the recorder decides, and the numbers are the same."""
        self.start_program(PROGRAM)
        layers = ("--layers", "syscall,vfs,sched,fault")
        started = [self.start("record", "-q", *layers, name="full"),
                   self.start("record", "-q", *layers, "--min-latency", f"{LIMIT_MS}ms", name="slow")]
        self.let_it_run()
        full, slow = [self.finish(each) for each in started]
        self.require(full, "syscall")
        self.assert_adds_up(slow)
        (all_events,), (source,) = full.manifest["sources"], slow.manifest["sources"]
        waits = full.manifest["counts"].get("sched_wait", 0) + slow.manifest["counts"].get("sched_wait", 0)
        self.assertLessEqual(abs(source["written"] + source["left_out"] - all_events["written"]), waits)
        self.assert_between({row["event"]: int(row["n"]) for row in slow.query(
            "SELECT event, count(*) AS n FROM events WHERE layer = 'syscall' GROUP BY event")}, full)
        for effect in ("vfs_read", "sched_wait"):
            orphans = slow.value(f"SELECT count(*) FROM {effect} WHERE op_id != 0 AND op_id NOT IN (SELECT op_id FROM events WHERE layer = 'syscall')")
            self.assertEqual(orphans, 0, effect)
        if "sched" in slow.layers_recorded():
            waiting = slow.value("SELECT count(DISTINCT r.op_id) FROM syscall_read r JOIN sched_wait w USING (op_id) JOIN files f ON r.file = f.file "
                                 "WHERE f.path LIKE 'pipe:%'")
            self.assertEqual(waiting, 10)

    def test_sums_have_no_effects(self):
        for options, says in ((("--layers", "syscall,vfs"), "the layer vfs cannot be counted"),
                              (("--events", "syscall_read,cache_dirty"), "the event cache_dirty cannot be counted"),
                              (("--layers", "async"), "needs the layer syscall")):
            with self.subTest(options):
                process = harness.run(harness.IOTRAIL, "stat", "--min-latency", "1ms", *options, "--", "true", cwd=self.folder)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn(says, process.stderr)


if __name__ == "__main__":
    harness.main()
