# SPDX-License-Identifier: BSD-3-Clause
"""File systems compress and decompress data in pages that belong to no file, btrfs also in threads of
its own. These bytes have a cause, and the disk's own counters have no others."""
import os
import pathlib

import harness

DISK_BYTES = 600 << 20
LINES = 40_000
TEXT = f"""
import random
numbers = random.Random(1)
text = b''.join(b'%d lines of text, %d\\n' % (number, numbers.randrange(10**9)) for number in range({LINES}))
"""
# Writes a text that takes about a third of its size, in pieces that no extent is a multiple of.
# Prints its pid and the size.
WRITES = f"""
import os, sys
{TEXT}
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
for begin in range(0, len(text), 50000):
    os.write(fd, text[begin:begin + 50000])
os.fsync(fd)
print(os.getpid(), len(text))
"""
# Reads a file twice, in whole pages. Prints its pid and the size.
READS = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
for _ in range(2):
    os.lseek(fd, 0, os.SEEK_SET)
    while os.read(fd, 65_536):
        pass
print(os.getpid(), os.fstat(fd).st_size)
"""
# The rest of the text's last page is read along.
PAGE = 4096


class Reads(harness.AcceptanceTest):
    """What a program reads of a compressed file comes from the disk once, and then from the cache."""

    def check_reads(self, file):
        recording = self.record("python3", "-c", READS, file, options=["--layers", "syscall,cache,block"])
        self.require(recording, "block", "cache")
        pid, size = map(int, recording.process.stdout.split())
        links = recording.query("SELECT l.cause, l.pid, total(l.bytes) AS bytes, total(l.plain_bytes) AS plain FROM links AS l "
                                f"JOIN file_names AS n USING (file) WHERE n.path = '{file}' AND l.direction = 'read' AND l.completed_ns IS NOT NULL GROUP BY ALL")
        # Read-ahead may come before each call.
        self.assertTrue({row["cause"] for row in links} & {"compressed", "read_ahead"}, links)
        self.assertLessEqual({row["cause"] for row in links}, {"compressed", "rounding", "read_ahead", "metadata"}, links)
        self.assertEqual({row["pid"] for row in links}, {pid})
        self.assertEqual(sum(int(row["plain"] or 0) for row in links), -(-size // PAGE) * PAGE, links)
        self.assertLess(sum(int(row["bytes"]) for row in links), size / 2)
        balance = {row["part"]: int(row["bytes"]) for row in recording.query(
            f"SELECT part, total(bytes) AS bytes FROM byte_balance JOIN file_names USING (file) WHERE path = '{file}' AND direction = 'read' GROUP BY part")}
        self.assertEqual(balance["read by calls"], 2 * size, balance)
        self.assertEqual(balance["found in the cache"], -size, balance)
        self.assertLess(balance["saved"], 0, balance)
        classes = recording.query(f"SELECT DISTINCT io_class FROM block_queue JOIN file_names USING (file) WHERE path = '{file}'")
        self.assertEqual(classes, [{"io_class": "compressed"}])
        (ahead,) = recording.query(f"SELECT asked, ahead, used FROM read_ahead WHERE path = '{file}'")
        self.assertEqual(int(ahead["asked"]) + int(ahead["used"]), size, ahead)
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout)

    def write_text(self, folder):
        folder.mkdir(exist_ok=True)
        names = {}
        exec(TEXT, names)  # pylint: disable=exec-used
        (folder / "text").write_bytes(names["text"])
        return folder / "text"

    def mount_image(self, file_system, program, *options):
        """Mounts a file system that is made of a directory with the text."""
        self.require_program(program)
        run = harness.run
        run("modprobe", file_system) if harness.shutil.which("modprobe") else None
        image, source, point = self.folder / "image", self.folder / "source", self.folder / "point"
        self.write_text(source)
        point.mkdir()
        words = [source, image, "-quiet", "-no-progress"] if file_system == "squashfs" else [*options, image, source]
        made = run(program, *words)
        self.assertEqual(made.returncode, 0, made.stderr + made.stdout)
        mounted = run("mount", "-o", "loop,ro", "-t", file_system, image, point)
        if mounted.returncode:
            self.skipTest(f"this machine has no {file_system}: {mounted.stderr}")
        self.addCleanup(run, "umount", point)
        return point / "text"

    def test_btrfs(self):
        device, point = self.make_disk("btrfs", DISK_BYTES)
        for command in (["mount", "-o", "remount,compress=zstd:1", point], None, ["umount", point], ["mount", device, point]):
            if command is None:
                self.write_text(point)
                os.sync()
                continue
            done = harness.run(*command)
            self.assertEqual(done.returncode, 0, done.stderr)
        self.check_reads(point / "text")

    @harness.long
    def test_squashfs(self):
        self.check_reads(self.mount_image("squashfs", "mksquashfs"))

    def test_erofs(self):
        """Its read-ahead unpacks pages that no event names: the range of a bio is a part of what it gave."""
        file = self.mount_image("erofs", "mkfs.erofs", "-zlz4hc")
        recording = self.record("python3", "-c", READS, file, options=["--layers", "syscall,cache,block"])
        self.require(recording, "block", "cache")
        pid, size = map(int, recording.process.stdout.split())
        links = recording.query("SELECT l.cause, l.pid, total(l.bytes) AS bytes, total(l.plain_bytes) AS plain FROM links AS l "
                                f"JOIN file_names AS n USING (file) WHERE n.path = '{file}' AND l.direction = 'read' AND l.completed_ns IS NOT NULL GROUP BY ALL")
        self.assertTrue({row["cause"] for row in links} & {"compressed", "read_ahead"}, links)
        self.assertEqual({row["pid"] for row in links}, {pid})
        self.assertLessEqual(sum(int(row["plain"] or 0) for row in links), -(-size // PAGE) * PAGE, links)
        self.assertLess(sum(int(row["bytes"]) for row in links), size / 2)


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
