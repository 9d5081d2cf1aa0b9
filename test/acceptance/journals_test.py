# SPDX-License-Identifier: BSD-3-Clause
"""Calls that wait for a commit of ext4's journal take all its I/O along: in a recording of the
program, each disk has what it counted by itself."""
import os
import pathlib
import signal
import subprocess

import harness

DISK_BYTES = 600 << 20
JOURNAL_BYTES = 64 << 20
COUNT = 20
SYNCS = f"""
import os, sys
for number in range({COUNT}):
    fd = os.open(f'{{sys.argv[1]}}/{{number}}', os.O_CREAT | os.O_WRONLY)
    os.write(fd, b'x' * 8192)
    os.fsync(fd)
    os.close(fd)
"""
MAKES = f"""
import os, sys
for number in range({COUNT}):
    os.mkdir(f'{{sys.argv[1]}}/{{number}}')
"""
CREATES = f"""
import os, sys
for number in range({COUNT}):
    os.close(os.open(f'{{sys.argv[1]}}/{{number}}', os.O_CREAT | os.O_WRONLY))
"""
# Changes files, then has all of the file system written.
CHANGES = f"""
import os, subprocess, sys
point, *command = sys.argv[1:]
for number in range({COUNT}):
    with open(f'{{point}}/{{number}}', 'wb') as file:
        file.write(b'x' * 8192)
sys.exit(subprocess.run(command).returncode)
"""


