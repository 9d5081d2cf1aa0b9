# SPDX-License-Identifier: BSD-3-Clause
"""Trails, compared with I/O that has known causes (trail_scenarios.py), on each file system; and
reads."""
import collections
import json
import os
import pathlib
import signal
import subprocess
import unittest

import harness

DISK_BYTES = 600 << 20  # so that mkfs.ext4 makes blocks as large as pages
LEAST_SHARE = 0.999  # minimum share of the files' bytes that have a cause
READ_BYTES = 2 << 20
PAGE = 4096
CALLS = pathlib.Path(__file__).with_name("trail_scenarios.py")
REWRITE = pathlib.Path(__file__).with_name("rewrite.py")
REMAINDERS = {"dirty_before", "unknown"}


class Trails(harness.AcceptanceTest):
    def use(self, file_system):
        self.device, self.point = self.make_disk(file_system, DISK_BYTES)
        self.name = pathlib.Path(self.device).name

    def use_encrypted(self, file_system):
        """The disk below is observed."""
        self.device = self.make_bare_disk(DISK_BYTES)
        self.name, self.point = pathlib.Path(self.device).name, self.folder / "mount point"
        self.make_file_system(self.make_encrypted_disk(self.device, DISK_BYTES), file_system, self.point)

    def use_polled(self, file_system):
        self.device = self.make_polled_disk()
        self.name, self.point = self.device.name, self.folder / "mount point"
        self.make_file_system(self.device, file_system, self.point)

    def record_trails(self, *command, layers="syscall,async,cache,block", options=()):
        recording = self.record(*command, options=["--layers", layers, *options])
        self.require(recording, "block")
        self.assert_adds_up(recording, lost=None)
        self.assert_times_add_up(recording)
        self.assert_steps_add_up(recording)
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        return recording

    def assert_times_add_up(self, recording):
        """The parts of each operation's time add up to its duration, for all operations in the
        trace."""
        (row,) = recording.query(
            "WITH times AS (SELECT op_id, sum(ns) AS ns FROM op_time GROUP BY op_id), spans AS (SELECT op_id, sum(duration_ns) AS ns FROM events "
            "WHERE layer IN ('app', 'syscall', 'async') AND duration_ns > 0 AND op_id <> 0 GROUP BY op_id) "
            "SELECT count(*) AS operations, count(*) FILTER (t.ns = s.ns) AS right FROM spans AS s FULL JOIN times AS t USING (op_id)")
        self.assertGreater(int(row["operations"]), 0)
        self.assertEqual(row["right"], row["operations"])

    def assert_steps_add_up(self, recording):
        """Each operation of a layer is in one row of its steps down from the layer above, and up to
        it."""
        counts = {row["layer"]: int(row["n"]) for row in recording.query(
            "SELECT layer, count(*) AS n FROM events WHERE event = 'block_queue' OR layer IN ('app', 'syscall', 'async', 'vfs') "
            "AND duration_ns IS NOT NULL GROUP BY layer")}
        below = recording.query("SELECT below, sum(operations_below) AS n FROM layer_steps GROUP BY below")
        self.assertTrue(below)
        for row in below:
            self.assertEqual(int(row["n"]), counts[row["below"]], row["below"])
        for row in recording.query("SELECT above, below, sum(operations) AS n FROM layer_steps WHERE operations > 0 GROUP BY ALL"):
            self.assertEqual(int(row["n"]), counts[row["above"]], row["above"])

    def test_the_time_of_each_call_has_its_parts(self):
        """With all layers: the fsyncs waited for the device, and the library and the file system
        took some time."""
        self.use("ext4")
        recording = self.record_trails("python3", CALLS, self.point, layers="app,syscall,async,vfs,cache,fs,block,sched")
        parts = {row["part"]: int(row["ns"]) for row in recording.query(
            "SELECT part, total(ns) AS ns FROM op_time JOIN events AS e USING (op_id) WHERE e.layer = 'app' AND e.call = 'fsync' GROUP BY part")}
        self.assertLessEqual({"outside the kernel", "device"}, parts.keys())
        self.assertEqual("wait" in parts, "sched" in recording.layers_recorded())
        self.assertEqual("file system" in parts, "vfs" in recording.layers_recorded())
        by_call = {row["part"]: int(row["ns"]) for row in recording.query(
            "SELECT part, total(ns) AS ns FROM call_times WHERE call = 'fsync' GROUP BY part")}
        self.assertEqual(by_call, parts)

    def causes_of_writes(self, recording):
        """path -> {(pid, cause): bytes}"""
        causes = collections.defaultdict(dict)
        for row in recording.query(
                "SELECT n.path, l.pid, l.cause, sum(l.bytes) AS bytes FROM links AS l JOIN devices AS d USING (device) "
                f"JOIN file_names AS n USING (file) WHERE d.name = '{self.name}' AND l.direction = 'write' "
                "AND l.completed_ns IS NOT NULL GROUP BY ALL"):
            causes[row["path"]][(int(row["pid"]), row["cause"])] = int(row["bytes"])
        return causes

    def fates_of_writes(self, recording):
        """path -> {pid: [written, to_device, absorbed, dropped]}"""
        fates = collections.defaultdict(dict)
        for row in recording.query("SELECT * FROM write_fates"):
            fates[row["path"]][row["pid"]] = [int(row[key]) for key in ("written", "to_device", "absorbed", "dropped")]
        return fates

    def balance(self, recording, name):
        """part -> bytes, from a file's calls to the device; they add up to the device's bytes."""
        return {(row["direction"], row["part"]): int(row["bytes"]) for row in recording.query(
            "SELECT direction, part, sum(b.bytes) AS bytes FROM byte_balance AS b JOIN file_names AS n USING (file) "
            f"WHERE path = '{self.point / name}' GROUP BY direction, part")}

    def check_balance(self, recording, name, fates, direct):
        """Each byte that calls wrote is accounted for."""
        balance = self.balance(recording, name)
        self.assertEqual(balance.get(("write", "written by calls"), 0), sum(fate[0] for fate in fates.values()) + direct, balance)
        self.assertEqual(-balance.get(("write", "overwritten"), 0), sum(fate[2] for fate in fates.values()), balance)
        self.assertEqual(-balance.get(("write", "dropped"), 0), sum(fate[3] for fate in fates.values()), balance)
        self.assertNotIn(("write", "not followed"), balance)

    def show_shares(self, recording, file_system, names):
        """Writes to the file IOTRAIL_SHARES how sure each scenario's trails are: tools/trail_shares
        makes the table of docs/trails.md from it."""
        if "IOTRAIL_SHARES" not in os.environ:
            return
        shares = collections.defaultdict(collections.Counter)
        for row in recording.query(
                "SELECT n.path, CASE WHEN l.is_remainder = 1 THEN 'remainder' ELSE l.confidence END AS kind, sum(l.bytes) AS bytes "
                "FROM links AS l JOIN devices AS d USING (device) JOIN file_names AS n USING (file) "
                f"WHERE d.name = '{self.name}' AND l.completed_ns IS NOT NULL GROUP BY ALL"):
            shares[row["path"]][row["kind"]] += int(row["bytes"])
        release = ".".join(os.uname().release.split(".")[:2])
        with open(os.environ["IOTRAIL_SHARES"], "a", encoding="utf-8") as table:
            for name in names:
                if found := shares[str(self.point / name)]:
                    print(json.dumps([release, file_system, name, found]), file=table)

    def check_scenarios(self, file_system, *program, disk=""):
        """Returns the names of the scenarios that the machine did not refuse."""
        {"": self.use, "dm-crypt": self.use_encrypted, "null_blk": self.use_polled}[disk](file_system)
        recording = self.record_trails(*program, self.point)
        missed = recording.manifest["counters"].get("kernel_completion_missed", 0)
        found_causes, found_fates = self.causes_of_writes(recording), self.fates_of_writes(recording)
        truth = json.loads(recording.process.stdout)
        self.show_shares(recording, f"{file_system} on {disk}" if disk else file_system, truth)
        for name, (causes, fates) in truth.items():
            # Since Linux 6.15 btrfs does these through the page cache, for its checksums; before,
            # its own threads queue the bios.
            if file_system == "btrfs" and (name.startswith("direct") or any(cause == "direct" for _, cause, _ in causes)):
                found_causes.pop(str(self.point / name), None)
                continue
            with self.subTest(scenario=name):
                expected = {(pid, cause): size if isinstance(size, list) else [size, size]
                            for pid, cause, size in causes if size}
                found = found_causes[str(self.point / name)]
                # A counter has the completions that the kernel does not report; that is no fault of
                # the trails.
                if not missed:
                    self.assertEqual(found.keys(), expected.keys(), found)
                    for key, (least, most) in expected.items():
                        self.assertTrue(least <= found[key] <= most, f"{key}: {found[key]}, expected {least} to {most}")
                if fates is not None:
                    self.assertEqual(found_fates[str(self.point / name)], {int(pid): fate for pid, fate in fates.items()})
                    self.check_balance(recording, name, fates, sum(size for _, cause, size in causes if cause == "direct"))
        links = [(cause, size) for of_file in found_causes.values() for (_, cause), size in of_file.items()]
        attributed = sum(size for cause, size in links if cause not in REMAINDERS)
        self.assertGreaterEqual(attributed, sum(size for _, size in links) * LEAST_SHARE)
        return set(truth)

    def test_writes_on_ext4(self):
        self.check_scenarios("ext4", "python3", CALLS)

    def test_asynchronous_writes_on_ext4(self):
        self.check_scenarios("ext4", os.environ["IOTRAIL_ASYNC"])

    def test_writes_on_an_encrypted_disk(self):
        self.check_scenarios("ext4", "python3", CALLS, disk="dm-crypt")

    def test_asynchronous_writes_on_an_encrypted_disk(self):
        self.check_scenarios("ext4", os.environ["IOTRAIL_ASYNC"], disk="dm-crypt")

    def test_asynchronous_writes_on_a_polled_disk(self):
        self.assertIn("uring_iopoll", self.check_scenarios("ext4", os.environ["IOTRAIL_ASYNC"], disk="null_blk"))

    @harness.long
    def test_writes_on_xfs(self):
        self.check_scenarios("xfs", "python3", CALLS)

    @harness.long
    def test_asynchronous_writes_on_xfs(self):
        self.check_scenarios("xfs", os.environ["IOTRAIL_ASYNC"])

    @harness.long
    def test_writes_on_btrfs(self):
        self.check_scenarios("btrfs", "python3", CALLS)

    @harness.long
    def test_asynchronous_writes_on_btrfs(self):
        self.check_scenarios("btrfs", os.environ["IOTRAIL_ASYNC"])

    def check_metadata(self, file_system):
        """Pages that a file system dirties itself, for a new file in a new directory, have no
        storing program."""
        self.use(file_system)
        program = ("import os, sys\nos.mkdir(sys.argv[1] + '/new')\n"
                   "fd = os.open(sys.argv[1] + '/new/file', os.O_CREAT | os.O_WRONLY)\nos.write(fd, b'x')\nos.fsync(fd)\n")
        recording = self.record_trails("python3", "-c", program, self.point)
        parts = {row["part"]: int(row["bytes"]) for row in recording.query(
            "SELECT part, sum(bytes) AS bytes FROM byte_balance WHERE direction = 'write' GROUP BY part")}
        self.assertEqual(parts["written by calls"], 1)
        self.assertNotIn("stored through mappings", parts)
        self.assertEqual(recording.value(
            "SELECT bytes FROM amplification WHERE direction = 'write' AND layer = 'cache'"), PAGE)

    @harness.long
    def test_metadata_of_ext4(self):
        self.check_metadata("ext4")

    @harness.long
    def test_metadata_of_xfs(self):
        self.check_metadata("xfs")

    @harness.long
    def test_metadata_of_btrfs(self):
        self.check_metadata("btrfs")

    def found_writers(self, recording):
        """page -> (pid, confidence) of its last link"""
        return {int(row["position"]) // PAGE: (int(row["pid"]), row["confidence"]) for row in recording.query(
            "SELECT l.position, l.pid, l.confidence FROM links AS l JOIN file_names AS n USING (file) WHERE direction = 'write' "
            f"AND path = '{self.point / 'rewritten'}' AND bytes = {PAGE} AND cause = 'write_back' ORDER BY l.ts_ns")}

    def test_exact_writers_wrote_the_bytes_on_the_disk(self):
        """Processes rewrite the same pages while another one has them written back."""
        self.use("ext4")
        recording = self.record_trails(REWRITE, self.point / "rewritten", options=("--buffer", "64M"))
        written = [int(pid) for pid in recording.process.stdout.split()]
        found = self.found_writers(recording)
        exact = {page: pid for page, (pid, confidence) in found.items() if confidence == "exact"}
        self.assertEqual(exact, {page: written[page] for page in exact})
        # A busy machine may still lose rows; trails after a loss are less certain.
        if not recording.query("SELECT * FROM losses WHERE severity = 'loss'"):
            self.assertGreaterEqual(len(exact), len(written) // 2, recording.manifest["counters"])

    @harness.long
    def test_links_after_a_loss_are_not_exact(self):
        """Stops the recorder for a moment, so that its rings overflow."""
        self.use("ext4")
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen(
            [harness.IOTRAIL, "record", "-o", path, "--layers", "syscall,cache,block", "--buffer", "64K", "--",
             REWRITE, self.point / "rewritten", "400000"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: recorder.poll() is None and recorder.kill())  # a halted one would hold the test's output
        (program,) = harness.wait_for(lambda: harness.children(recorder.pid), "the program")
        writer = harness.wait_for(lambda: harness.children(program), "a process that writes")[0]
        harness.wait_for(lambda: harness.cpu_seconds(writer) >= 0.05, "some of its work")
        recorder.send_signal(signal.SIGSTOP)
        halted_at = harness.cpu_seconds(writer)
        harness.wait_for(lambda: harness.cpu_seconds(writer) >= halted_at + 0.03, "calls that fill the rings")
        recorder.send_signal(signal.SIGCONT)
        self.assertEqual(recorder.wait(timeout=harness.PATIENCE_S), 0)
        recording = harness.Recording(path, None)
        self.require(recording, "block")
        self.assert_adds_up(recording, lost=None)
        lost = sum(source["lost"] for source in recording.manifest["sources"])
        self.assertGreater(lost, 0)
        first = recording.value("SELECT min(from_ns) FROM losses WHERE severity = 'loss' AND layer IN ('syscall', 'cache', 'block')")
        rows = recording.query("SELECT confidence, sum(bytes) AS bytes FROM links WHERE NOT is_remainder AND stored_ns IS NOT NULL "
                               f"AND ts_ns >= {first} GROUP BY confidence")
        self.assertEqual([row["confidence"] for row in rows], ["inferred"], rows)
        (row,) = recording.query(f"SELECT attributed, exact FROM conservation WHERE direction = 'write' AND device_name = '{self.name}'")
        self.assertLess(int(row["exact"]), int(row["attributed"]))
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout)
        self.assertRegex(" ".join(verified.stdout.split()), r"events? (was|were) lost\..* Bytes that the lost events? may affect have an inferred cause")
        report = " ".join(harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout.split())
        self.assertIn("EVENTS LOST", report)
        self.assertIn("not all of them exact", report)

    def read_ahead(self, recording, name):
        (row,) = recording.query(f"SELECT asked, ahead, used, unused, late, late_ns FROM read_ahead WHERE path = '{self.point / name}'")
        return {key: int(value) for key, value in row.items()}

    def test_reads_and_read_ahead(self):
        self.use("ext4")
        for name in ("ordered", "scattered"):
            (self.point / name).write_bytes(os.urandom(READ_BYTES))
            harness.evict(self.point / name)
        program = ("import os\n"
                   "def open_for(name, advice):\n"
                   f"    fd = os.open({str(self.point)!r} + '/' + name, os.O_RDONLY)\n"
                   "    os.posix_fadvise(fd, 0, 0, advice)\n"
                   "    return fd\n"
                   "fd = open_for('ordered', os.POSIX_FADV_NORMAL)\n"
                   f"for at in range(0, {READ_BYTES}, 4096): os.pread(fd, 4096, at)\n"
                   "fd = open_for('scattered', os.POSIX_FADV_RANDOM)\n"
                   f"for at in range(0, {READ_BYTES}, 65536): os.pread(fd, 100, at)\n")
        recording = self.record_trails("python3", "-c", program)
        ordered = self.read_ahead(recording, "ordered")
        self.assertEqual(ordered["asked"] + ordered["ahead"], READ_BYTES)
        self.assertEqual(ordered["used"], ordered["ahead"], "each byte was read later")
        self.assertEqual(ordered["unused"], 0)
        reads = READ_BYTES // 65536
        self.assertEqual(self.read_ahead(recording, "scattered"),
                         {"asked": reads * 100, "ahead": 0, "used": 0, "unused": 0, "late": 0, "late_ns": 0})
        self.check_late_reads(recording, ordered)
        self.assertEqual(self.balance(recording, "ordered"),
                         {("read", "read by calls"): READ_BYTES, ("read", "read ahead for them"): -ordered["used"],
                          ("read", "read ahead"): ordered["used"]})
        self.assertEqual(self.balance(recording, "scattered"),
                         {("read", "read by calls"): reads * 100, ("read", "rest of their pages"): reads * 3996})

    def check_reads(self, file_system):
        """Reads from the cache or of a hole need no device; accesses to a mapping do."""
        self.use(file_system)
        for name in ("half", "mapped"):
            (self.point / name).write_bytes(os.urandom(READ_BYTES))
            harness.evict(self.point / name)
        (self.point / "hole").touch()
        os.truncate(self.point / "hole", READ_BYTES)
        harness.sync_file_system(self.point)
        program = ("import mmap, os\n"
                   "def open_at_random(name):\n"
                   f"    fd = os.open({str(self.point)!r} + '/' + name, os.O_RDONLY)\n"
                   "    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_RANDOM)\n"
                   "    return fd\n"
                   "fd = open_at_random('half')\n"
                   "for size in (65536, 131072, 131072): os.pread(fd, size, 0)\n"
                   "os.pread(open_at_random('hole'), 65536, 0)\n"
                   f"with mmap.mmap(open_at_random('mapped'), {READ_BYTES}, prot=mmap.PROT_READ) as memory:\n"
                   "    memory.madvise(mmap.MADV_RANDOM)\n"
                   "    for page in range(0, 64, 4): memory[page * 4096]\n")
        recording = self.record_trails("python3", "-c", program)
        found = {(pathlib.Path(row["path"]).name, row["cause"]): int(row["bytes"]) for row in recording.query(
            "SELECT path, cause, total(bytes) AS bytes FROM device_causes WHERE direction = 'read' AND cause <> 'metadata' "
            f"AND path LIKE '{self.point}/%' GROUP BY ALL")}
        self.assertEqual(found, {("half", "read"): 131072, ("mapped", "mapped_read"): 16 * PAGE})
        self.assertEqual(self.balance(recording, "half"),
                         {("read", "read by calls"): 65536 + 2 * 131072, ("read", "found in the cache"): -65536 - 131072})
        self.assertEqual(self.balance(recording, "hole"),
                         {("read", "read by calls"): 65536, ("read", "found in the cache"): -65536})

    @harness.long
    def test_reads_on_ext4(self):
        self.check_reads("ext4")

    @harness.long
    def test_reads_on_xfs(self):
        self.check_reads("xfs")

    @harness.long
    def test_reads_on_btrfs(self):
        self.check_reads("btrfs")

    def check_late_reads(self, recording, measured):
        """Both sides have the same bytes and times, and no call was late for longer than it took."""
        (row,) = recording.query(
            "SELECT coalesce(total(r.bytes), 0) AS late, coalesce(total(r.late_ns), 0) AS late_ns, count(*) FILTER (r.late_ns > e.duration_ns OR r.bytes > e.result "
            "OR r.by_op = r.op_id) AS wrong FROM late_reads AS r JOIN syscall_read AS e USING (op_id) JOIN file_names AS n ON r.file = n.file "
            f"WHERE n.path LIKE '{self.point}/%'")
        self.assertEqual([int(row[key]) for key in ("late", "late_ns", "wrong")], [measured["late"], measured["late_ns"], 0])

    @harness.long
    def test_read_ahead_that_comes_too_late(self):
        """A read of the end of a window in progress must wait for it."""
        self.use("ext4")
        size = 8 * READ_BYTES
        step = 128 << 10  # one window of any device
        (self.point / "ordered").write_bytes(os.urandom(size))
        harness.evict(self.point / "ordered")
        # So that the disk below must be read, which takes time.
        harness.evict(self.folder / "image")
        program = ("import os\n"
                   f"fd = os.open({str(self.point / 'ordered')!r}, os.O_RDONLY)\n"
                   f"for at in range(0, {size}, {step}):\n"
                   f"    os.posix_fadvise(fd, at, {step}, os.POSIX_FADV_WILLNEED)\n"
                   f"    os.pread(fd, {PAGE}, at + {step - PAGE})\n")
        recording = self.record_trails("python3", "-c", program)
        measured = self.read_ahead(recording, "ordered")
        self.assertEqual((measured["asked"] + measured["ahead"], measured["used"]), (size, size // step * PAGE))
        self.assertGreater(measured["late"], 0)
        self.assertGreater(measured["late_ns"], 0)
        self.check_late_reads(recording, measured)

    def test_causes_of_a_request(self):
        self.use("ext4")
        program = ("import mmap, os\n"
                   f"fd = os.open({str(self.point / 'direct')!r}, os.O_CREAT | os.O_WRONLY | os.O_DIRECT)\n"
                   "os.write(fd, mmap.mmap(-1, 8192))\n")
        recording = self.record_trails("python3", "-c", program)
        row = recording.query("SELECT e.request, op_text(e.op_id) AS op, (e.ts_ns - r.begin_ns) / 1e9 AS at_second FROM block_complete AS e, "
                              "run AS r, syscall_write AS w WHERE w.op_id = e.op_id AND e.bytes = 8192")[0]
        moment = f"{float(row['at_second']) + 1e-9:.9f}s"  # rounded, so a little later
        for number in (row["request"], hex(int(row["request"]))):
            for options in ((), ("--at", moment)):
                explained = harness.run(harness.IOTRAIL, "explain", recording.path, "--request", number, *options)
                self.assertEqual(explained.returncode, 0, explained.stderr)
                words = [line.split() for line in explained.stdout.splitlines() if row["op"] in line.split()]
                self.assertTrue(words and "direct" in words[0] and words[0][-1].endswith("point/direct"), explained.stdout)
        missing = harness.run(harness.IOTRAIL, "explain", recording.path, "--request", int(row["request"]) + 1)
        self.assertEqual(missing.returncode, 1)
        self.assertIn(f"The nearest is {int(row['request']):#x}, issued at second", missing.stderr)
        later = harness.run(harness.IOTRAIL, "explain", recording.path, "--request", row["request"], "--at", "1000s")
        self.assertIn("under way then", later.stderr)

    @harness.long
    def test_reasons_of_write_back(self):
        self.use("ext4")
        program = ("import ctypes, os\n"
                   "def write(name):\n"
                   f"    fd = os.open({str(self.point)!r} + '/' + name, os.O_CREAT | os.O_WRONLY)\n"
                   "    os.write(fd, b'w' * 65536)\n"
                   "    return fd\n"
                   "os.fsync(write('by_call'))\n"
                   "ctypes.CDLL(None).syncfs(write('by_sync'))\n")
        recording = self.record_trails("python3", "-c", program)
        set_off = {pathlib.Path(row["path"]).name: row["set_off_by"] for row in recording.query(
            "SELECT DISTINCT path, set_off_by FROM links JOIN file_names USING (file) WHERE set_off_by IS NOT NULL")}
        self.assertEqual(set_off, {"by_call": "call", "by_sync": "SYNC"})
        calls = {row["set_off_by"]: (row["call"], row["comm"], int(row["bytes"])) for row in recording.query("FROM write_backs")}
        self.assertEqual(calls["call"], ("fsync", "python3", 65536))
        self.assertEqual(calls["SYNC"], (None, None, 65536))


if __name__ == "__main__":
    harness.main()
