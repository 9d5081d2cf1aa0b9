# SPDX-License-Identifier: BSD-3-Clause
"""`stat` counts the events that `record` records: the same numbers at any load, without rings."""
import os
import pathlib
import signal
import subprocess
import sys
import time

import harness

SUMS = os.environ.get("IOTRAIL_SUMS") or pathlib.Path(harness.IOTRAIL).parents[2] / "test/acceptance/acceptance_sums"
KERNEL_LAYERS = "syscall,async,vfs,cache,fs,block,process"
SOURCE_TREE = pathlib.Path(__file__).resolve().parent.parent.parent

THREADS = """
import os, sys, threading
def work(number):
    fd = os.open(f"{sys.argv[1]}/{number}", os.O_CREAT | os.O_RDWR, 0o644)
    for turn in range(2000):
        os.pwrite(fd, b"x" * 100, 0)
        os.pread(fd, 100, 0)
    os.close(fd)
threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""


class Stat(harness.AcceptanceTest):
    def stat(self, *command, options=(), name="s", expect=0, **process_options):
        path = self.folder / f"{name}.iotrail"
        process = harness.run(harness.IOTRAIL, "stat", "-o", path, *options, "--", *command, **process_options)
        if "not permitted" in process.stderr or "no type information" in process.stderr:
            self.skipTest("this machine does not allow the kernel source")
        self.assertEqual(process.returncode, expect, process.stderr)
        return harness.Recording(path, process)

    def assert_sums_add_up(self, recording):
        """Each event is in a sum or counted as lost; the trace has no other rows."""
        manifest = recording.manifest
        self.assertEqual(manifest["state"], "COMPLETE")
        (source,) = manifest["sources"]
        self.assertEqual(source["produced"], source["written"] + source["lost"], source)
        self.assertEqual(source["written"], source["summed_up"])
        self.assertEqual(int(recording.value("SELECT coalesce(sum(events), 0) AS n FROM event_sums")), source["summed_up"])
        self.assertEqual(int(recording.value("SELECT sum(row_count) AS n FROM tables WHERE layer <> 'dictionary'")), 0)
        self.assertNotIn("kernel_ring_full", manifest["counters"])
        self.assertLessEqual(source["lost"], manifest["counters"].get("kernel_completion_missed", 0))

    def layer_sums(self, recording, table, condition="true"):
        count = "sum(events)" if table == "sums" else "count(*)"
        weight = "events" if table == "sums" else "1"
        rows = recording.query(
            f"SELECT layer, event, operation, call, {count} AS n, sum(coalesce(bytes, 0)) AS bytes, "
            f"sum(CASE WHEN is_error(error) THEN {weight} ELSE 0 END) AS errors FROM {table} "
            f"WHERE layer IN ('syscall', 'async', 'vfs', 'process') AND {condition} GROUP BY ALL")
        return {(row["layer"], row["event"], row["operation"], row["call"]):
                (int(row["n"]), int(row["bytes"]), int(row["errors"])) for row in rows}

    def test_known_calls_have_their_numbers(self):
        data, direct = self.folder / "data", self.folder / "direct"
        stat = self.stat(SUMS, data, direct)
        self.assert_sums_add_up(stat)

        def row(layer, operation, path):
            (found,) = stat.query(
                "SELECT sum(events) AS n, sum(bytes) AS bytes, sum(CASE WHEN is_error(error) THEN events ELSE 0 END) AS errors, "
                "sum(duration_ns) AS total, max(max_ns) AS longest, count(DISTINCT comm) AS programs, max(comm) AS comm "
                f"FROM sums WHERE layer = '{layer}' AND operation = '{operation}' AND path = '{path}' AND below_ns > 0")
            if found["n"] is None:
                return None
            self.assertGreaterEqual(int(found["total"]), int(found["longest"]))
            return int(found["n"]), int(found["bytes"]), int(found["errors"])

        for layer in sorted(stat.layers_recorded() & {"syscall", "vfs"}):
            with self.subTest(layer=layer):
                self.assertEqual(row(layer, "write", data), (1000, 1000 * 4096, 0))
                self.assertEqual(row(layer, "read", data), (500, 500 * 512, 0))
                self.assertEqual(row(layer, "write", direct), (64, 64 * 8192, 0))
                self.assertEqual(row(layer, "fsync", data)[0], 1)
        self.assertEqual(int(stat.value("SELECT max(is_others) FROM sums")), 0)
        opens = stat.query("SELECT sum(events) AS n FROM sums WHERE event = 'syscall_open' AND error = -2 AND comm = 'acceptance_sums'")
        failed = int(opens[0]["n"])
        self.assertGreaterEqual(failed, 3)
        self.assertIn("data", stat.process.stderr)
        if "block" in stat.layers_recorded():
            moved = row("block", "write", direct)
            if moved is not None:
                missed = stat.manifest["counters"].get("kernel_completion_missed", 0)  # of these writes, or of others
                self.assertLessEqual(moved[1], 64 * 8192)
                self.assertGreaterEqual(moved[1], (64 - missed) * 8192)
                devices = int(stat.value("SELECT count(*) AS n FROM sum_devices WHERE bytes_written > 0"))
                self.assertGreaterEqual(devices, 1)

    def test_sums_are_those_of_a_recording(self):
        command = (SUMS, self.folder / "data", self.folder / "direct")
        options = ("--layers", KERNEL_LAYERS)
        harness.run(*command)
        stat = self.stat(*command, options=options)
        recording = self.record(*command, options=options, name="r")
        self.assert_sums_add_up(stat)
        self.assert_adds_up(recording, lost=None)
        self.assertEqual(self.layer_sums(stat, "sums"), self.layer_sums(recording, "events"))
        for path in command[1:]:
            files = [recording_.query(f"SELECT layer, operations, errors, bytes FROM ({sql}) ORDER BY layer") for recording_, sql in (
                (stat, f"SELECT layer, operations, errors, bytes FROM sum_files WHERE path = '{path}' AND layer IN ('syscall', 'vfs')"),
                (recording, "SELECT layer, count(*) AS operations, sum(CASE WHEN is_error(error) THEN 1 ELSE 0 END) AS errors, "
                            f"sum(coalesce(bytes, 0)) AS bytes FROM operations WHERE path = '{path}' AND file <> 0 "
                            "AND layer IN ('syscall', 'vfs') GROUP BY layer"))]
            self.assertEqual([{key: str(value) for key, value in row.items()} for row in files[0]],
                             [{key: str(value) for key, value in row.items()} for row in files[1]])

    def test_script_of_sums_says_where_they_are(self):
        stat = self.stat("true")
        process = harness.run(harness.IOTRAIL, "script", stat.path)
        self.assertEqual((process.returncode, process.stdout), (0, ""))
        self.assertIn("iotrail report", process.stderr)

    def test_latencies_are_within_their_class(self):
        stat = self.stat(SUMS, self.folder / "data", self.folder / "direct", options=("--layers", "syscall"))
        outside = stat.value("SELECT count(*) AS n FROM sums WHERE below_ns > 0 AND (max_ns >= below_ns OR max_ns < least_ns "
                             "OR duration_ns < least_ns * events OR duration_ns >= below_ns * events)")
        self.assertEqual(int(outside), 0)
        wide = stat.value("SELECT count(*) AS n FROM sums WHERE least_ns >= 4 AND below_ns > least_ns * 5 / 4")
        self.assertEqual(int(wide), 0)
        order = stat.value("SELECT count(*) AS n FROM sum_operations WHERE NOT (p50_ns <= p99_ns AND p99_ns <= max_ns)")
        self.assertEqual(int(order), 0)

    @harness.long
    def test_full_table_keeps_sums_of_operations(self):
        folder = self.folder / "many"
        folder.mkdir()
        script = "import os, sys\nfor i in range(3000):\n  fd = os.open(f'{sys.argv[1]}/{i}', os.O_CREAT | os.O_WRONLY, 0o600)\n" \
                 "  os.write(fd, b'x' * 10)\n  os.close(fd)\n"
        stat = self.stat(sys.executable, "-c", script, folder, options=("--rows", "64"))
        self.assert_sums_add_up(stat)
        self.assertGreater(stat.manifest["counters"]["kernel_sum_others"], 0)
        self.assertIn("no row in the table of sums", " ".join(stat.process.stderr.split()))
        others = stat.query("SELECT sum(events) AS n, max(pid) AS pid, max(file) AS file, max(device) AS device FROM sums WHERE is_others = 1")
        self.assertEqual(others, [{"n": stat.manifest["counters"]["kernel_sum_others"], "pid": 0, "file": 0, "device": 0}])
        # Bytes and events of one sum may lie in rows of two intervals: all rows together are right.
        (row,) = stat.query("SELECT sum(events) AS n, sum(bytes) AS bytes FROM sums "
                            "WHERE event = 'syscall_write' AND call = 'write' AND error = 0")
        self.assertEqual((int(row["n"]), int(row["bytes"])), (3000, 30000))

    def test_threads_lose_nothing(self):
        folder = self.folder / "threads"
        folder.mkdir()
        stat = self.stat(sys.executable, "-c", THREADS, folder, options=("--layers", "syscall,vfs"))
        self.assert_sums_add_up(stat)
        rows = stat.query(f"SELECT path, call, sum(events) AS n, sum(bytes) AS bytes FROM sums WHERE path LIKE '{folder}/%' "
                          "AND call IN ('pread64', 'pwrite64') GROUP BY path, call")
        self.assertEqual(len(rows), 16)
        for row in rows:
            self.assertEqual((int(row["n"]), int(row["bytes"])), (2000, 200000), row)

    @harness.long
    def test_real_programs(self):
        database = self.folder / "db"
        programs = {
            "tar": ("tar", "-C", SOURCE_TREE, "-cf", self.folder / "t.tar", "src", "schema"),
            "git": ("git", "init", "-q", self.folder / "repository"),
            "sqlite3": ("sqlite3", database, "CREATE TABLE t(v); INSERT INTO t SELECT hex(randomblob(100)) FROM "
                                             "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<5000) SELECT i FROM n);"),
            "fio": ("fio", "--name=j", f"--filename={self.folder}/fio", "--rw=randrw", "--bs=4k", "--size=8m", "--direct=1"),
        }
        for name, command in programs.items():
            if harness.shutil.which(name) is None:
                continue
            with self.subTest(program=name):
                stat = self.stat(*command, name=name)
                self.assert_sums_add_up(stat)
                for line in stat.process.stderr.splitlines():
                    if len(line.split()) > 1 and str(stat.path) not in line:  # a path is not broken
                        self.assertLessEqual(len(line), 80, line)

    def test_intervals_are_printed(self):
        script = "import os, time\nfd = os.open('/dev/null', os.O_WRONLY)\n" \
                 "while time.process_time() < 2:\n  os.write(fd, b'12345678')\n"
        stat = self.stat(sys.executable, "-c", script, options=("--interval", "200ms", "--layers", "syscall"))
        self.assert_sums_add_up(stat)
        lines = [line for line in stat.process.stderr.splitlines() if line.startswith("  syscall") and " write " in line]
        self.assertGreaterEqual(len(lines), 5, stat.process.stderr)
        intervals = stat.query("SELECT DISTINCT from_ns, to_ns FROM event_sums ORDER BY from_ns")
        self.assertGreaterEqual(len(intervals), 5)
        self.assertGreaterEqual(int(intervals[0]["from_ns"]), stat.manifest["begin_ns"])
        self.assertLessEqual(int(intervals[-1]["to_ns"]), stat.manifest["end_ns"])
        for before, after in zip(intervals, intervals[1:]):
            self.assertGreaterEqual(int(before["to_ns"]) - int(before["from_ns"]), 200_000_000)
            self.assertEqual(before["to_ns"], after["from_ns"], "each event is in one of them")

    def test_status_and_output_are_the_commands(self):
        process = harness.run(harness.IOTRAIL, "stat", "--", "sh", "-c", "echo out; exit 7")
        self.assertEqual((process.returncode, process.stdout), (7, "out\n"), process.stderr)

    @harness.long
    def test_killed_recorder_leaves_a_readable_trace(self):
        path = self.folder / "k.iotrail"
        recorder = subprocess.Popen(
            [harness.IOTRAIL, "stat", "--interval", "200ms", "-o", path, "--", sys.executable, "-c",
             "import os\nfd = os.open('/dev/null', os.O_WRONLY)\nwhile True: os.write(fd, b'x')"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_for(lambda: harness.run(harness.IOTRAIL, "query", path, "--raw", "SELECT 'se' || 'en' AS row FROM sums WHERE operation = 'write' LIMIT 1"
                                             ).stdout.count("seen"), "sums on the disk")
        children = harness.run("pgrep", "-P", recorder.pid).stdout.split()
        recorder.send_signal(signal.SIGKILL)
        recorder.wait()
        harness.kill_all(children)
        trace = harness.Recording(path, None)
        self.assertEqual(trace.manifest["state"], "INCOMPLETE")
        self.assertGreater(int(trace.value("SELECT sum(events) AS n FROM sums WHERE operation = 'write'")), 0)

    @harness.long
    def test_full_disk_is_said_and_counted(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if harness.run("mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", disk).returncode:
            self.skipTest("needs root to mount a tmpfs")
        self.addCleanup(harness.run, "umount", disk)
        many = self.folder / "many"
        many.mkdir()
        script = "import os, sys\nfor i in range(8000):\n  os.close(os.open(f'{sys.argv[1]}/{os.urandom(40).hex()}', os.O_CREAT, 0o600))\n"
        path = disk / "f.iotrail"
        process = harness.run(harness.IOTRAIL, "stat", "-o", path, "--interval", "100ms", "--", sys.executable, "-c", script, many)
        manifest = harness.Recording(path, process).manifest
        self.assertEqual(manifest["state"], "ERROR", process.stderr)
        (source,) = manifest["sources"]
        self.assertEqual(source["produced"], source["written"] + source["lost"], source)
        self.assertGreater(manifest["counters"]["store_write_failed"], 0)
        self.assertIn("EVENTS LOST", process.stderr)
        verified = harness.run(harness.IOTRAIL, "verify", path)
        self.assertEqual(verified.returncode, 1, verified.stdout)
        self.assertIn("the recording failed", verified.stdout)

    @harness.long
    def test_halted_recorder_loses_nothing(self):
        path, ready = self.folder / "h.iotrail", self.folder / "ready"
        script = "import os, sys\nopen(sys.argv[1], 'w').close()\nfd = os.open('/dev/null', os.O_WRONLY)\n" \
                 "for i in range(2000000): os.write(fd, b'x')\n"
        recorder = subprocess.Popen([harness.IOTRAIL, "stat", "-o", path, "--", sys.executable, "-c", script, ready],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_for(ready.exists, "the program")
        recorder.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        recorder.send_signal(signal.SIGCONT)
        self.assertEqual(recorder.wait(harness.PATIENCE_S), 0)
        stat = harness.Recording(path, None)
        self.assert_sums_add_up(stat)
        writes = stat.value("SELECT sum(events) AS n FROM sums WHERE event = 'syscall_write' AND path = '/dev/null' AND bytes = events")
        self.assertEqual(int(writes), 2000000)

    def test_mistakes_are_reported(self):
        for arguments, says in (
                ((), "nothing to record"),
                (("--interval", "0", "--", "true"), "--interval 0"),
                (("--interval", "1ms", "--", "true"), "the shortest is 100ms"),
                (("--by", "colour", "--", "true"), "operation, file, process and device"),
                (("--layers", "app", "--", "true"), "the layer app is not added up"),
                (("--rows", "0", "--", "true"), "--rows 0"),
                (("true", "-v"), "iotrail stat -- true")):
            with self.subTest(arguments=arguments):
                process = harness.run(harness.IOTRAIL, "stat", *arguments)
                self.assertEqual(process.returncode, 2, process.stderr)
                self.assertIn(says, process.stderr)
        self.assertFalse([entry for entry in os.listdir(self.folder) if entry.endswith(".iotrail")])


if __name__ == "__main__":
    harness.main()
