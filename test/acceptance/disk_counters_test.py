# SPDX-License-Identifier: BSD-3-Clause
"""`verify` compares each trace with what the disks themselves counted: I/O that reaches a disk but
not the trace is shown."""
import os
import pathlib
import signal
import subprocess

import harness

DISK_BYTES = 600 << 20
PAGE = 4096
OTHERS_BYTES = 1 << 20
# Cached and direct writes and reads, flushes, and a discard.
WORK = f"""
import fcntl, mmap, os, struct, sys
os.chdir(sys.argv[1])
page = mmap.mmap(-1, {PAGE})
cached = os.open('cached', os.O_CREAT | os.O_RDWR)
for _ in range(50):
    os.write(cached, b'c' * 3000)
    os.fsync(cached)
direct = os.open('direct', os.O_CREAT | os.O_RDWR | os.O_DIRECT)
for number in range(50):
    os.pwrite(direct, page, number * {PAGE})
    os.preadv(direct, [page], number * {PAGE})
os.fsync(direct)
os.posix_fadvise(cached, 0, 0, os.POSIX_FADV_DONTNEED)
os.pread(cached, 150000, 0)
os.unlink('direct')
os.close(direct)
FITRIM = 0xc0185879
root = os.open('.', os.O_RDONLY)
fcntl.ioctl(root, FITRIM, struct.pack('3Q', 0, 2**64 - 1, 0))
"""
OTHERS = f"""
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
os.pwrite(fd, mmap.mmap(-1, {OTHERS_BYTES}), 0)
"""
# Writes single pages, and syncs each.
SYNCED = f"""
import os, sys
for number in range(20):
    fd = os.open(f'{{sys.argv[1]}}/{{number}}', os.O_CREAT | os.O_WRONLY)
    os.write(fd, b'x' * {2 * PAGE})
    os.fsync(fd)
    os.close(fd)
"""
# Writes, and then waits for another program.
OWN = f"""
import mmap, os, sys, time
os.chdir(sys.argv[1])
fd = os.open('own', os.O_CREAT | os.O_WRONLY | os.O_DIRECT)
os.pwrite(fd, mmap.mmap(-1, {PAGE}), 0)
open(sys.argv[2] + '/is_done', 'w').close()
while not os.path.exists(sys.argv[2] + '/may_end'):
    time.sleep(0.01)
"""
# Writes directly from many threads at once.
AT_ONCE = f"""
import mmap, os, sys, threading
fd = os.open(sys.argv[1], os.O_WRONLY | os.O_DIRECT)
page = mmap.mmap(-1, {PAGE})
threads = [threading.Thread(target=os.pwrite, args=(fd, page, number * {PAGE})) for number in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class DiskCounters(harness.AcceptanceTest):
    def balance(self, recording, device):
        rows = recording.query(f"SELECT * FROM disk_balance WHERE device_name = '{pathlib.Path(device).name}'")
        return {row["direction"]: row for row in rows}

    def verify(self, recording):
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        return verified.returncode, " ".join(verified.stdout.split())

    def start(self, *words, path):
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", path, *map(str, words)], stdin=subprocess.DEVNULL)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        return recorder

    def end(self, path, recorder):
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(harness.PATIENCE_S), 0)
        return harness.Recording(path, recorder)

    def test_a_recording_of_a_disk_has_what_the_disk_counted(self):
        device, point = self.make_disk("ext4", DISK_BYTES)
        os.sync()
        path = self.folder / "t.iotrail"
        recorder = self.start("--device", device, "-l", "syscall,block", path=path)
        harness.wait_until_running(path)
        done = harness.run("python3", "-c", WORK, point)
        os.sync()
        self.assertEqual(done.returncode, 0, done.stderr)
        recording = self.end(path, recorder)
        balance = self.balance(recording, device)
        is_whole = not recording.manifest["counters"].get("kernel_completion_missed", 0)
        self.assertGreaterEqual(balance.keys(), {"read", "write", "discard", "flush"})
        for direction, row in balance.items():
            self.assertEqual((row["recorded"], int(row["surplus"]), int(row["is_defect"])), ("all", 0, 0), row)
            if is_whole:
                self.assertEqual((int(row["absent"]), row["in_trace"]), (0, row["counted"]), row)
        self.assertEqual(self.verify(recording)[0], 0)

    def test_a_recording_of_a_program_shows_what_others_wrote(self):
        device, point = self.make_disk("ext4", DISK_BYTES)
        os.sync()
        path = self.folder / "t.iotrail"
        recorder = self.start("-l", "syscall,block", "--", "python3", "-c", OWN, point, self.folder, path=path)
        harness.wait_for((self.folder / "is_done").exists, "the end of the program's writes")
        done = harness.run("python3", "-c", OTHERS, point / "others")
        self.assertEqual(done.returncode, 0, done.stderr)
        (self.folder / "may_end").touch()
        self.assertEqual(recorder.wait(harness.PATIENCE_S), 0)
        recording = harness.Recording(path, recorder)
        row = self.balance(recording, device)["write"]
        self.assertEqual((row["recorded"], int(row["is_defect"])), ("followed", 0), row)
        self.assertGreaterEqual(int(row["absent"]), OTHERS_BYTES, row)
        self.assertGreaterEqual(int(row["in_trace"]), PAGE, row)
        status, said = self.verify(recording)
        self.assertEqual(status, 0, said)
        self.assertRegex(said, f"{pathlib.Path(device).name} write: [0-9,]+ of [0-9,]+ bytes that the disk counted are not in the trace")
        self.assertNotIn("Everything adds up", said)

    def test_what_an_array_reads_and_writes_for_itself_is_not_explained(self):
        """Parity and what it is computed from: no bio of the program has these bytes. verify says how many they are."""
        self.require_program("mkfs.btrfs")
        disks = [self.make_bare_disk(DISK_BYTES, f"disk{number}") for number in range(3)]
        made = harness.run("mkfs.btrfs", "-q", "-f", "-d", "raid5", "-m", "raid1", *disks)
        self.assertEqual(made.returncode, 0, made.stderr)
        point = self.folder / "array"
        point.mkdir()
        if harness.run("mount", disks[0], point).returncode:
            self.skipTest("this machine has no btrfs with raid5")
        self.addCleanup(harness.run, "umount", point)
        harness.sync_file_system(point)

        def counted(disk):
            words = [int(word) for word in pathlib.Path(f"/sys/block/{pathlib.Path(disk).name}/stat").read_text().split()]
            return {"read": words[2] * 512, "write": words[6] * 512}
        before = [counted(disk) for disk in disks]
        recording = self.record("python3", "-c", SYNCED, point, options=["--layers", "syscall,cache,block"])
        harness.sync_file_system(point)
        after = [counted(disk) for disk in disks]
        self.require(recording, "block")
        self.assertEqual(recording.manifest["counters"].get("kernel_ring_full", 0), 0)
        status, said = self.verify(recording)
        self.assertEqual(status, 0, said)
        self.assertNotIn("Everything adds up", said)
        unexplained = 0
        for disk, begin, end in zip(disks, before, after):
            name = pathlib.Path(disk).name
            for direction, row in self.balance(recording, disk).items():
                if direction not in begin or int(row["absent"]) <= 0:
                    continue
                self.assertLessEqual(int(row["counted"]), end[direction] - begin[direction], row)
                self.assertEqual(int(row["counted"]) - int(row["in_trace"]), int(row["absent"]), row)
                self.assertIn(f"{name} {direction}: {int(row['absent']):,} of {int(row['counted']):,} bytes that the disk counted are not in the trace", said)
                unexplained += int(row["absent"])
        self.assertGreaterEqual(unexplained, PAGE, "the array computes parity from what it reads")

    def make_frozen_disk(self, size_bytes):
        """A disk that completes no write until the returned function is called: its image is in a
        frozen file system."""
        self.require_program("fsfreeze")
        _, point = self.make_disk("ext4", DISK_BYTES)
        image = point / "image"
        image.write_bytes(bytes(size_bytes))
        os.sync()
        disk = self.attach_loop(image)
        self.assertEqual(harness.run("fsfreeze", "-f", point).returncode, 0)

        def thaw():
            return harness.run("fsfreeze", "-u", point)
        self.addCleanup(thaw)
        return disk, thaw

    def test_requests_that_were_queued_before_a_recording_of_a_disk(self):
        """Those at the device are allowed to be absent. Those that waited for it are recorded."""
        count = 200
        disk, thaw = self.make_frozen_disk(count * PAGE)
        tags = int((pathlib.Path("/sys/block") / pathlib.Path(disk).name / "queue/nr_requests").read_text())
        self.assertLess(tags, count)
        with subprocess.Popen(["python3", "-c", AT_ONCE, disk, str(count)]) as writer:
            self.addCleanup(writer.kill)
            tasks = pathlib.Path(f"/proc/{writer.pid}/task")
            harness.wait_for(lambda: sum((task / "stat").read_text().rpartition(")")[2].split()[0] == "D" for task in tasks.iterdir()) == count,
                             "all writes")
            path = self.folder / "t.iotrail"
            recorder = self.start("--device", disk, "-l", "syscall,block", path=path)
            harness.wait_until_running(path)
            thaw()
            self.assertEqual(writer.wait(harness.PATIENCE_S), 0)
        recording = self.end(path, recorder)
        if recording.manifest["counters"].get("kernel_completion_missed", 0):
            self.skipTest("the kernel did not report all completions")
        row = self.balance(recording, disk)["write"]
        self.assertEqual(int(row["counted"]), count * PAGE)
        self.assertEqual(int(row["in_trace"]) + int(row["absent"]), count * PAGE)
        self.assertLessEqual(int(row["absent"]), tags * PAGE)
        self.assertEqual(int(row["is_defect"]), 0, row)
        unknown = recording.value("SELECT total(bytes) FROM links WHERE cause = 'no_bio'")
        self.assertEqual(int(unknown), int(row["in_trace"]))
        self.assertEqual(self.verify(recording)[0], 0)

    def test_a_disk_that_is_not_recorded_is_not_compared(self):
        device, point = self.make_disk("ext4", DISK_BYTES)
        other = self.make_bare_disk(DISK_BYTES, "other")
        path = self.folder / "t.iotrail"
        recorder = self.start("--device", other, "-l", "syscall,block", path=path)
        harness.wait_until_running(path)
        harness.run("python3", "-c", OTHERS, point / "others")
        recording = self.end(path, recorder)
        row = self.balance(recording, device)["write"]
        self.assertEqual((row["recorded"], row["in_trace"], row["absent"], int(row["is_defect"])), ("none", None, None, 0), row)
        self.assertGreaterEqual(int(row["counted"]), OTHERS_BYTES)
        self.assertEqual(self.verify(recording)[0], 0)


if __name__ == "__main__":
    harness.main()
