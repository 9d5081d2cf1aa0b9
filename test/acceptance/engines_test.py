# SPDX-License-Identifier: BSD-3-Clause
"""All I/O engines of fio, sequential and random: the calls' and the disk's operations equal fio's."""
import json
import os

import harness

SIZE_BYTES = 512 << 10
BLOCK_BYTES = 4096
BLOCKS = SIZE_BYTES // BLOCK_BYTES
DISK_BYTES = 64 << 20
PATTERNS = ("write", "read", "randwrite", "randread")
CALLS, OTHER_CALLS = ("psync", "posixaio"), ("sync", "vsync", "pvsync", "pvsync2")
ASYNCHRONOUS = ("libaio", "io_uring")
if os.environ.get("IOTRAIL_VM"):  # a start of fio takes ten seconds there
    CALLS, OTHER_CALLS = ("pvsync2",), ()


class Engines(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.require_program("fio")
        _, self.point = self.make_disk("ext4", DISK_BYTES)

    def record_engine(self, engine, *options):
        """One job for each pattern, one after another, each on a file of its own that is on the
        disk already."""
        job = ["fio", f"--directory={self.point}", f"--bs={BLOCK_BYTES}", f"--size={SIZE_BYTES}", *options]
        # After a direct write, a file has no unwritten extents left to convert.
        harness.run(*job, "--direct=1", *[word for pattern in PATTERNS for word in
                                          (f"--name={pattern}", f"--filename={pattern}", "--rw=write", "--end_fsync=1")])
        recording = self.record(*job, f"--ioengine={engine}", "--output-format=json",
                                *[word for pattern in PATTERNS for word in
                                  (f"--name={pattern}", f"--filename={pattern}", f"--rw={pattern}", "--stonewall")],
                                options=["--layers", "syscall,async,vfs,cache,block"], name=engine)
        self.require(recording, "syscall", "block")
        self.assert_adds_up(recording, lost=None)
        text = recording.process.stdout
        for report, pattern in zip(json.loads(text[text.index("{"):])["jobs"], PATTERNS):
            self.assertEqual(report["read" if "read" in pattern else "write"]["io_bytes"], SIZE_BYTES)
        return recording

    def asked(self, recording, table, pattern):
        """(operations, bytes, operations that begin where the one before ended) for one pattern's
        file."""
        side = "read" if "read" in pattern else "write"
        rows = (f"SELECT position, result, ts_ns FROM syscall_{side}" if table == "syscall" else
                f"SELECT position, bytes AS result, ts_ns FROM async_operation AS a WHERE a.call LIKE '%{side.upper()}%'")
        (row,) = recording.query(
            "SELECT count(*) AS operations, sum(result) AS bytes, count(CASE WHEN position = before THEN 1 END) AS sequential "
            "FROM (SELECT *, lag(position + result) OVER (ORDER BY ts_ns) AS before FROM ("
            + rows.replace(" FROM ", ", file FROM ", 1) +
            f") JOIN files USING (file) WHERE path = '{self.point}/{pattern}')")
        return tuple(map(int, row.values()))

    def moved(self, recording, pattern):
        """Bytes that the disk was asked to move for one pattern's file, in the pattern's direction."""
        side = "read" if "read" in pattern else "write"
        return int(recording.value(
            "SELECT coalesce(sum(b.bytes), 0) FROM block_queue AS b JOIN files USING (file) "
            "JOIN value_names AS v ON bitAnd(b.flags, v.mask) = v.number AND v.value_table = 'block' "
            f"WHERE path = '{self.point}/{pattern}' AND v.name = '{side}'"))

    def queued(self, recording, pattern):
        """What was queued for one pattern's file, for the message of a failure."""
        return recording.query("SELECT b.pid, b.tid, b.flags, b.by_kernel_thread, count(*) AS operations, count(DISTINCT b.sector) AS sectors, "
                               "count(DISTINCT b.device) AS devices, sum(b.bytes) AS bytes FROM block_queue AS b JOIN files USING (file) "
                               f"WHERE path = '{self.point}/{pattern}' GROUP BY ALL")

    def through_vfs(self, recording, pattern):
        """(operations, bytes) of one pattern's file in layer vfs."""
        side = "read" if "read" in pattern else "write"
        (row,) = recording.query("SELECT count(*) AS operations, sum(result) AS bytes "
                                 f"FROM vfs_{side} JOIN files USING (file) WHERE path = '{self.point}/{pattern}'")
        return tuple(map(int, row.values()))

    def check(self, engine, table, *options):
        recording = self.record_engine(engine, "--direct=1", *options)
        for pattern in PATTERNS:
            with self.subTest(engine=engine, pattern=pattern):
                operations, size, sequential = self.asked(recording, table, pattern)
                self.assertEqual((operations, size), (BLOCKS, SIZE_BYTES))
                if "rand" in pattern:
                    self.assertLess(sequential, BLOCKS // 4)
                else:
                    self.assertEqual(sequential, BLOCKS - 1)
                # Asynchronous operations bypass the layer.
                if table == "syscall" and "vfs" in recording.layers_recorded():
                    self.assertEqual(self.through_vfs(recording, pattern), (BLOCKS, SIZE_BYTES))
                self.assertEqual(self.moved(recording, pattern), SIZE_BYTES, self.queued(recording, pattern))

    def test_calls(self):
        for engine in CALLS:
            self.check(engine, "syscall")

    @harness.long
    def test_other_calls(self):
        for engine in OTHER_CALLS:
            self.check(engine, "syscall")

    def test_asynchronous_operations(self):
        for engine in ASYNCHRONOUS:
            self.check(engine, "async")

    def test_mapped_files(self):
        recording = self.record_engine("mmap", "--end_fsync=1")
        for pattern in PATTERNS:
            with self.subTest(pattern=pattern):
                self.assertEqual(self.moved(recording, pattern), SIZE_BYTES, "each page once")


if __name__ == "__main__":
    harness.main()
