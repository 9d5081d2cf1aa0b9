# SPDX-License-Identifier: BSD-3-Clause
"""A file system encrypts files (fscrypt) in pages of its own, which belong to no file. What it writes
still has its file, its place in it and its writer."""
import fcntl
import os
import pathlib
import struct

import harness

DISK_BYTES = 200 << 20
SET_POLICY = 0x800C6613
ADD_KEY = 0xC0506617
KEY_BYTES = 64
BY_IDENTIFIER = 2
AES_256_XTS, AES_256_CTS, PAD_32 = 1, 4, 3
PIECE, PIECES = 50_000, 40
# Writes pieces that no page is a multiple of, and waits for the disk. Then reads all of it from the
# disk. Prints its pid.
WORKS = f"""
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
for _ in range({PIECES}):
    os.write(fd, b'x' * {PIECE})
os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
os.lseek(fd, 0, os.SEEK_SET)
while os.read(fd, 65536):
    pass
print(os.getpid())
"""


class Encrypted(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.require_program("mkfs.ext4")
        self.device = self.make_bare_disk(DISK_BYTES)
        made = harness.run("mkfs.ext4", "-q", "-b", 4096, "-O", "encrypt", "-E", "lazy_itable_init=0,lazy_journal_init=0", self.device)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.point = self.folder / "point"
        self.point.mkdir()
        mounted = harness.run("mount", "-o", "no_prefetch_block_bitmaps,commit=600", self.device, self.point)
        if mounted.returncode:
            self.skipTest(f"this machine has no encrypted ext4: {mounted.stderr}")
        self.addCleanup(harness.run, "umount", self.point)
        self.make_secret()

    def make_secret(self):
        """A directory with files that are encrypted by a key of the test."""
        self.secret = self.point / "secret"
        self.secret.mkdir()
        directory = os.open(self.secret, os.O_RDONLY)
        self.addCleanup(os.close, directory)
        key = bytearray(struct.pack("II32xII32x", BY_IDENTIFIER, 0, KEY_BYTES, 0) + bytes(range(KEY_BYTES)))
        try:
            fcntl.ioctl(directory, ADD_KEY, key, True)
            fcntl.ioctl(directory, SET_POLICY, struct.pack("BBBB4x16s", 2, AES_256_XTS, AES_256_CTS, PAD_32, bytes(key[8:24])))
        except OSError as error:
            self.skipTest(f"this kernel encrypts no files: {error}")
        os.sync()

    def test_encrypted_data_has_its_file_and_writer(self):
        file = self.secret / "data"
        recording = self.record("python3", "-c", WORKS, file, options=["--layers", "syscall,cache,block"])
        self.require(recording, "block", "cache")
        pid, size = int(recording.process.stdout), PIECE * PIECES
        bios = recording.query("SELECT io_class, total(bytes) AS bytes, min(position) AS first, min(is_contiguous) AS are_ranges FROM block_queue "
                               f"JOIN file_names USING (file) WHERE path = '{file}' AND choice_text('block', flags) = 'write' GROUP BY io_class")
        pages = -(-size // 4096) * 4096
        self.assertEqual([(row["io_class"], int(row["bytes"]), int(row["first"]), int(row["are_ranges"])) for row in bios], [("data", pages, 0, 1)])
        for direction, cause in (("write", "write_back"), ("read", "read")):
            links = recording.query("SELECT l.cause, l.pid, l.confidence, total(l.bytes) AS bytes FROM links AS l JOIN file_names AS n USING (file) "
                                    f"WHERE n.path = '{file}' AND l.direction = '{direction}' AND l.completed_ns IS NOT NULL "
                                    "AND l.cause NOT IN ('rounding', 'read_ahead') GROUP BY ALL")
            if direction == "write":
                self.assertEqual([(row["cause"], row["pid"], row["confidence"], int(row["bytes"])) for row in links],
                                 [(cause, pid, "exact", size)])
            self.assertEqual({(row["cause"], row["pid"]) for row in links}, {(cause, pid)})
        (fate,) = recording.query(f"SELECT written, to_device, pending FROM write_fates WHERE path = '{file}'")
        self.assertEqual([int(fate[key]) for key in ("written", "to_device", "pending")], [size, size, 0])
        self.check_disk(recording)

    def check_disk(self, recording):
        """All that the disk wrote is in the trace."""
        name = pathlib.Path(self.device).name
        if not recording.manifest["counters"].get("kernel_completion_missed", 0):
            rows = recording.query(f"SELECT * FROM disk_balance WHERE device_name = '{name}' AND direction IN ('write', 'flush') ORDER BY direction")
            self.assertEqual([(row["direction"], int(row["absent"]), int(row["surplus"])) for row in rows], [("flush", 0, 0), ("write", 0, 0)], rows)


if __name__ == "__main__":
    harness.main()
