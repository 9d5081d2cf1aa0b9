# SPDX-License-Identifier: BSD-3-Clause
"""Trails of disks that consist of others, that fail, or that are used for swap: the I/O of the disk
below is known."""
import collections
import errno
import fcntl
import os
import pathlib
import shutil
import struct
import tempfile

import harness

DISK_BYTES = 600 << 20
PAGE = 4096
PAGES = 64
SECTOR_BYTES = 512
CHUNK_BYTES = 64 << 10
PIECE = 2056  # in sectors; whole pages, and no divisor of other sizes
SHIFT = 2048  # in sectors, in front of a partition or a mapped disk
MANY_PAGES = 512  # more than dm-crypt takes at once
# Writes through the cache and directly, each to its own file. Prints the pid.
WRITES = f"""
import mmap, os, sys
size = int(sys.argv[2])
cached = os.open(sys.argv[1] + '/cached', os.O_CREAT | os.O_WRONLY)
os.write(cached, b'c' * size)
os.fsync(cached)
direct = os.open(sys.argv[1] + '/direct', os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
os.write(direct, mmap.mmap(-1, size))
print(os.getpid())
"""
# Reads the same two files.
READS = f"""
import mmap, os, sys
size = int(sys.argv[2])
cached = os.open(sys.argv[1] + '/cached', os.O_RDONLY)
while os.read(cached, {8 * PAGE}):
    pass
direct = os.open(sys.argv[1] + '/direct', os.O_RDONLY | os.O_DIRECT)
os.preadv(direct, [mmap.mmap(-1, size)], 0)
print(os.getpid())
"""
# Writes to an existing file without dirty pages.
FAILS = f"""
import os, sys
fd = os.open(sys.argv[1] + '/file', os.O_WRONLY)
os.pwrite(fd, b'f' * {PAGES * PAGE}, 0)
try:
    os.fsync(fd)
except OSError as error:
    print(error.errno)
"""


def written(pages):
    return {("cached", "write_back"): pages * PAGE, ("direct", "direct"): pages * PAGE}


SWAP = f"""
import mmap, sys, time
PAGEOUT = 21
def own(path, name):
    return int(next(line.split()[1] for line in open(path) if line.startswith(name + ':')))
memory = mmap.mmap(-1, {PAGES * PAGE}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for page in range({PAGES}):
    memory[page * {PAGE}:page * {PAGE} + 8] = str(page).encode().ljust(8)
memory.madvise(PAGEOUT)
while any(map(int, open(f'/sys/block/{{sys.argv[1]}}/inflight').read().split())):
    time.sleep(0.001)
memory.madvise(PAGEOUT)  # pages in flight the first time are freed only now
bytes_out = own('/proc/self/smaps_rollup', 'Swap') * 1024
read_before = own('/proc/self/io', 'read_bytes')
assert all(int(memory[page * {PAGE}:page * {PAGE} + 8]) == page for page in range({PAGES}))
print(own('/proc/self/io', 'read_bytes') - read_before, bytes_out)
"""


# Syncs files one after another. Prints what the disk wrote meanwhile, in bytes and in flushes.
SYNCS = """
import ctypes, os, sys
folder, call, stat = sys.argv[1:]
def disk():
    fields = open(stat).read().split()
    return int(fields[6]) * 512, int(fields[15])
libc = ctypes.CDLL(None)
before = disk()
for number in range(5):
    fd = os.open(f"{folder}/{call}{number}", os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(fd, b"x" * 100000)
    getattr(libc, call)(fd)
    os.close(fd)
print(*(now - then for now, then in zip(disk(), before)))
"""
COPY_UP = """
import os, sys
os.fsync(os.open(sys.argv[1], os.O_WRONLY))
"""

COPIES = f"""
import os, sys
os.chdir(sys.argv[1])
def new(name):
    return os.open(name, os.O_CREAT | os.O_RDWR, 0o600)
source = new("source")
os.write(source, b"x" * {PAGES * PAGE})
copied = new("copied")
assert os.copy_file_range(source, copied, {PAGES * PAGE}, 0, 0) == {PAGES * PAGE}
sent = new("sent")
os.lseek(source, 0, 0)
assert os.sendfile(sent, source, None, {PAGES * PAGE}) == {PAGES * PAGE}
for fd in source, copied, sent:
    os.fsync(fd)
"""
LEAST_SHARE = 0.9  # minimum share of the disk's count: other programs may sync it too


