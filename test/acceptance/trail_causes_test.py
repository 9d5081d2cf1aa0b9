# SPDX-License-Identifier: BSD-3-Clause
"""Trails of programs with I/O known to the byte: buffered by a library, refused, failed, killed,
under memory pressure, with a reused pid."""
import bisect
import collections
import errno
import json
import os
import pathlib

import harness
import trail_cause_programs as programs
import trails_test

DISK_BYTES = 600 << 20  # so that mkfs.ext4 makes blocks as large as pages
PAGE = 4096
FIO_BYTES = 1 << 20
FILES = 10000
GROUP_BYTES = 24 << 20
LEAST_SHARE = 0.995  # minimum share of the disk's writes
LAYERS = "syscall,async,cache,block"


class TrailCauses(harness.AcceptanceTest):
    def use(self, file_system, size=DISK_BYTES):
        self.device, self.point = self.make_disk(file_system, size)
        self.name = pathlib.Path(self.device).name

    def record_trails(self, *command, layers=LAYERS, **options):
        """Records, and checks that no byte and no time is lost or counted twice."""
        recording = self.record(*command, options=["--layers", layers], **options)
        self.require(recording, "block")
        self.assert_adds_up(recording, lost=None)
        trails_test.Trails.assert_times_add_up(self, recording)
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        return recording

    def record_program(self, program, *arguments, **options):
        """The JSON that the Python program prints, and the recording."""
        recording = self.record_trails("python3", "-c", program, self.point, *arguments, **options)
        return json.loads(recording.process.stdout), recording

    def links(self, recording, name, direction="write", key="l.cause"):
        """key -> (bytes, exact bytes) that the disk completed for one file"""
        return {tuple(list(row.values())[:-2]) if "," in key else list(row.values())[0]: (int(row["bytes"]), int(row["exact"]))
                for row in recording.query(
            f"SELECT {key}, sum(l.bytes) AS bytes, sum(CASE l.confidence WHEN 'exact' THEN l.bytes ELSE 0 END) AS exact "
            "FROM links AS l JOIN devices AS d USING (device) JOIN file_names AS n ON l.file = n.file "
            f"WHERE d.name = '{self.name}' AND l.direction = '{direction}' AND l.completed_ns IS NOT NULL "
            f"AND n.path = '{self.point / name}' GROUP BY ALL")}

    def balance(self, recording, name, direction="write"):
        """part -> bytes, from the calls to the device, for one file"""
        return {row["part"]: int(row["bytes"]) for row in recording.query(
            "SELECT part, sum(b.bytes) AS bytes FROM byte_balance AS b JOIN file_names AS n USING (file) "
            f"WHERE path = '{self.point / name}' AND direction = '{direction}' GROUP BY part")}

    def check_stream(self, file_system):
        """From the call to the disk: a stream joins the pieces of many calls into one system call,
        and its bytes are written back."""
        self.use(file_system)
        pieces, recording = self.record_program(programs.STREAM, layers="app," + LAYERS)
        self.require(recording, "app")
        given = recording.query(
            "SELECT s.app_op, s.syscall_op, s.call, s.confidence, s.bytes, a.result AS of_call FROM stdio_writes AS s JOIN file_names AS n USING (file) "
            f"JOIN app_write AS a ON s.app_op = a.op_id WHERE n.path = '{self.point / 'stream'}' ORDER BY a.ts_ns, s.syscall_op")
        self.assertEqual({(row["call"], row["confidence"]) for row in given}, {("fwrite", "exact")})
        of_calls, of_syscalls = collections.Counter(), collections.Counter()
        for row in given:
            of_calls[row["app_op"]] += int(row["bytes"])
            of_syscalls[row["syscall_op"]] += int(row["bytes"])
        self.assertEqual(list(of_calls.values()), pieces)
        carried = {row["op_id"]: int(row["result"]) for row in recording.query(
            f"SELECT w.op_id, w.result FROM syscall_write AS w JOIN file_names AS n USING (file) WHERE n.path = '{self.point / 'stream'}'")}
        self.assertEqual(of_syscalls, carried)
        on_disk = self.links(recording, "stream", key="l.op_id, l.cause")
        self.assertEqual({op: sizes for (op, cause), sizes in on_disk.items() if cause == "write_back"},
                         {op: (size, size) for op, size in carried.items()})
        self.assertEqual({cause for _, cause in on_disk}, {"write_back", "rounding"})
        self.assertEqual(recording.value(
            "SELECT sum(to_device) FROM write_fates WHERE path = '" + str(self.point / "stream") + "'"), sum(pieces))

    def test_a_stream_on_ext4(self):
        self.check_stream("ext4")

    @harness.long
    def test_a_stream_on_xfs(self):
        self.check_stream("xfs")

    @harness.long
    def test_a_stream_on_btrfs(self):
        self.check_stream("btrfs")

    def check_direct_write_that_is_none(self, file_system, direct, cached):
        """The kernel may write through the cache what it cannot write directly: each byte counts
        once, by the way it took."""
        self.use(file_system)
        (place, written), recording = self.record_program(programs.FALLS_BACK, file_system)
        (row,) = recording.query(f"SELECT w.op_id, w.result FROM syscall_write AS w JOIN file_names AS n USING (file) "
                                 f"WHERE n.path = '{self.point / 'direct'}' AND w.position = {place}")
        self.assertEqual((written, int(row["result"])), (direct + cached, direct + cached))
        found = self.links(recording, "direct", key="l.op_id, l.cause, l.by_op")
        rest = -cached % PAGE
        expected = {"direct": direct, "write_back": cached, "rounding": rest}
        self.assertEqual({cause: sizes for (op, cause, _), sizes in found.items() if op == row["op_id"]},
                         {cause: (size, size) for cause, size in expected.items() if size})
        balance = self.balance(recording, "direct")
        self.assertEqual(balance.pop("rest of their pages", 0), rest)
        self.assertEqual(balance.keys(), {"written by calls"})
        # A page that is written in part is read from the disk first, for no reading call.
        self.assertLessEqual(self.balance(recording, "direct", "read").items(), {"rest of their pages": PAGE}.items())

    @harness.long
    def test_direct_write_that_is_none_on_ext4(self):
        self.check_direct_write_that_is_none("ext4", 4 * PAGE, 4 * PAGE)

    @harness.long
    def test_direct_write_that_is_none_on_xfs(self):
        self.check_direct_write_that_is_none("xfs", 0, 1024)

    @harness.long
    def test_direct_write_that_is_none_on_btrfs(self):
        self.check_direct_write_that_is_none("btrfs", 0, 1000)

    def check_no_room(self, file_system):
        """The disk has exactly the bytes that the calls reported as written, and those that the refused direct write moved before."""
        self.use(file_system)
        truth, recording = self.record_program(programs.NO_ROOM)
        for name, results in truth.items():
            with self.subTest(file=name):
                self.assertEqual(results.pop(), -errno.ENOSPC)
                found = [int(row["result"]) for row in recording.query(
                    f"SELECT w.result FROM syscall_write AS w JOIN file_names AS n USING (file) WHERE n.path = '{self.point / name}' ORDER BY w.ts_ns")]
                self.assertEqual(found, results + [-errno.ENOSPC])
                links = self.links(recording, name)
                # btrfs does direct writes through the cache, for its checksums, and may use the
                # room of both for one of them.
                links.pop("rounding", None)
                size = sum(results) + int(recording.value(
                    "SELECT coalesce(sum(l.bytes), 0) AS bytes FROM links AS l JOIN syscall_write AS w USING (op_id) JOIN file_names AS n ON w.file = n.file "
                    f"WHERE n.path = '{self.point / name}' AND w.result = {-errno.ENOSPC} AND l.direction = 'write' AND l.cause = 'direct'"))
                self.assertLessEqual(links.keys(), {"write_back", "direct"} if name == "direct" else {"write_back"})
                self.assertEqual(sum(size for size, _ in links.values()), size)
                self.assertEqual(sum(exact for _, exact in links.values()), size)
                balance = self.balance(recording, name)
                balance.pop("rest of their pages", None)
                self.assertEqual(balance, {"written by calls": size} if size else {})
        self.assertGreater(sum(map(sum, truth.values())), 0)

    def test_no_room_on_ext4(self):
        self.check_no_room("ext4")

    @harness.long
    def test_no_room_on_xfs(self):
        self.check_no_room("xfs")

    @harness.long
    def test_no_room_on_btrfs(self):
        self.check_no_room("btrfs")

    def make_holes(self, image, marks):
        """Frees the image's memory at these marks, and uses up all free memory."""
        found = {}
        with open(image, "rb") as file:
            while len(found) < len(marks):  # a mark begins at a page
                place = os.lseek(file.fileno(), file.tell(), os.SEEK_DATA)
                file.seek(place // PAGE * PAGE)
                page = file.read(PAGE)
                found |= {mark: place // PAGE * PAGE for mark in marks if page.startswith(mark)}
        memory = os.statvfs(image)
        used = (memory.f_blocks - memory.f_bfree) * memory.f_frsize
        for place in found.values():
            self.assertEqual(harness.run("fallocate", "--punch-hole", "--offset", place, "--length", 16 * PAGE, image).returncode, 0)
        self.assertEqual(harness.run("mount", "-o", f"remount,size={used - len(marks) * 16 * PAGE}", image.parent).returncode, 0)

    def check_failures(self, file_system):
        """The disk is an image in a full memory file system, so that the disk itself fails."""
        memory, self.point = self.folder / "memory", self.folder / "point"
        memory.mkdir()
        if harness.run("mount", "-t", "tmpfs", "-o", "size=1G", "none", memory).returncode:
            self.skipTest("there is no tmpfs")
        self.addCleanup(harness.run, "umount", memory)
        image = memory / "image"
        image.touch()
        os.truncate(image, DISK_BYTES)
        self.device = self.attach_loop(image)
        self.name = pathlib.Path(self.device).name
        self.make_file_system(self.device, file_system, self.point)
        for name in ("cached", "direct"):
            (self.point / name).write_bytes((self.id() + name).encode().ljust(16 * PAGE, b"m"))
        harness.sync_file_system(self.point)
        self.make_holes(image, [(self.id() + name).encode() for name in ("cached", "direct")])
        results, recording = self.record_program(programs.FAILS)
        failed = results["direct"][0]
        self.assertIn(failed, (-errno.EIO, -errno.ENOSPC))
        self.assertEqual(results, {"cached": [16 * PAGE, failed], "direct": [failed, 0]})
        for name, cause, call in (("cached", "write_back", "sync"), ("direct", "direct", "write")):
            self.assertEqual(self.links(recording, name, key="l.cause, l.error"), {(cause, failed): (16 * PAGE, 16 * PAGE)})
            self.assertEqual(recording.value(f"SELECT min(c.result) FROM syscall_{call} AS c JOIN file_names AS n USING (file) "
                                             f"WHERE n.path = '{self.point / name}'"), failed)
        self.assertEqual(self.balance(recording, "cached"), {"written by calls": 16 * PAGE})
        # A failed call wrote no byte.
        self.assertEqual(self.balance(recording, "direct"), {"not followed": 16 * PAGE})

    @harness.long
    def test_a_disk_that_fails_below_ext4(self):
        self.check_failures("ext4")

    @harness.long
    def test_a_disk_that_fails_below_xfs(self):
        self.check_failures("xfs")

    def check_asynchronous_reads(self, file_system):
        """Each operation's bytes come from the disk once, and belong to that operation."""
        self.require_program("fio")
        self.use(file_system)
        jobs = {f"{engine}{direct}": (f"--ioengine={engine}", f"--direct={direct}") for engine in ("io_uring", "libaio") for direct in (0, 1)}
        if file_system == "btrfs" and " btrfs_dio_end_io\n" not in pathlib.Path("/proc/kallsyms").read_text():
            # Without it, direct I/O of btrfs has no known owner.
            jobs = {name: options for name, options in jobs.items() if name.endswith("0")}
        for name in jobs:
            (self.point / name).write_bytes(os.urandom(FIO_BYTES))
            harness.evict(self.point / name)
        recording = self.record_trails(
            "fio", f"--directory={self.point}", "--rw=randread", f"--bs={PAGE}", f"--size={FIO_BYTES}", "--iodepth=16", "--output-format=json",
            *[word for name, options in jobs.items() for word in (f"--name={name}", f"--filename={name}", "--stonewall", *options)])
        text = recording.process.stdout
        for job in json.loads(text[text.index("{"):])["jobs"]:
            name = job["jobname"]
            with self.subTest(job=name):
                self.assertEqual(job["read"]["io_bytes"], FIO_BYTES)
                found = self.links(recording, name, "read", "l.op_id, l.cause, l.position")
                operations = recording.query(f"SELECT a.op_id, a.position, a.result FROM async_operation AS a JOIN file_names AS n USING (file) "
                                             f"WHERE n.path = '{self.point / name}'")
                expected = {}
                for row in operations:
                    # A direct bio has its memory, but not its position in the file.
                    key = (row["op_id"], "direct", None)
                    # btrfs uses the page cache for memory that was never touched.
                    if name.endswith("0") or file_system == "btrfs" and key not in found:
                        key = (row["op_id"], "read", row["position"])
                    expected[key] = int(row["result"])
                self.assertEqual({key: size for key, (size, _) in found.items()}, expected)
                self.assertEqual({int(row["position"]) for row in operations}, set(range(0, FIO_BYTES, PAGE)))
                for (_, cause, _), (size, exact) in found.items():
                    self.assertIn(exact, (size,) if cause == "direct" else (0, size))
                self.assertEqual(self.balance(recording, name, "read"), {"read by calls": FIO_BYTES})

    @harness.long
    def test_asynchronous_reads_on_ext4(self):
        self.check_asynchronous_reads("ext4")

    @harness.long
    def test_asynchronous_reads_on_xfs(self):
        self.check_asynchronous_reads("xfs")

    @harness.long
    def test_asynchronous_reads_on_btrfs(self):
        self.check_asynchronous_reads("btrfs")

    def check_creates(self, file_system):
        """All of the disk's writes are metadata for the waiting call, whichever kernel thread
        writes them."""
        self.use(file_system)
        harness.sync_file_system(self.point)
        written, recording = self.record_program(programs.CREATES, FILES, f"/sys/block/{self.name}/stat", layers=LAYERS + ",fs")
        (row,) = recording.query("SELECT count(*) AS calls, count(DISTINCT w.file) AS files FROM syscall_open AS w JOIN file_names AS n USING (file) "
                                 f"JOIN syscall_close AS c ON w.file = c.file WHERE n.path LIKE '{self.point}/new%' AND w.result >= 0")
        self.assertEqual({key: int(value) for key, value in row.items()}, {"calls": FILES, "files": FILES})
        causes = recording.query("SELECT l.cause, s.call, sum(l.bytes) AS bytes FROM links AS l JOIN devices AS d USING (device) "
                                 "LEFT JOIN syscall_sync AS s USING (op_id) "
                                 f"WHERE d.name = '{self.name}' AND l.direction = 'write' AND l.completed_ns IS NOT NULL GROUP BY ALL")
        self.assertEqual([(row["cause"], row["call"]) for row in causes], [("metadata", "syncfs")])
        (row,) = recording.query(f"SELECT completed, attributed, differs FROM conservation WHERE device_name = '{self.name}' AND direction = 'write'")
        self.assertEqual([int(value) for value in row.values()], [int(causes[0]["bytes"]), int(causes[0]["bytes"]), 0])
        # A counter has the completions that the kernel does not report.
        if not recording.manifest["counters"].get("kernel_completion_missed", 0):
            self.assertGreaterEqual(int(causes[0]["bytes"]), LEAST_SHARE * written)

    def test_creates_on_ext4(self):
        self.check_creates("ext4")

    @harness.long
    def test_creates_on_xfs(self):
        self.check_creates("xfs")

    @harness.long
    def test_creates_on_btrfs(self):
        self.check_creates("btrfs")

    @harness.long
    def test_processes_of_the_same_pid(self):
        """Their writes are distinguished, even if they reach the disk after the last process has
        ended."""
        self.use("ext4")
        pids, recording = self.record_program(programs.SAME_PID)
        if -1 in pids:
            self.skipTest("this machine does not let a pid be chosen")
        self.assertEqual(pids, 3 * pids[:1])
        begun = [int(row["since_ns"]) for row in recording.query(f"SELECT since_ns FROM processes WHERE pid = {pids[0]} ORDER BY since_ns")]
        self.assertEqual(len(begun), 3)
        found = collections.Counter()
        for row in recording.query(
                "SELECT n.path, l.cause, l.confidence, l.pid, l.bytes, w.ts_ns FROM links AS l JOIN syscall_write AS w USING (op_id) "
                f"JOIN file_names AS n ON l.file = n.file WHERE n.path LIKE '{self.point}/%' AND l.completed_ns IS NOT NULL AND l.cause <> 'rounding'"):
            self.assertEqual((row["cause"], row["confidence"], int(row["pid"])), ("write_back", "exact", pids[0]))
            found[(pathlib.Path(row["path"]).name, bisect.bisect(begun, int(row["ts_ns"])))] += int(row["bytes"])
        self.assertEqual(found, {("shared", 1): 3 * PAGE, ("shared", 2): 8 * PAGE, ("shared", 3): PAGE,
                                 ("first", 1): 4000, ("second", 2): 8000, ("third", 3): 1000})
        self.assertEqual(self.balance(recording, "shared"), {"written by calls": 13 * PAGE, "overwritten": -PAGE})

    def check_waste(self, file_system):
        """Most pages read ahead of random reads are never used: the cache itself says how many."""
        self.use(file_system)
        (self.point / "scattered").write_bytes(os.urandom(1024 * PAGE))
        harness.evict(self.point / "scattered")
        truth, recording = self.record_program(programs.WASTE)
        if truth is None:
            self.skipTest("this kernel has no cachestat")
        asked, used, cached = truth
        (row,) = recording.query(f"SELECT asked, ahead, used, unused FROM read_ahead WHERE path = '{self.point / 'scattered'}'")
        self.assertEqual({key: int(value) for key, value in row.items()},
                         {"asked": asked, "ahead": cached - asked, "used": used, "unused": cached - asked - used})
        self.assertEqual(self.balance(recording, "scattered", "read"),
                         {part: size for part, size in {"read by calls": asked + used, "read ahead for them": -used, "read ahead": cached - asked}.items() if size})
        self.assertGreater(cached - asked, used)

    @harness.long
    def test_waste_on_ext4(self):
        self.check_waste("ext4")

    @harness.long
    def test_waste_on_xfs(self):
        self.check_waste("xfs")

    @harness.long
    def test_waste_on_btrfs(self):
        self.check_waste("btrfs")

    def make_small_group(self):
        """A control group with little memory. Its programs wait for memory, however slow the disk is: none is killed."""
        for root, limit in ((pathlib.Path("/sys/fs/cgroup"), "memory.high"), (pathlib.Path("/sys/fs/cgroup/memory"), "memory.limit_in_bytes")):
            group = root / f"iotrail-trails-{os.getpid()}"
            try:
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(os.rmdir, group)
            if (group / limit).exists():
                (group / limit).write_text(str(GROUP_BYTES))
                if (group / "memory.oom_control").exists():
                    (group / "memory.oom_control").write_text("1")
                return group
        return self.skipTest("there is no control group of memory to be made")

    def check_pressure(self, file_system):
        """Write-back for lack of memory belongs to the writer, and to no call."""
        group = self.make_small_group()
        self.use(file_system)
        (pid, size), recording = self.record_program(programs.PRESSURE, group)
        self.assertEqual(self.links(recording, "more", key="l.pid, l.cause"), {(pid, "write_back"): (size, size)})
        set_off = {row["set_off_by"]: int(row["bytes"]) for row in recording.query("SELECT set_off_by, sum(bytes) AS bytes FROM links AS l JOIN file_names AS n USING (file) "
                                                                                   f"WHERE n.path = '{self.point / 'more'}' GROUP BY ALL")}
        self.assertLessEqual(set_off.keys(), {"call", "VMSCAN", "BACKGROUND", "FOREIGN_FLUSH"})
        self.assertGreaterEqual(size - set_off.get("call", 0), size - GROUP_BYTES)
        (row,) = recording.query("SELECT written, to_device, absorbed, dropped, pending FROM write_fates "
                                 f"WHERE path = '{self.point / 'more'}' AND pid = {pid}")
        self.assertEqual([int(value) for value in row.values()], [size, size, 0, 0, 0])
        (row,) = recording.query(f"SELECT completed, attributed FROM conservation WHERE device_name = '{self.name}' AND direction = 'write'")
        self.assertGreaterEqual(int(row["attributed"]), 0.999 * int(row["completed"]))

    @harness.long
    def test_pressure_on_ext4(self):
        self.check_pressure("ext4")

    @harness.long
    def test_pressure_on_xfs(self):
        self.check_pressure("xfs")

    @harness.long
    def test_pressure_on_btrfs(self):
        self.check_pressure("btrfs")

    def check_killed(self, file_system):
        """The disk completes I/O that a killed process has requested. It belongs to its call."""
        self.use(file_system)
        for name in ("cached", "direct"):
            (self.point / name).write_bytes(os.urandom(64 << 20))
            harness.evict(self.point / name)
        truth, recording = self.record_program(programs.KILLED, f"/sys/block/{self.name}")
        if truth["cached"][1] is None:
            self.skipTest("this kernel has no cachestat")
        for name, (child, cached) in truth.items():
            with self.subTest(file=name):
                found = self.links(recording, name, "read", "l.pid, l.cause")
                is_direct = (child, "direct") in found
                self.assertEqual({pid for pid, _ in found}, {child})
                self.assertLessEqual({cause for _, cause in found}, {"direct"} if is_direct else {"read", "read_ahead", "rounding"})
                size = sum(size for size, _ in found.values())
                self.assertEqual(size, sum(exact for _, exact in found.values()))
                if not is_direct:
                    self.assertEqual(size, cached)
                self.assertGreaterEqual(size, 4096 * 512)

    @harness.long
    def test_killed_on_ext4(self):
        self.check_killed("ext4")

    @harness.long
    def test_killed_on_xfs(self):
        self.check_killed("xfs")

    @harness.long
    def test_killed_on_btrfs(self):
        self.check_killed("btrfs")


if __name__ == "__main__":
    harness.main()
