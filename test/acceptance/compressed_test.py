# SPDX-License-Identifier: BSD-3-Clause
"""btrfs compresses file data in threads of its own, into pages that belong to no file. These bytes
have a cause, and the disk's own counters have no others."""
import os
import pathlib

import harness

DISK_BYTES = 600 << 20
LINES = 40_000
# Writes a text that takes about a third of its size, in pieces that no extent is a multiple of.
# Prints its pid and the size.
WRITES = f"""
import os, random, sys
numbers = random.Random(1)
text = b''.join(b'%d lines of text, %d\\n' % (number, numbers.randrange(10**9)) for number in range({LINES}))
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for begin in range(0, len(text), 50000):
    os.write(fd, text[begin:begin + 50000])
os.fsync(fd)
print(os.getpid(), len(text))
"""


class Compressed(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.device, self.point = self.make_disk("btrfs", DISK_BYTES)
        # No commit but those that the program waits for.
        mounted = harness.run("mount", "-o", "remount,compress=zstd:1,commit=300", self.point)
        self.assertEqual(mounted.returncode, 0, mounted.stderr)
        os.sync()

    def test_compressed_writes_have_their_cause(self):
        file = self.point / "text"
        recording = self.record("python3", "-c", WRITES, file, options=["--layers", "syscall,cache,fs,block"])
        self.require(recording, "block", "cache")
        pid, size = map(int, recording.process.stdout.split())
        links = recording.query("SELECT l.cause, l.pid, total(l.bytes) AS bytes, total(l.plain_bytes) AS plain, "
                                "total(CASE l.confidence WHEN 'inferred' THEN 1 ELSE 0 END) AS inferred FROM links AS l "
                                f"JOIN file_names AS n USING (file) WHERE n.path = '{file}' AND l.completed_ns IS NOT NULL GROUP BY ALL")
        compressed = [row for row in links if row["cause"] == "compressed"]
        self.assertEqual([(int(row["inferred"]), row["pid"], int(row["plain"])) for row in compressed], [(0, pid, size)], links)
        self.assertLess(int(compressed[0]["bytes"]), size / 2)
        self.assertLessEqual({row["cause"] for row in links}, {"compressed", "rounding"})
        (fate,) = recording.query(f"SELECT written, to_device, pending FROM write_fates WHERE path = '{file}'")
        self.assertEqual([int(fate[key]) for key in ("written", "to_device", "pending")], [size, size, 0])
        classes = recording.query(f"SELECT DISTINCT io_class FROM block_queue JOIN file_names USING (file) WHERE path = '{file}'")
        self.assertEqual(classes, [{"io_class": "compressed"}])
        self.check_disk(recording)

    def check_disk(self, recording):
        """All that the disk wrote is in the trace."""
        name = pathlib.Path(self.device).name
        if not recording.manifest["counters"].get("kernel_completion_missed", 0):
            rows = recording.query(f"SELECT * FROM disk_balance WHERE device_name = '{name}' AND direction IN ('write', 'flush') ORDER BY direction")
            self.assertEqual([(row["direction"], int(row["absent"]), int(row["surplus"])) for row in rows], [("flush", 0, 0), ("write", 0, 0)], rows)
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout)


if __name__ == "__main__":
    harness.main()