class TrailDisks(harness.AcceptanceTest):
    def record_trails(self, *command, **options):
        recording = self.record(*command, options=["--layers", "syscall,async,cache,block"], **options)
        self.require(recording, "block")
        self.assert_adds_up(recording, lost=None)
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        return recording

    def mount(self, device, file_system="ext4"):
        point = self.folder / "point"
        self.make_file_system(device, file_system, point)
        return point

    def make_array(self, level, disks):
        """An array of the kernel's md, without metadata on its disks."""
        modules = ("md_mod", f"raid{level}")
        if not shutil.which("modprobe") or any(harness.run("modprobe", module).returncode for module in modules):
            self.skipTest(f"there is no md of level {level}")
        name = "md_iotrail"
        pathlib.Path("/sys/module/md_mod/parameters/new_array").write_text(name)
        device = f"/dev/{name}"
        file = os.open(device, os.O_RDWR)
        self.addCleanup(os.close, file)
        clean, in_sync = 1, 6
        # From linux/raid/md_u.h: SET_ARRAY_INFO, ADD_NEW_DISK, RUN_ARRAY, STOP_ARRAY.
        fcntl.ioctl(file, 0x40480923, struct.pack(
            "18i", 0, 90, 0, 0, level, 0, len(disks), len(disks), 0, 1, 0, clean, len(disks), len(disks), 0, 0, 0, CHUNK_BYTES))
        for number, disk in enumerate(disks):
            status = os.stat(disk)
            fcntl.ioctl(file, 0x40140921, struct.pack("5i", number, os.major(status.st_rdev), os.minor(status.st_rdev), number, in_sync))
        fcntl.ioctl(file, 0x400C0930, bytes(12))
        self.addCleanup(fcntl.ioctl, file, 0x932)
        return device

    def causes(self, recording, device):
        """(file's name, cause) -> bytes that the disk completed for a process, which must be the
        program."""
        found = collections.Counter()
        for row in recording.query(
                "SELECT n.path, l.pid, l.cause, l.confidence, sum(l.bytes) AS bytes FROM links AS l JOIN devices AS d USING (device) "
                f"LEFT JOIN file_names AS n USING (file) WHERE d.name = '{pathlib.Path(device).name}' AND l.direction = 'write' "
                "AND l.completed_ns IS NOT NULL AND l.cause IN ('direct', 'write_back') GROUP BY ALL"):
            self.assertEqual(row["confidence"], "exact", row)
            self.assertEqual(int(row["pid"]), int(recording.process.stdout), row)
            found[(pathlib.Path(row["path"]).name, row["cause"])] += int(row["bytes"])
        return found

    def record_writes(self, point, pages=PAGES):
        return self.record_trails("python3", "-c", WRITES, point, pages * PAGE)

    def balance(self, recording, direction):
        """(file's name, part) -> bytes"""
        return {(pathlib.Path(row["path"]).name, row["part"]): int(row["bytes"]) for row in recording.query(
            "SELECT path, part, sum(bytes) AS bytes FROM byte_balance JOIN file_names USING (file) "
            f"WHERE direction = '{direction}' AND parse_filename(path) IN ('cached', 'direct') GROUP BY ALL")}

    def check_ranges(self, recording, disk, size):
        """Each byte written through the cache reached the disk exactly once."""
        reached = 0
        for row in recording.query(
                "SELECT l.position, l.bytes FROM links AS l JOIN devices AS d USING (device) JOIN file_names AS n USING (file) "
                f"WHERE d.name = '{pathlib.Path(disk).name}' AND parse_filename(n.path) = 'cached' AND l.direction = 'write' "
                "AND l.completed_ns IS NOT NULL ORDER BY l.position"):
            self.assertEqual(int(row["position"]), reached)
            reached += int(row["bytes"])
        self.assertEqual(reached, size)

    def check_writes_below(self, disk, mapped, pages=MANY_PAGES):
        """Bios of a mapped disk have their causes on the disk below, once."""
        recording = self.record_writes(self.mount(mapped), pages)
        self.assertEqual(self.causes(recording, disk), written(pages))
        size = pages * PAGE
        self.check_ranges(recording, disk, size)
        self.assertEqual(self.balance(recording, "write"),
                         {(name, part): signed for name in ("cached", "direct") for part, signed in
                          (("written by calls", size), ("under way", -size), ("handed on", size))})
        return recording

    @harness.long
    def test_a_partition(self):
        disk = self.make_bare_disk(DISK_BYTES)
        self.require_program("addpart")
        made = harness.run("addpart", disk, 1, SHIFT, DISK_BYTES // SECTOR_BYTES - SHIFT)
        if made.returncode:
            self.skipTest(f"there are no partitions of loop devices: {made.stderr}")
        self.addCleanup(harness.run, "delpart", disk, 1)
        self.assertEqual(self.causes(self.record_writes(self.mount(f"{disk}p1")), disk), written(PAGES))

    @harness.long
    def test_a_disk_that_is_written_to_itself(self):
        disk = self.make_bare_disk(DISK_BYTES)
        program = (f"import os\nfd = os.open('{disk}', os.O_WRONLY)\n"
                   f"os.pwrite(fd, b'n' * {PAGES * PAGE}, {PAGE})\nos.fsync(fd)\nprint(os.getpid())")
        recording = self.record_trails("python3", "-c", program)
        name = pathlib.Path(disk).name
        self.assertEqual(self.causes(recording, disk), {(name, "write_back"): PAGES * PAGE})
        (fate,) = recording.query(f"SELECT written, to_device, pending FROM write_fates WHERE path = '{disk}'")
        self.assertEqual([int(fate[key]) for key in ("written", "to_device", "pending")], [PAGES * PAGE, PAGES * PAGE, 0])

    def test_a_mapped_disk(self):
        disk = self.make_bare_disk(DISK_BYTES)
        size = DISK_BYTES // SECTOR_BYTES - SHIFT
        mapped = self.make_mapped_disk(f"0 {size} linear {disk} {SHIFT}")
        self.check_writes_below(disk, mapped)

    def test_an_encrypted_disk(self):
        disk = self.make_bare_disk(DISK_BYTES)
        self.check_writes_below(disk, self.make_encrypted_disk(disk, DISK_BYTES))

    def test_an_encrypted_disk_that_lies_in_pieces(self):
        """The mapped disk below splits encrypted bios at positions that no layer above knows."""
        disk = self.make_bare_disk(DISK_BYTES)
        size = DISK_BYTES // SECTOR_BYTES
        pieces = [f"{begin} {PIECE} linear {disk} {size - PIECE - begin}" for begin in range(0, size - PIECE, PIECE)]
        mapped = self.make_mapped_disk(*pieces)
        self.check_writes_below(disk, self.make_encrypted_disk(mapped, len(pieces) * PIECE * SECTOR_BYTES))

    def test_reads_of_an_encrypted_disk(self):
        disk = self.make_bare_disk(DISK_BYTES)
        mapped = self.make_encrypted_disk(disk, DISK_BYTES)
        point = self.mount(mapped)
        size = MANY_PAGES * PAGE
        harness.run("python3", "-c", WRITES, point, size)
        # The image stays in the cache: its own disk must stay idle while this one is used.
        self.assertEqual(harness.run("umount", point).returncode, 0)
        self.assertEqual(harness.run("mount", mapped, point).returncode, 0)
        recording = self.record_trails("python3", "-c", READS, point, size)
        found = collections.Counter()
        for row in recording.query(
                "SELECT parse_filename(n.path) AS of_file, l.pid, l.cause, l.confidence, sum(l.bytes) AS bytes FROM links AS l "
                "JOIN devices AS d USING (device) JOIN file_names AS n USING (file) "
                f"WHERE d.name = '{pathlib.Path(disk).name}' AND l.direction = 'read' AND l.completed_ns IS NOT NULL "
                "AND of_file IN ('cached', 'direct') GROUP BY ALL"):
            self.assertEqual((row["confidence"], row["pid"]), ("exact", int(recording.process.stdout)), row)
            found[(row["of_file"], row["cause"])] += int(row["bytes"])
        self.assertEqual(found.pop(("direct", "direct")), size)
        self.assertEqual(found.keys(), {("cached", "read"), ("cached", "read_ahead")})
        self.assertEqual(found.total(), size)
        balance = self.balance(recording, "read")
        self.assertEqual(balance[("direct", "handed on")], size, balance)
        self.assertNotIn(("direct", "found in the cache"), balance)
        self.assertEqual(sum(bytes for (name, _), bytes in balance.items() if name == "cached"), size, balance)

    def test_writes_that_fail(self):
        """A mapped disk that fails writes submits nothing below: its own bios have the error."""
        disk = self.make_bare_disk(DISK_BYTES)
        size = DISK_BYTES // SECTOR_BYTES
        mapped = self.make_mapped_disk(f"0 {size} linear {disk} 0")
        name = (pathlib.Path("/sys/block") / pathlib.Path(mapped).name / "dm/name").read_text().strip()
        point = self.mount(mapped)
        (point / "file").write_bytes(b"f" * PAGES * PAGE)
        harness.sync_file_system(point)
        harness.run("modprobe", "dm_flakey") if shutil.which("modprobe") else None
        loaded = harness.run("dmsetup", "load", name, "--table", f"0 {size} flakey {disk} 0 0 600 1 error_writes")
        if loaded.returncode:
            self.skipTest(f"there is no dm-flakey: {loaded.stderr}")
        harness.run("dmsetup", "resume", "--noudevsync", name)
        recording = self.record_trails("python3", "-c", FAILS, point)
        self.assertEqual(int(recording.process.stdout), errno.EIO)
        rows = recording.query(
            "SELECT d.name, l.cause, l.error, s.result, count(l.completed_ns) AS completed, sum(l.bytes) AS bytes "
            "FROM links AS l JOIN devices AS d USING (device) JOIN file_names AS n USING (file) LEFT JOIN syscall_sync AS s ON l.by_op = s.op_id "
            "WHERE parse_filename(n.path) = 'file' GROUP BY ALL")
        self.assertEqual(rows, [{"name": pathlib.Path(mapped).name, "cause": "write_back", "error": -errno.EIO, "result": -errno.EIO,
                                 "completed": 0, "bytes": PAGES * PAGE}])

    def test_a_mirror(self):
        disks = [self.make_bare_disk(DISK_BYTES, "one"), self.make_bare_disk(DISK_BYTES, "other")]
        size = DISK_BYTES // SECTOR_BYTES
        mapped = self.make_mapped_disk(f"0 {size} mirror core 2 1024 nosync 2 {disks[0]} 0 {disks[1]} 0", modules=("dm_mirror",))
        recording = self.record_writes(self.mount(mapped))
        for disk in disks:
            with self.subTest(disk=disk):
                # A kernel thread passes direct I/O on in its own bios, which iotrail cannot follow.
                self.assertEqual(self.causes(recording, disk), {("cached", "write_back"): PAGES * PAGE})

    def record_writes_to_array(self, level):
        """The bytes that each of its two disks got."""
        disks = [self.make_bare_disk(DISK_BYTES, name) for name in ("one", "other")]
        recording = self.record_writes(self.mount(self.make_array(level, disks)), MANY_PAGES)
        return [self.causes(recording, disk) for disk in disks]

    def test_a_striped_array(self):
        causes = self.record_writes_to_array(0)
        for found in causes:
            self.assertEqual(found.keys(), written(MANY_PAGES).keys(), "chunks by turns")
        self.assertEqual(causes[0] + causes[1], written(MANY_PAGES))

    def test_a_mirrored_array(self):
        for found in self.record_writes_to_array(1):
            self.assertEqual(found, written(MANY_PAGES), "each disk has all")

    def test_a_file_system_without_events_of_its_own(self):
        """f2fs: its writes of files have causes, and the summary says that layer fs has no events
        of it."""
        disk = self.make_bare_disk(DISK_BYTES)
        harness.run("modprobe", "f2fs") if shutil.which("modprobe") else None
        point = self.mount(disk, "f2fs")
        recording = self.record("python3", "-c", WRITES, point, PAGES * PAGE, options=["--layers", "syscall,cache,fs,block"])
        self.require(recording, "block", "cache")
        self.assert_adds_up(recording)
        self.assertEqual(self.causes(recording, disk), written(PAGES))
        # The fsync writes the node of its file, which is in an internal file of the file system.
        nodes = recording.query("SELECT DISTINCT l.cause, l.pid, f.mode, q.io_class FROM links AS l JOIN files AS f USING (file) "
                                "JOIN block_queue AS q USING (file) WHERE f.inode < 3 AND l.direction = 'write'")
        self.assertEqual([(row["cause"], row["pid"], row["mode"], row["io_class"]) for row in nodes],
                         [("metadata", int(recording.process.stdout), 0, "metadata")])
        said = " ".join(recording.process.stderr.split())
        self.assertRegex(said, "no events of the layer fs from [^:]*f2fs[^:]*: seen at the other layers only")

    def test_a_file_on_a_disk_that_is_a_file(self):
        """The disk above has the program's bytes. A kernel thread writes the image below, and is
        not the program."""
        outer = self.make_bare_disk(DISK_BYTES)
        (self.folder / "outer").mkdir()
        self.make_file_system(outer, "ext4", self.folder / "outer")
        inner_image = self.folder / "outer" / "image"
        inner_image.touch()
        os.truncate(inner_image, DISK_BYTES // 2)
        inner = self.attach_loop(inner_image)
        recording = self.record_writes(self.mount(inner))
        self.assertEqual(self.causes(recording, inner), written(PAGES))

    def mount_overlay(self, below):
        """The mount point of an overlay above a mounted file system. Its lower layer has a file."""
        layers = {name: below / name for name in ("lowerdir", "upperdir", "workdir")}
        for folder in layers.values():
            folder.mkdir()
        (layers["lowerdir"] / "lower").write_bytes(bytes(range(256)) * (PAGES * PAGE // 256))
        harness.sync_file_system(below)
        above = self.folder / "above"
        above.mkdir()
        mounted = harness.run("mount", "-t", "overlay", "overlay", "-o", ",".join(f"{name}={folder}" for name, folder in layers.items()), above)
        if mounted.returncode:
            self.skipTest(f"there is no overlayfs: {mounted.stderr}")
        self.addCleanup(harness.run, "umount", above)
        return above

    def test_syncs_of_a_file_system_on_another(self):
        """Writes of the journal below for a sync above belong to the sync: as many bytes and
        flushes as the disk counts."""
        disk = self.make_bare_disk(DISK_BYTES)
        below = self.mount(disk)
        above = self.mount_overlay(below)
        name = pathlib.Path(disk).name
        for call in ("fsync", "fdatasync", "syncfs"):
            harness.sync_file_system(above)
            harness.sync_file_system(below)
            recording = self.record_trails("python3", "-c", SYNCS, above, call, f"/sys/block/{name}/stat", name=call)
            if recording.manifest["counters"].get("kernel_completion_missed", 0):
                continue  # a counter has the completions that the kernel does not report
            written_bytes, flushes = map(int, recording.process.stdout.split())
            (row,) = recording.query(f"SELECT completed FROM conservation WHERE device_name = '{name}' AND direction = 'write'")
            self.assertGreaterEqual(int(row["completed"]), LEAST_SHARE * written_bytes, call)
            (row,) = recording.query("SELECT count(*) AS flushes FROM block_complete AS b JOIN devices AS d USING (device) "
                                     f"WHERE b.bytes = 0 AND d.name = '{name}'")
            self.assertGreaterEqual(int(row["flushes"]), LEAST_SHARE * flushes, call)

    @harness.long
    def test_copies_on_a_file_system_on_another(self):
        disk = self.make_bare_disk(DISK_BYTES)
        above = self.mount_overlay(self.mount(disk))
        recording = self.record_trails("python3", "-c", COPIES, above)
        rows = recording.query("SELECT n.path, l.cause, sum(l.bytes) AS bytes FROM links AS l JOIN file_names AS n USING (file) JOIN devices AS d USING (device) "
                               f"WHERE d.name = '{pathlib.Path(disk).name}' AND l.direction = 'write' GROUP BY ALL ORDER BY n.path")
        self.assertEqual([tuple(row.values()) for row in rows],
                         [(str(above / name), "write_back", PAGES * PAGE) for name in ("copied", "sent", "source")])

    def test_a_file_that_a_file_system_on_another_copies_up(self):
        """Opening a lower file for writing copies the whole file: by that call, not through a
        mapping."""
        disk = self.make_bare_disk(DISK_BYTES)
        above = self.mount_overlay(self.mount(disk))
        recording = self.record_trails("python3", "-c", COPY_UP, above / "lower")
        rows = recording.query("SELECT l.cause, o.class, sum(l.bytes) AS bytes FROM links AS l JOIN operations AS o USING (op_id) JOIN devices AS d USING (device) "
                               f"WHERE d.name = '{pathlib.Path(disk).name}' AND l.direction = 'write' AND o.layer = 'syscall' AND l.file <> 0 GROUP BY ALL")
        self.assertEqual([tuple(row.values()) for row in rows], [("write_back", "open", PAGES * PAGE)])

    @harness.long
    def test_a_file_system_on_another(self):
        """overlayfs keeps data in files below, which no program names: the trails have the file
        above."""
        disk = self.make_bare_disk(DISK_BYTES)
        above = self.mount_overlay(self.mount(disk))
        recording = self.record_writes(above)
        self.assertEqual(self.causes(recording, disk), written(PAGES))
        self.check_ranges(recording, disk, PAGES * PAGE)
        self.assertEqual(self.balance(recording, "write"),
                         {(name, "written by calls"): PAGES * PAGE for name in ("cached", "direct")})
        (path,) = {row["path"] for row in recording.query(
            "SELECT path FROM links JOIN file_names USING (file) WHERE cause = 'write_back' AND parse_filename(path) = 'cached'")}
        self.assertEqual(path, str(above / "cached"))

    def test_swapped_memory(self):
        disk = self.make_bare_disk(DISK_BYTES)
        self.require_program("mkswap")
        harness.run("mkswap", disk)
        # Of two areas the kernel prefers one: test/live waits for this lock, too.
        lock = open(pathlib.Path(tempfile.gettempdir()) / "iotrail-swap-test", "w")
        self.addCleanup(lock.close)
        fcntl.flock(lock, fcntl.LOCK_EX)
        swapped = harness.run("swapon", "-p", 100, disk)
        if swapped.returncode:
            self.skipTest(f"the machine does not swap: {swapped.stderr}")
        self.addCleanup(harness.run, "swapoff", disk)
        # The counts are the program's own. /proc/vmstat counts the machine, which may swap out
        # other programs to this disk.
        recording = self.record_trails("python3", "-c", SWAP, pathlib.Path(disk).name)
        moved = {(row["direction"], row["cause"]): int(row["bytes"]) for row in recording.query(
            "SELECT l.direction, l.cause, sum(l.bytes) AS bytes FROM links AS l JOIN devices AS d USING (device) "
            f"WHERE d.name = '{pathlib.Path(disk).name}' AND l.completed_ns IS NOT NULL GROUP BY ALL")}
        self.assertEqual({cause for _, cause in moved}, {"swap"}, moved)
        bytes_in, bytes_out = map(int, recording.process.stdout.split())
        self.assertGreaterEqual(bytes_out, PAGES * PAGE)
        self.assertEqual(moved.get(("write", "swap"), 0), bytes_out)
        self.assertEqual(moved.get(("read", "swap"), 0), bytes_in)

    def test_a_read_that_fails(self):
        """scsi_debug fails reads of ten sectors from 4660 on."""
        if not shutil.which("modprobe") or harness.run("modprobe", "sd_mod").returncode or harness.run("modprobe", "scsi_debug", "opts=2", "dev_size_mb=64").returncode:
            self.skipTest("this machine has no scsi_debug")
        self.addCleanup(harness.run, "modprobe", "-r", "scsi_debug")

        def find_disk():
            return [f"/dev/{disk.name}" for disk in pathlib.Path("/sys/block").iterdir()
                    if (disk / "device/model").exists() and (disk / "device/model").read_text().strip() == "scsi_debug"
                    and os.path.exists(f"/dev/{disk.name}")]
        disks = harness.wait_for(find_disk, "the disk of scsi_debug")
        place = 4660 * SECTOR_BYTES // PAGE * PAGE
        program = ("import mmap, os, sys\n"
                   "fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)\n"
                   "try:\n"
                   f"    os.preadv(fd, [mmap.mmap(-1, {PAGE}, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)], {place})\n"
                   "except OSError as error:\n"
                   "    print(error.errno)\n")
        recording = self.record_trails("python3", "-c", program, disks[0])
        self.assertTrue(recording.process.stdout.strip(), "the read did not fail")
        rows = recording.query("SELECT l.cause, l.error, l.op_id, s.result FROM links AS l JOIN syscall_read AS s USING (op_id) "
                               f"WHERE l.completed_ns IS NOT NULL AND s.position = {place}")
        self.assertTrue(rows)
        self.assertTrue(all(row["cause"] == "direct" for row in rows), rows)
        self.assertTrue(any(int(row["error"]) < 0 for row in rows), rows)


if __name__ == "__main__":
    harness.main()
