# SPDX-License-Identifier: BSD-3-Clause
"""`replay --device` makes the requests of a disk again on another one, and on no disk that is in use."""
import pathlib
import shutil
import tempfile

import harness

PROGRAM = """
import mmap, os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_DIRECT)
data = mmap.mmap(-1, 65536)
data.write(b"x" * 65536)
other = mmap.mmap(-1, 4096)
for n in range(20):
    os.pwritev(file, [memoryview(data)[:4096 * (1 + n % 4)]], n * 7 * 65536 % (8 << 20))
    os.preadv(file, [other], n * 11 * 4096)
os.fsync(file)
"""
REQUESTS = ("SELECT choice_text('block', flags) AS operation, count(*) AS n, sum(bytes) AS bytes, min(sector) AS first, sum(sector) AS places "
            "FROM requests AS q SEMI JOIN (SELECT device FROM devices WHERE name = '{}') AS d ON q.device = d.device "
            "WHERE choice_text('block', flags) IN ('read', 'write') GROUP BY 1 ORDER BY 1")


class ReplayDevice(harness.AcceptanceTest):
    trace, name, first = None, None, None

    def setUp(self):
        super().setUp()
        if ReplayDevice.trace is None:
            disk = self.make_bare_disk(16 << 20)
            recording = self.record("python3", "-c", PROGRAM, disk, options=("--layers", "syscall,block"), name="first")
            self.require(recording, "block")
            shared = pathlib.Path(tempfile.mkdtemp(dir=harness.SCRATCH))
            self.addClassCleanup(shutil.rmtree, shared, ignore_errors=True)
            shutil.copytree(recording.path, shared / "first.iotrail")
            ReplayDevice.trace, ReplayDevice.name = shared / "first.iotrail", pathlib.Path(disk).name
            ReplayDevice.first = self.content(disk)
        self.recording = harness.Recording(ReplayDevice.trace, None)

    def replay(self, device, *options, expect=0):
        done = harness.run(harness.IOTRAIL, "replay", self.recording.path, "--device", device, "--from", self.name, "--speed", "max", *options)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return done

    def content(self, device):
        return pathlib.Path(device).read_bytes()

    def test_another_disk_gets_the_same_requests(self):
        other = self.make_bare_disk(16 << 20, "other")
        second = self.record(harness.IOTRAIL, "replay", self.recording.path, "--device", other, "--from", self.name, "--overwrite",
                             options=("--layers", "syscall,block"), name="second")
        self.assertIn(f"of {self.name} on {other}", second.process.stdout)
        requests = self.recording.query(REQUESTS.format(self.name))
        self.assertEqual({row["operation"] for row in requests}, {"read", "write"})
        self.assertGreaterEqual(sum(int(row["n"]) for row in requests), 40)
        self.assertEqual(second.query(REQUESTS.format(pathlib.Path(other).name)), requests)
        # The same places have data, which are made up.
        zero = bytes(4096)
        first, again = ReplayDevice.first, self.content(other)
        written = [n for n in range(0, len(first), 4096) if first[n:n + 4096] != zero]
        self.assertEqual([n for n in range(0, len(again), 4096) if again[n:n + 4096] != zero], written)

    def test_a_disk_in_use_is_refused(self):
        other = self.make_bare_disk(16 << 20, "other")
        point = self.folder / "point"
        self.make_file_system(other, "ext4", point)
        before = self.content(other)
        self.assertIn("mounted or else in use", self.replay(other, "--overwrite", expect=1).stderr)
        self.assertEqual(self.content(other), before)

    def test_nothing_is_written_without_overwrite(self):
        other = self.make_bare_disk(16 << 20, "other")
        small = self.make_bare_disk(1 << 20, "small")
        self.assertIn("--overwrite", self.replay(other, expect=2).stderr)
        self.assertIn("1048576 bytes, and the requests reach to byte", self.replay(small, "--overwrite", expect=1).stderr)
        for device in (other, small):
            self.assertEqual(self.content(device).strip(b"\0"), b"")

    def test_what_is_no_place_is_refused(self):
        plain = self.folder / "plain"
        plain.touch()
        self.assertIn("no block device", self.replay(plain, "--overwrite", expect=2).stderr)
        self.replay(self.folder / "missing", expect=1)
        self.replay("/dev/null", expect=2)
        for words in ((), ("--device", plain, "--into", self.folder / "new"), ("--into", self.folder / "new", "--overwrite"),
                      ("--device", plain, "--prepare"), ("--device", plain, "--from", "no\x1b[31m")):
            done = harness.run(harness.IOTRAIL, "replay", self.recording.path, *words)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertNotIn("\x1b", done.stderr)


if __name__ == "__main__":
    harness.main()