class Journals(harness.AcceptanceTest):
    def mount(self, device, *options):
        point = self.folder / "point"
        point.mkdir()
        mounted = harness.run("mount", "-o", ",".join(["no_prefetch_block_bitmaps", *options]), device, point)
        self.assertEqual(mounted.returncode, 0, mounted.stderr)
        self.addCleanup(harness.run, "umount", point)
        os.sync()
        return point

    def make_ext4(self, device, *options):
        self.require_program("mkfs.ext4")
        made = harness.run("mkfs.ext4", "-q", "-b", 4096, "-E", "lazy_itable_init=0,lazy_journal_init=0", *options, device)
        self.assertEqual(made.returncode, 0, made.stderr)

    def flushes_of(self, device):
        """As the kernel counts them."""
        return int(pathlib.Path("/sys/block", pathlib.Path(device).name, "stat").read_text().split()[15])

    def check_disks(self, recording, *devices, not_flushed=()):
        """The bytes written and the flushes, all of them, and each with the program's operation."""
        self.require(recording, "block")
        if recording.manifest["counters"].get("kernel_completion_missed", 0):
            self.skipTest("the kernel did not report all completions")
        for device in devices:
            name = pathlib.Path(device).name
            rows = recording.query(f"SELECT direction, counted, in_trace, absent, surplus FROM disk_balance WHERE device_name = '{name}' "
                                   "AND direction IN ('write', 'flush') ORDER BY direction")
            self.assertEqual([row["direction"] for row in rows], ["write"] if device in not_flushed else ["flush", "write"], name)
            for row in rows:
                self.assertEqual((int(row["absent"]), int(row["surplus"])), (0, 0), f"{name}: {rows}")
                self.assertGreaterEqual(int(row["counted"]), COUNT if row["direction"] == "flush" else 4096, name)
            unknown = recording.query(f"SELECT cause, total(bytes) AS bytes FROM device_causes WHERE device_name = '{name}' AND direction = 'write' "
                                      "AND is_remainder = 1 GROUP BY cause")
            self.assertEqual(unknown, [], name)

    def record_of(self, *command):
        return self.record(*command, options=["--layers", "syscall,cache,block"])

    def test_a_journal_on_a_disk_of_its_own(self):
        disk, journal = self.make_bare_disk(DISK_BYTES), self.make_bare_disk(JOURNAL_BYTES, "journal")
        self.assertEqual(harness.run("mke2fs", "-q", "-b", 4096, "-O", "journal_dev", journal).returncode, 0)
        self.make_ext4(disk, "-J", f"device={journal}")
        point = self.mount(disk)
        before = self.flushes_of(disk)
        recording = self.record_of("python3", "-c", SYNCS, point)
        # Linux 6.12 and before flush the disk of the data only where ext4 waits for that data in order.
        not_flushed = [disk] if self.flushes_of(disk) == before else []
        self.check_disks(recording, disk, journal, not_flushed=not_flushed)
        name = pathlib.Path(journal).name
        calls = recording.query(f"SELECT DISTINCT o.class, o.call FROM links AS l JOIN devices AS d USING (device) JOIN operations AS o ON l.op_id = o.op_id "
                                f"WHERE d.name = '{name}' AND o.layer = 'syscall'")
        self.assertEqual([row["call"] for row in calls], ["fsync"])

    def test_a_file_system_that_commits_each_change(self):
        disk = self.make_bare_disk(DISK_BYTES)
        self.make_ext4(disk)
        self.check_disks(self.record_of("python3", "-c", MAKES, self.mount(disk, "sync")), disk)

    def test_a_directory_that_commits_each_change(self):
        disk = self.make_bare_disk(DISK_BYTES)
        self.make_ext4(disk)
        point = self.mount(disk)
        self.require_program("chattr")
        self.assertEqual(harness.run("chattr", "+D", point).returncode, 0)
        os.sync()
        self.check_disks(self.record_of("python3", "-c", CREATES, point), disk)

    def test_a_commit_that_no_call_waits_for(self):
        """It belongs to the program that made the changes, not to the journal's thread."""
        device = self.make_bare_disk(DISK_BYTES)
        self.make_ext4(device)
        point = self.mount(device, "commit=1")
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", path, "--device", device], stdin=subprocess.DEVNULL)
        self.addCleanup(recorder.wait)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(path)
        (info,) = pathlib.Path("/proc/fs/jbd2").glob(f"{pathlib.Path(device).name}-*/info")

        def commits():
            return int(info.read_text().split()[0])
        before = commits()
        program = subprocess.Popen(["python3", "-c", CREATES, point])
        self.assertEqual(program.wait(harness.PATIENCE_S), 0)
        harness.wait_for(lambda: commits() > before, "the commit")
        # The kernel counts a commit shortly before its end: the next one begins after that.
        before = commits()
        (point / "another").touch()
        harness.wait_for(lambda: commits() > before, "the next commit")
        recorder.send_signal(signal.SIGINT)
        self.assertEqual(recorder.wait(harness.PATIENCE_S), 0)
        recording = harness.Recording(path, recorder)
        self.require(recording, "block", "fs")
        (commit,) = recording.query("SELECT * FROM journal_commits WHERE coalesce(op_id, 0) = 0 AND traced_handles > 0 ORDER BY ts_ns LIMIT 1")
        rows = recording.query("SELECT cause, confidence, pid, total(bytes) AS bytes FROM links WHERE direction = 'write' AND "
                               f"ts_ns BETWEEN {commit['ts_ns']} AND {commit['ts_ns'] + commit['duration_ns']} GROUP BY ALL")
        shares = {(row["cause"], row["confidence"], row["pid"]): int(row["bytes"]) for row in rows}
        whole = 4096 * int(commit["blocks_logged"])
        self.assertGreaterEqual(shares.get(("metadata", "shared", program.pid), 0),
                                whole * int(commit["traced_handles"]) // int(commit["handles"]) - 4096, (shares, commit))

    def test_a_remount_and_a_freeze(self):
        disk = self.make_bare_disk(DISK_BYTES)
        self.make_ext4(disk)
        point = self.mount(disk)
        self.require_program("fsfreeze")
        for command in (["sh", "-c", f"fsfreeze -f '{point}' && fsfreeze -u '{point}'"], ["mount", "-o", "remount,ro", point]):
            with self.subTest(command=command):
                recording = self.record("python3", "-c", CHANGES, point, *command, options=["--layers", "syscall,cache,block"], name=command[0])
                self.require(recording, "block")
                name = pathlib.Path(disk).name
                (row,) = recording.query(f"SELECT counted, absent FROM disk_balance WHERE device_name = '{name}' AND direction = 'write'")
                self.assertEqual(int(row["absent"]), 0, row)
                self.assertGreaterEqual(int(row["counted"]), COUNT * 8192)


if __name__ == "__main__":
    harness.main()
