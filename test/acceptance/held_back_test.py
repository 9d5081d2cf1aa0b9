# SPDX-License-Identifier: BSD-3-Clause
"""Trails of I/O that a control group's limit throttles: a kernel thread queues it, and its owner
stays the same."""
import os
import pathlib
import sys

import harness
import trail_causes_test

DISK_BYTES = 600 << 20  # so that mkfs.ext4 makes blocks as large as pages
FILE_BYTES = 1 << 20
LIMIT_BYTES = 2 << 20  # per second
PIECE = 128 << 10
MOVE = f"""
import mmap, os, sys
group, action, path = sys.argv[1:]
with open(group + '/cgroup.procs', 'w') as members:
    members.write(str(os.getpid()))
memory = mmap.mmap(-1, {PIECE})
memory.write(b'h' * {PIECE})
fd = os.open(path, os.O_RDWR | (0 if action == 'read_cached' else os.O_DIRECT))
for at in range(0, {FILE_BYTES}, {PIECE}):
    (os.pwritev if action == 'write_direct' else os.preadv)(fd, [memory], at)
"""


class HeldBack(harness.AcceptanceTest):
    record_trails = trail_causes_test.TrailCauses.record_trails
    links = trail_causes_test.TrailCauses.links

    def use(self, file_system):
        self.device, self.point = self.make_disk(file_system, DISK_BYTES)
        self.name = pathlib.Path(self.device).name
        self.group = self.make_slow_group()
        (self.point / "file").write_bytes(os.urandom(FILE_BYTES))
        harness.evict(self.point / "file")

    def make_slow_group(self):
        """A control group with a low I/O limit for the disk."""
        disk = pathlib.Path("/sys/block", self.name, "dev").read_text().strip()
        limits = {pathlib.Path("/sys/fs/cgroup"): {"io.max": f"{disk} rbps={LIMIT_BYTES} wbps={LIMIT_BYTES}"},
                  pathlib.Path("/sys/fs/cgroup/blkio"): {f"blkio.throttle.{way}_bps_device": f"{disk} {LIMIT_BYTES}" for way in ("read", "write")}}
        for root, settings in limits.items():
            group = root / f"iotrail-held-back-{os.getpid()}"
            try:
                if (root / "cgroup.subtree_control").exists():
                    (root / "cgroup.subtree_control").write_text("+io")
                group.mkdir()
            except OSError:
                continue
            self.addCleanup(os.rmdir, group)
            if all((group / name).exists() for name in settings):
                for name, value in settings.items():
                    (group / name).write_text(value)
                return group
        return self.skipTest("there is no control group with limits of I/O to be made")

    def assert_was_held_back(self, recording):
        """Checks that the limit worked: without it the I/O takes far less time."""
        self.assertGreaterEqual(recording.value("SELECT max(ts_ns) - min(ts_ns) FROM links AS l JOIN devices AS d USING (device) "
                                                f"WHERE d.name = '{self.name}'"), 0.3e9 * FILE_BYTES / LIMIT_BYTES)

    def assert_has_its_time(self, recording, condition):
        """The operations spent most of their time there: no other part has as much."""
        parts = {row["part"]: int(row["ns"]) for row in recording.query(
            f"SELECT part, sum(ns) AS ns FROM op_time WHERE op_id IN (SELECT op_id FROM events WHERE {condition}) GROUP BY part")}
        self.assertGreaterEqual(parts.get("held back", 0), 0.3e9 * FILE_BYTES / LIMIT_BYTES, parts)
        self.assertEqual(max(parts, key=parts.get), "held back", parts)

    def move(self, action):
        return self.record_trails(sys.executable, "-c", MOVE, self.group, action, self.point / "file", name=action)

    def check_direct_calls(self, file_system):
        self.use(file_system)
        for way in ("read", "write"):
            with self.subTest(way=way):
                recording = self.move(way + "_direct")
                calls = {row["op_id"] for row in recording.query(
                    f"SELECT op_id FROM syscall_{way} AS c JOIN file_names AS n USING (file) WHERE n.path = '{self.point / 'file'}'")}
                self.assertEqual(len(calls), FILE_BYTES // PIECE)
                found = self.links(recording, "file", way, "l.op_id, l.cause")
                if way == "write" and {cause for _, cause in found} == {"write_back"}:
                    continue  # btrfs writes through the cache, for its checksums
                self.assert_was_held_back(recording)
                self.assertEqual(found, {(op, "direct"): (PIECE, PIECE) for op in calls})
                held = recording.value("SELECT sum(q.bytes) FROM block_queue AS q JOIN devices AS d USING (device) "
                                       f"WHERE d.name = '{self.name}' AND q.by_kernel_thread = 1")
                # On a busy machine the program may come so late that the limit lets some through at once.
                self.assertGreater(held or 0, 0, "a thread of the kernel queues what was held back")
                self.assert_has_its_time(recording, f"event = 'syscall_{way}'")

    def test_direct_calls_on_ext4(self):
        self.check_direct_calls("ext4")

    @harness.long
    def test_direct_calls_on_xfs(self):
        self.check_direct_calls("xfs")

    @harness.long
    def test_direct_calls_on_btrfs(self):
        if " btrfs_dio_end_io\n" not in pathlib.Path("/proc/kallsyms").read_text():
            self.skipTest("this kernel does not report the owner of I/O that its threads queue")
        self.check_direct_calls("btrfs")

    def check_asynchronous_reads(self, file_system):
        """btrfs is excluded: it uses the page cache for memory that was never touched, such as
        fio's."""
        self.use(file_system)
        for engine in ("libaio", "io_uring"):
            with self.subTest(engine=engine):
                recording = self.record_trails(
                    "sh", "-c", 'echo $$ > "$0/cgroup.procs"; exec "$@"', self.group, "fio", "--name=reads", f"--filename={self.point / 'file'}", "--rw=read",
                    f"--bs={PIECE}", f"--size={FILE_BYTES}", "--direct=1", "--iodepth=4", f"--ioengine={engine}", name=engine)
                self.assert_was_held_back(recording)
                operations = {row["op_id"] for row in recording.query("SELECT a.op_id FROM async_operation AS a JOIN file_names AS n USING (file) "
                                                                      f"WHERE n.path = '{self.point / 'file'}'")}
                self.assertEqual(len(operations), FILE_BYTES // PIECE)
                self.assertEqual(self.links(recording, "file", "read", "l.op_id, l.cause"), {(op, "direct"): (PIECE, PIECE) for op in operations})
                self.assert_has_its_time(recording, "event = 'async_operation'")

    @harness.long
    def test_asynchronous_reads_on_ext4(self):
        self.check_asynchronous_reads("ext4")

    @harness.long
    def test_asynchronous_reads_on_xfs(self):
        self.check_asynchronous_reads("xfs")

    def check_cached_reads(self, file_system):
        """Read-ahead belongs to a call that reads meanwhile: nothing more is known."""
        self.use(file_system)
        recording = self.move("read_cached")
        self.assert_was_held_back(recording)
        found = self.links(recording, "file", "read")
        self.assertLessEqual(found.keys(), {"read", "read_ahead"})
        self.assertEqual(sum(size for size, _ in found.values()), FILE_BYTES)
        self.assert_has_its_time(recording, "event = 'syscall_read'")
        text = harness.run(harness.IOTRAIL, "explain", recording.path, "--slowest", "1").stdout
        self.assertIn("a limit of its control group held it back", " ".join(text.split()))
        table = harness.run(harness.IOTRAIL, "report", recording.path, "--full").stdout.partition("\nWhere the time of calls went\n")[2]
        self.assertRegex(table.splitlines()[0], "held back")

    @harness.long
    def test_cached_reads_on_ext4(self):
        self.check_cached_reads("ext4")

    @harness.long
    def test_cached_reads_on_xfs(self):
        self.check_cached_reads("xfs")

    @harness.long
    def test_cached_reads_on_btrfs(self):
        self.check_cached_reads("btrfs")


if __name__ == "__main__":
    harness.main()
