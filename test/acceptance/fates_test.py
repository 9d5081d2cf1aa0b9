# SPDX-License-Identifier: BSD-3-Clause
"""What became of written bytes where a file system does not simply write pages back: folios that are cut,
small files inside of metadata, blocks below a page, copies in the kernel."""
import harness

DISK_BYTES = 400 << 20
PAGE = 4096
LAYERS = ["--layers", "syscall,cache,block"]
# A file that is written, cut twice, and synced; the second cut makes it longer.
CUTS = """
import os, sys
path, written, shorter, longer = sys.argv[1], *map(int, sys.argv[2:])
fd = os.open(path, os.O_CREAT | os.O_WRONLY)
os.pwrite(fd, b'x' * written, 0)
os.ftruncate(fd, shorter)
if longer:
    os.ftruncate(fd, longer)
os.fsync(fd)
"""
# Writes and syncs small files. Prints the sum of their sizes.
SMALL = """
import os, subprocess, sys
size = 0
for number in range(50):
    fd = os.open(f'{sys.argv[1]}/s{number}', os.O_CREAT | os.O_WRONLY)
    size += os.write(fd, b'hello %d' % number)
    if number % 2:
        os.fsync(fd)
    os.close(fd)
subprocess.run(['sync', '-f', sys.argv[1]], check=True)
print(size)
"""
# Writes in blocks of 1 KiB that leave holes in pages.
HOLES = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
size = 0
for block in (0, 2, 3, 5, 9, 10, 11, 12, 18, 21, 30, 31, 32, 33, 40):
    size += os.pwrite(fd, b'x' * 1000, block * 1024)
os.fsync(fd)
print(size)
"""
COPIES = """
import os, sys
source, folder = sys.argv[1:]
fd = os.open(source, os.O_RDONLY)
def target(name):
    return os.open(f'{folder}/{name}', os.O_CREAT | os.O_RDWR)
sent, copied, spliced = target('sent'), target('copied'), target('spliced')
assert os.sendfile(sent, fd, 0, 10003) == 10003
assert os.sendfile(sent, fd, 0, 77) == 77
assert os.copy_file_range(fd, copied, 5001, 100, 300) == 5001
ends = os.pipe()
assert os.write(ends[1], b'y' * 6001) == 6001
assert os.splice(ends[0], spliced, 6001, offset_dst=1000) == 6001
for fd in (sent, copied, spliced):
    os.fsync(fd)
"""
# Appends pieces to a file with large folios, and waits for the disk after each.
APPENDS = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
os.write(fd, b'x' * (1 << 20))
os.fsync(fd)
for number in range(40):
    os.pwrite(fd, b'y' * 100, number * 8192)
    os.fsync(fd)
"""


class Fates(harness.AcceptanceTest):
    def record_of(self, program, *arguments):
        recording = self.record("python3", "-c", program, *arguments, options=LAYERS)
        self.require(recording, "block", "cache")
        return recording

    def fate_of(self, recording, path):
        (fate,) = recording.query("SELECT total(written) AS written, total(to_device) AS to_device, total(absorbed) AS absorbed, total(dropped) AS dropped, "
                                  f"total(inlined) AS inlined, total(pending) AS pending FROM write_fates WHERE path LIKE '{path}'")
        return {name: int(value) for name, value in fate.items() if int(value)}

    def check_cut(self, file_system, written, shorter, longer):
        _, point = self.make_disk(file_system, DISK_BYTES)
        file = point / "file"
        recording = self.record_of(CUTS, file, written, shorter, longer)
        fate = self.fate_of(recording, file)
        self.assertEqual((fate["written"], fate.get("pending", 0)), (written, 0), fate)
        before = recording.value(f"SELECT count(*) FROM block_queue JOIN file_names USING (file) WHERE path = '{file}' AND file_bytes = {written} AND op_id = 0")
        if not before:  # a kernel thread may write at any time
            self.assertEqual(fate, {"written": written, "to_device": shorter, "dropped": written - shorter})

    def test_a_large_folio_that_is_cut_on_xfs(self):
        self.check_cut("xfs", 1 << 20, 10_000, 1 << 20)

    def test_a_page_that_is_cut_on_btrfs(self):
        self.check_cut("btrfs", 40_960, 9_096, 0)

    def test_a_file_that_is_cut_on_btrfs(self):
        self.check_cut("btrfs", 1 << 20, 10_000, 1 << 20)

    def check_small_files(self, point):
        recording = self.record_of(SMALL, point)
        size = int(recording.process.stdout)
        self.assertEqual(self.fate_of(recording, f"{point}/s%"), {"written": size, "inlined": size})
        balance = recording.query("SELECT part, total(bytes) AS bytes FROM byte_balance WHERE direction = 'write' GROUP BY part")
        parts = {row["part"]: int(row["bytes"]) for row in balance}
        self.assertEqual(parts.get("still in the cache", 0), 0, parts)
        self.assertEqual(parts["in metadata"], -size, parts)

    def test_small_files_on_btrfs(self):
        _, point = self.make_disk("btrfs", DISK_BYTES)
        self.check_small_files(point)

    def mount_ext4(self, *options):
        device, point = self.make_bare_disk(DISK_BYTES), self.folder / "point"
        self.require_program("mkfs.ext4")
        made = harness.run("mkfs.ext4", "-q", *options, "-E", "lazy_itable_init=0,lazy_journal_init=0", device)
        self.assertEqual(made.returncode, 0, made.stderr)
        point.mkdir()
        mounted = harness.run("mount", "-o", "no_prefetch_block_bitmaps,commit=600", device, point)
        self.assertEqual(mounted.returncode, 0, mounted.stderr)
        self.addCleanup(harness.run, "umount", point)
        return point

    def test_small_files_on_ext4_with_inline_data(self):
        self.check_small_files(self.mount_ext4("-O", "inline_data", "-I", 256))

    def test_blocks_below_a_page_on_ext4(self):
        file = self.mount_ext4("-b", 1024) / "file"
        recording = self.record_of(HOLES, file)
        size = int(recording.process.stdout)
        self.assertEqual(self.fate_of(recording, file), {"written": size, "to_device": size})

    def test_copies_count_by_the_byte(self):
        _, point = self.make_disk("ext4", DISK_BYTES)
        source = point / "source"
        source.write_bytes(b"z" * 20_000)
        harness.sync_file_system(point)
        recording = self.record_of(COPIES, source, point)
        for name, size in (("sent", 10_080), ("copied", 5001), ("spliced", 6001)):
            self.assertEqual(self.fate_of(recording, point / name), {"written": size, "to_device": size}, name)
        (links,) = recording.query("SELECT confidence, total(bytes) AS bytes FROM links AS l JOIN file_names USING (file) "
                                   f"WHERE path LIKE '{point}/%' AND cause = 'write_back' GROUP BY ALL")
        self.assertEqual((links["confidence"], int(links["bytes"])), ("exact", 10_080 + 5001 + 6001))

    def test_pages_of_large_folios_that_no_call_wrote(self):
        _, point = self.make_disk("xfs", DISK_BYTES)
        file = point / "file"
        recording = self.record_of(APPENDS, file)
        (row,) = recording.query(f"SELECT cache_bytes_dirtied AS bytes FROM top_files WHERE path = '{file}'")
        self.assertEqual(int(row["bytes"]), (1 << 20) + 40 * PAGE)


if __name__ == "__main__":
    harness.main()
