# SPDX-License-Identifier: BSD-3-Clause
"""Requests at the block layer, compared with the disk's own counters, on each file system,
whichever task queues them."""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import harness

SIZE_BYTES = 2 << 20
BLOCK_BYTES = 8192
DISK_BYTES = 400 << 20
SYNCS = 10
# The ways of asynchronous reads to the disk: in io_uring's call, in its worker threads, in its
# polling thread, with registered buffers and files; by libaio.
WAYS = {"worker": ["io_uring", "--force_async=1"], "libaio": ["libaio"], "poller": ["io_uring", "--sqthread_poll=1"],
        "inline": ["io_uring"], "registered": ["io_uring", "--fixedbufs=1", "--registerfiles=1"]}
if os.environ.get("IOTRAIL_VM"):  # a start of fio takes ten seconds there
    WAYS = {way: WAYS[way] for way in ("worker", "poller", "libaio")}


class Disk(harness.AcceptanceTest):
    """A disk that no other program uses, and its own counters."""

    def use(self, file_system):
        self.require_program("fio")
        self.device, self.point = self.make_disk(file_system, DISK_BYTES)
        self.name = pathlib.Path(self.device).name

    def counters(self):
        words = [int(word) for word in pathlib.Path(f"/sys/block/{self.name}/stat").read_text().split()]
        return {"read": (words[0], words[2] * 512), "write": (words[4], words[6] * 512), "flush": (words[15], 0)}

    def record_counted(self, name, *command, options=()):
        """The recording, and the requests and bytes that the disk counted meanwhile, by direction."""
        harness.sync_file_system(self.point or self.device)
        before = self.counters()
        recording = self.record(*command, options=["--layers", "syscall,async,block", *options], name=name)
        after = self.counters()
        self.require(recording, "block")
        self.assert_adds_up(recording, lost=None)
        return recording, {way: tuple(a - b for a, b in zip(after[way], before[way])) for way in before}

    def requests(self, recording, direction, condition="true"):
        """(requests, bytes) in the trace. A request that a busy device refused is issued twice."""
        def of(event):
            (row,) = recording.query(
                f"SELECT count(*) AS requests, coalesce(sum(b.bytes), 0) AS bytes FROM {event} AS b "
                f"JOIN devices AS d USING (device) JOIN value_names AS v ON bitAnd(b.flags, v.mask) = v.number "
                f"WHERE d.name = '{self.name}' AND v.value_table = 'block' AND v.name = '{direction}' "
                f"AND (b.bytes > 0) = (v.name <> 'flush') AND {condition}")
            return int(row["requests"]), int(row["bytes"])
        issued, back = of("block_issue"), of("block_requeue")
        return issued[0] - back[0], issued[1] - back[1]

    def record_alike(self, name, *command, options=()):
        """Like record_counted(), but the trace must have all of the disk's writes. xfs and btrfs
        also write in their own time, every 30 s, which no trace has. That may disturb one
        recording, but not three."""
        for attempt in range(3):
            recording, counted = self.record_counted(f"{name}{attempt}", *command, options=options)
            found = self.requests(recording, "write")[1], self.requests(recording, "flush")
            if found == (counted["write"][1], counted["flush"]):
                return recording, counted
        return self.fail(f"{name}: the trace has {found} of {counted}")

    def check_asynchronous(self, file_system):
        self.use(file_system)
        target = self.point / "data" if self.point else self.device
        job = ["fio", "--name=job", f"--filename={target}", f"--size={SIZE_BYTES}", "--direct=1", "--output-format=json"]
        harness.run(*job, "--rw=write", "--bs=64k", "--end_fsync=1")
        for way, (engine, *options) in harness.first(3, WAYS.items()):
            with self.subTest(way=way):
                recording, counted = self.record_counted(
                    way, *job, "--rw=randread", f"--bs={BLOCK_BYTES}", "--iodepth=8", f"--ioengine={engine}", *options,
                    f"--output={self.folder}/fio.json")
                text = (self.folder / "fio.json").read_text()
                fio = json.loads(text[text.index("{"):])["jobs"][0]
                self.assertEqual(fio["error"], 0)
                self.assertEqual(fio["read"]["io_bytes"], SIZE_BYTES)
                requests, moved = self.requests(recording, "read")
                self.assertEqual((requests, moved), counted["read"])
                self.assertGreaterEqual(moved, SIZE_BYTES)
                (row,) = recording.query(
                    "SELECT count(*) AS operations, sum(a.bytes) AS bytes, count(DISTINCT op_id) AS ids "
                    f"FROM async_operation AS a JOIN files USING (file) WHERE path = '{target}' AND result = {BLOCK_BYTES}")
                operations = SIZE_BYTES // BLOCK_BYTES
                self.assertEqual(list(map(int, row.values())), [operations, SIZE_BYTES, operations], "as fio says")
                if file_system != "btrfs":  # there no iocb leads from the bio to the file
                    (row,) = recording.query("SELECT count(*) AS bios, sum(b.bytes) AS bytes FROM block_queue AS b "
                                             "JOIN async_operation AS a ON b.op_id = a.op_id AND b.bytes = a.bytes "
                                             "AND b.file = a.file")
                    self.assertEqual(list(map(int, row.values())), [operations, SIZE_BYTES], "each bio is its operation's")
                    (data,) = recording.query("SELECT coalesce(sum(b.bytes), 0) AS bytes FROM block_queue AS b "
                                              f"JOIN files USING (file) WHERE path = '{target}'")
                    self.assertEqual(int(data["bytes"]), SIZE_BYTES)

    @harness.in_both
    def test_asynchronous_reads_on_ext4(self):
        self.check_asynchronous("ext4")

    def test_file_systems_without_events_of_their_own_are_named(self):
        script = (f"mount -t tmpfs tmpfs {self.folder} && cd {self.folder} && mkdir low up work top && "
                  "mount -t overlay overlay -o lowerdir=low,upperdir=up,workdir=work top && echo text > top/file")
        def said(layers, *command):
            shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
            recording = self.record(*command, options=["--layers", layers])
            self.require(recording, *layers.split(","))
            texts = [" ".join(text.split()) for text in
                     (recording.process.stderr, harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout)]
            named = [re.findall(r"no events of the layer fs from ([^:]*): seen at the other layers only", text) for text in texts]
            self.assertEqual(named[0], named[1])
            return {name for text in named[0] for name in text.split(", ")}
        mounted = ["unshare", "--mount", "sh", "-c", script]
        self.assertLessEqual({"overlay"}, said("syscall,fs", *mounted))
        self.assertEqual(said("syscall", *mounted), set())
        _, point = self.make_disk("ext4", 64 << 20)
        self.assertEqual(said("syscall,fs", "sh", "-c", f"echo text > {point}/file") - {self.file_system_of("/bin/sh")}, set())

    def file_system_of(self, path):
        return harness.run("stat", "--file-system", "--format=%T", path).stdout.strip().replace("overlayfs", "overlay")

    @harness.long
    def test_asynchronous_reads_on_xfs(self):
        self.check_asynchronous("xfs")

    @harness.long
    def test_asynchronous_reads_on_btrfs(self):
        self.check_asynchronous("btrfs")

    @harness.in_both
    def test_asynchronous_reads_on_a_raw_device(self):
        self.check_asynchronous(None)

    def check_syncs(self, file_system):
        """A recording has the journal and metadata writes that a fsync waits for, whichever task
        writes them."""
        self.use(file_system)
        program = ("import os\n"
                   f"fd = os.open({str(self.point / 'log')!r}, os.O_CREAT | os.O_WRONLY)\n"
                   f"for _ in range({SYNCS}):\n"
                   "    os.write(fd, b'x' * 4096)\n"
                   "    os.fsync(fd)\n")
        recording, counted = self.record_counted("syncs", "python3", "-c", program)
        self.assertGreater(counted["write"][1], SYNCS * 4096, "a journal is written too")
        requests, moved = self.requests(recording, "write")
        self.assertEqual(moved, counted["write"][1])
        self.assertLessEqual(requests, counted["write"][0], "the disk counts some flushes as writes of nothing")
        charged = self.requests(recording, "write", "b.op_id IN (SELECT op_id FROM syscall_sync)")
        self.assertEqual(charged, (requests, moved), "each is charged to a call that waited")
        self.check_flushes(recording, counted)

    def check_flushes(self, recording, counted):
        """Each flush is recorded. The waiting call's time has its duration as time of the device."""
        self.assertEqual(self.requests(recording, "flush"), counted["flush"])
        (row,) = recording.query(
            "WITH flushes AS (SELECT b.op_id AS op_id, max(least(plus(b.ts_ns, b.duration_ns), plus(s.ts_ns, s.duration_ns)) - b.ts_ns) AS ns "
            "  FROM block_complete AS b JOIN syscall_sync AS s USING (op_id) "
            "  WHERE b.bytes = 0 AND b.ts_ns >= s.ts_ns AND b.ts_ns < plus(s.ts_ns, s.duration_ns) GROUP BY b.op_id), "
            "devices AS (SELECT op_id, sum(ns) AS ns FROM op_time WHERE part = 'device' GROUP BY op_id) "
            "SELECT count(*) AS calls, count(*) FILTER (coalesce(d.ns, 0) < f.ns) AS short "
            "FROM flushes AS f LEFT JOIN devices AS d USING (op_id)")
        self.assertGreater(int(row["calls"]), 0, "a fsync makes the disk write its cache")
        self.assertEqual(int(row["short"]), 0)

    def test_io_that_a_fsync_waits_for_on_ext4(self):
        self.check_syncs("ext4")

    @harness.long
    def test_io_that_a_fsync_waits_for_on_xfs(self):
        self.check_syncs("xfs")

    @harness.long
    def test_io_that_a_fsync_waits_for_on_btrfs(self):
        self.check_syncs("btrfs")

    def check_syncs_of_one_file(self, file_system):
        """A filter by file keeps what the syncs of that file wait for, and nothing of other files'
        syncs."""
        self.use(file_system)
        for name in ("log", "other"):
            (self.point / name).touch()
        program = ("import os, sys\n"
                   "for path in sys.argv[1:]:\n"
                   "    fd = os.open(path, os.O_WRONLY)\n"
                   f"    for _ in range({SYNCS}):\n"
                   "        os.write(fd, b'x' * 4096)\n"
                   "        os.fsync(fd)\n")
        only = ["--file", self.point / "log"]
        _, counted = self.record_alike("wanted", "python3", "-c", program, self.point / "log", options=only)
        self.assertGreater(counted["flush"][0], 0)
        job = ["fio", "--name=job", "--rw=write", "--bs=4k", f"--size={SYNCS * 4096}", f"--filename={self.point / 'log'}", "--overwrite=1"]
        for way in harness.first(1, (["libaio", "--sync=dsync"], ["io_uring", "--fsync=1"], ["io_uring", "--sync=dsync"])):
            with self.subTest(way=way):
                _, counted = self.record_alike("".join(way), *job, f"--ioengine={way[0]}", *way[1:], options=only)
                self.assertGreaterEqual(counted["flush"][0], SYNCS - 1)
        recording, _ = self.record_counted("unwanted", "python3", "-c", program, self.point / "other", options=only)
        self.assertEqual([self.requests(recording, way) for way in ("write", "flush")], [(0, 0), (0, 0)])

    @harness.in_both
    def test_syncs_of_one_file_on_ext4(self):
        self.check_syncs_of_one_file("ext4")

    @harness.long
    def test_syncs_of_one_file_on_xfs(self):
        self.check_syncs_of_one_file("xfs")

    @harness.long
    def test_syncs_of_one_file_on_btrfs(self):
        self.check_syncs_of_one_file("btrfs")

    def check_other_syncs(self, file_system):
        """Also without a sync call: files opened with O_DSYNC, io_uring, libaio."""
        self.use(file_system)
        job = ["fio", "--name=job", "--rw=write", "--bs=4k", f"--size={SYNCS * 4096}", f"--output={self.folder}/fio.txt"]
        ways = {"dsync": ["psync", "--sync=dsync"], "uring_fsync": ["io_uring", "--fsync=1"], "aio_fsync": ["libaio", "--fsync=1"],
                "uring_dsync": ["io_uring", "--direct=1", "--sync=dsync"], "aio_dsync": ["libaio", "--direct=1", "--sync=dsync"],
                "uring_cached_dsync": ["io_uring", "--sync=dsync"], "aio_cached_dsync": ["libaio", "--sync=dsync"]}
        if file_system == "ext4":  # ext4 reports its syncs, whatever file the operation has
            ways["uring_registered"] = ["io_uring", "--fsync=1", "--registerfiles=1"]
        for way, (engine, *options) in harness.first(3, ways.items()):
            with self.subTest(way=way):
                recording, counted = self.record_alike(way, *job, f"--filename={self.point / way}", f"--ioengine={engine}", *options)
                self.assertGreaterEqual(counted["flush"][0], SYNCS - 1)
                charged = "b.op_id IN (SELECT op_id FROM events WHERE event IN ('async_operation', 'syscall_write', 'syscall_sync'))"
                self.assertEqual(self.requests(recording, "flush", charged), counted["flush"])
                self.assertEqual(recording.value(
                    "WITH flushes AS (SELECT op_id, max(least(plus(b.ts_ns, b.duration_ns), plus(a.ts_ns, a.duration_ns)) - b.ts_ns) AS ns "
                    "  FROM block_complete AS b JOIN async_operation AS a USING (op_id) "
                    "  WHERE b.bytes = 0 AND b.ts_ns >= a.ts_ns AND b.ts_ns < plus(a.ts_ns, a.duration_ns) GROUP BY op_id) "
                    "SELECT count(*) FROM flushes AS f JOIN async_phases AS p USING (op_id) WHERE p.device_ns < f.ns"), 0)

    @harness.in_both
    def test_other_syncs_on_ext4(self):
        self.check_other_syncs("ext4")

    @harness.long
    def test_other_syncs_on_xfs(self):
        self.check_other_syncs("xfs")

    @harness.long
    def test_other_syncs_on_btrfs(self):
        self.check_other_syncs("btrfs")

    def test_a_call_in_progress_at_the_end(self):
        """An unfinished flush has the time until the end: no longer than the continuing program
        measures."""
        self.use("ext4")
        program = ("import os, signal, sys, time\n"
                   "fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)\n"
                   "ended, longest_ns = [], 0\n"
                   "signal.signal(signal.SIGTERM, lambda *_: ended.append(1))\n"
                   "print('begun', flush=True)\n"
                   "while not ended:\n"
                   "    begin_ns = time.monotonic_ns()\n"
                   "    os.pwrite(fd, b'x' * 4096, 0)\n"
                   "    os.fsync(fd)\n"
                   "    longest_ns = max(longest_ns, time.monotonic_ns() - begin_ns)\n"
                   "print(longest_ns)\n")
        with subprocess.Popen([sys.executable, "-c", program, self.point / "log"], stdout=subprocess.PIPE, text=True) as writer:
            self.addCleanup(writer.kill)
            writer.stdout.readline()
            path = self.folder / "attached.iotrail"
            recorded = harness.run(harness.IOTRAIL, "record", "-o", path, "--layers", "syscall,fs,block", "-p", writer.pid, "--time", "500ms")
            self.assertEqual(recorded.returncode, 0, recorded.stderr)
            writer.terminate()
            longest_ns = int(writer.stdout.read())
        recording = harness.Recording(path, recorded)
        self.assertLessEqual(recording.value("SELECT max(duration_ns) FROM syscall_sync"), longest_ns)

    def test_forced_writes_of_a_raw_device(self):
        """A disk that cannot write durably flushes after each write, and once more for the call
        itself."""
        self.use(None)
        program = ("import mmap, os\n"
                   f"fd = os.open({self.device!r}, os.O_WRONLY | os.O_DIRECT | os.O_DSYNC)\n"
                   f"for number in range({SYNCS}):\n"
                   "    os.pwrite(fd, mmap.mmap(-1, 4096), number * 4096)\n")
        recording, counted = self.record_counted("forced", "python3", "-c", program)
        self.assertGreaterEqual(counted["flush"][0], 2 * SYNCS)
        self.assertEqual(self.requests(recording, "flush"), counted["flush"])
        self.assertEqual(self.requests(recording, "flush", "b.op_id IN (SELECT op_id FROM syscall_write)"), counted["flush"])


if __name__ == "__main__":
    harness.main()
