# SPDX-License-Identifier: BSD-3-Clause
"""Real programs on a directory that `iotrail mount` shows elsewhere, and the ends that a mount can have."""
import filecmp
import json
import os
import re
import signal
import sqlite3
import subprocess
import sys

import harness

FAILED = 1


class MountTest(harness.FuseTest):
    def setUp(self):
        super().setUp()
        self.trace = self.folder / "t.iotrail"

    def mount(self, *options):
        process = subprocess.Popen([harness.IOTRAIL, "mount", self.backend, self.point, "-o", self.trace, *options],
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        harness.wait_for(lambda: os.path.ismount(self.point) or process.poll() is not None, "the mount")
        self.assertIsNone(process.poll())
        return process

    def end(self, process, expect=0):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        self.assertEqual(process.returncode, expect, err)
        self.assertFalse(os.path.ismount(self.point))
        return harness.Recording(self.trace, subprocess.CompletedProcess([], process.returncode, "", err))


class Programs(MountTest):
    def test_git_clones_into_it(self):
        self.require_program("git")
        source = self.folder / "source"
        for command in (["init", "-q", source], ["-C", source, "-c", "user.name=n", "-c", "user.email=e", "commit",
                                                 "-q", "--allow-empty", "-m", "first"]):
            subprocess.run(["git", *command], check=True)
        for number in range(50):
            (source / f"file{number}").write_text(f"{number}\n" * 1000)
        subprocess.run(["git", "-C", source, "add", "."], check=True)
        subprocess.run(["git", "-C", source, "-c", "user.name=n", "-c", "user.email=e", "commit", "-q", "-m", "second"],
                       check=True)
        process = self.mount()
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", source, self.point / "clone"], check=True)
        subprocess.run(["git", "-C", self.point / "clone", "fsck", "--strict"], check=True, capture_output=True)
        recording = self.end(process)
        names = [f"file{number}" for number in range(50)]
        self.assertEqual(filecmp.cmpfiles(source, self.backend / "clone", names, shallow=False)[0], names)
        self.assertGreater(int(recording.value("SELECT count(*) FROM fuse_write WHERE result > 0")), 50)

    def test_sqlite_keeps_its_promises_on_it(self):
        process = self.mount()
        with sqlite3.connect(self.point / "db") as database:
            database.execute("CREATE TABLE t (n INTEGER)")
            for number in range(200):
                database.execute("INSERT INTO t VALUES (?)", (number,))
                database.commit()
        database.close()
        recording = self.end(process)
        with sqlite3.connect(self.backend / "db") as database:
            self.assertEqual(database.execute("SELECT count(*), sum(n) FROM t").fetchone(), (200, 19900))
            self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        self.assertGreaterEqual(int(recording.value("SELECT count(*) FROM fuse_request WHERE call = 'FSYNC'")), 200)

    def test_events_are_those_that_strace_sees(self):
        self.require_program("strace")
        process = self.mount()
        log = self.folder / "strace"
        code = ("import os,sys\n"
                "fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\n"
                "for n in range(300): os.pwrite(fd, b'x' * (n + 1), n * 1000)\n"
                "for n in range(400): os.pread(fd, 777, n * 500)\n"
                "os.fsync(fd); os.close(fd); os.rename(sys.argv[1], sys.argv[1] + '2'); os.unlink(sys.argv[1] + '2')\n")
        program = ["strace", "-f", "-qq", "-P", self.point / "file", "-e", "trace=pread64,pwrite64,fsync", "-o", log,
                   sys.executable, "-c", code, self.point / "file"]
        subprocess.run(program, check=True)
        recording = self.end(process)
        seen = re.findall(r"^\d+ +(pread64|pwrite64)\(\d+.*, (\d+), (\d+)\) += (\d+)$", log.read_text(), re.MULTILINE)
        self.assertEqual(len(seen), 700)
        for call, table in (("pread64", "fuse_read"), ("pwrite64", "fuse_write")):
            rows = recording.query(f"SELECT bytes_requested, position, result FROM {table} ORDER BY ts_ns")
            # One read past the end of the file may become none: the kernel knows the length.
            self.assertEqual([tuple(int(r[name]) for name in ("bytes_requested", "position", "result")) for r in rows],
                             [tuple(int(x) for x in row[1:]) for row in seen
                              if row[0] == call and (call == "pwrite64" or int(row[3]) > 0)])
        calls = {row["call"] for row in recording.query("SELECT call FROM fuse_request")}
        self.assertLessEqual({"LOOKUP", "CREATE", "FSYNC", "FLUSH", "RELEASE", "UNLINK"}, calls)
        (row,) = recording.query("SELECT text AS path FROM fuse_request JOIN strings ON path = string WHERE call = 'FSYNC'")
        self.assertEqual(row["path"], str(self.point / "file"))


class Ends(MountTest):
    def test_the_mount_can_be_taken_away_by_others(self):
        process = self.mount()
        (self.point / "a").write_text("a")
        subprocess.run(["umount", self.point], check=True)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)
        self.assertEqual((self.backend / "a").read_text(), "a")

    def test_a_killed_wrapper_leaves_a_trace_and_a_mount_that_can_be_taken_away(self):
        process = self.mount()
        for number in range(100):
            (self.point / f"f{number}").write_text("x" * 1000)
        harness.wait_for(lambda: any(self.trace.glob("*.seg")), "a segment")
        harness.wait_for(lambda: sum(f.stat().st_size for f in self.trace.glob("*.seg")) > 1000, "events on disk")
        process.kill()
        process.wait()
        with self.assertRaises(OSError):
            os.stat(self.point / "f1")
        refused = harness.run(harness.IOTRAIL, "mount", self.backend, self.point, "-o", self.folder / "u.iotrail")
        self.assertEqual(refused.returncode, FAILED)
        self.assertIn("fusermount3 -u", refused.stderr)
        subprocess.run(["umount", self.point], check=True)
        info = harness.run(harness.IOTRAIL, "info", self.trace)
        self.assertEqual(info.returncode, 0, info.stderr)
        self.assertIn("INCOMPLETE", info.stdout)
        counted = harness.run(harness.IOTRAIL, "query", self.trace, "SELECT count(*) AS n FROM fuse_request WHERE call = 'CREATE'", "--json")
        self.assertGreater(json.loads(counted.stdout)[0]["n"], 0, counted.stderr)

    def test_a_file_that_is_open_at_the_end_is_reported(self):
        process = self.mount()
        held = os.open(self.point / "held", os.O_WRONLY | os.O_CREAT)
        os.write(held, b"x")
        recording = self.end(process, expect=FAILED)
        self.assertIn("ENOTCONN", recording.process.stderr)
        with self.assertRaises(OSError):
            os.close(held)
        self.assertEqual((self.backend / "held").read_bytes(), b"x")


class Refusals(MountTest):
    def test_what_cannot_be_mounted_names_the_reason(self):
        (self.backend / "inside").mkdir()
        full = self.folder / "full"
        full.mkdir()
        (full / "file").write_text("")
        for point, reason in ((self.folder / "none", "ENOENT"), (self.backend / "inside", "inside the backend"),
                              (full, "not empty"), ("/proc", "is mounted there")):
            process = harness.run(harness.IOTRAIL, "mount", self.backend, point, "-o", self.trace)
            self.assertEqual(process.returncode, FAILED, process.stderr)
            self.assertIn(reason, process.stderr)
            self.assertFalse(self.trace.exists())

    def test_a_full_disk_is_the_programs_error(self):
        _, self.backend = self.make_disk("ext4", 16 << 20)
        process = self.mount()
        with self.assertRaises(OSError) as raised:
            with open(self.point / "large", "wb", buffering=0) as large:
                for _ in range(64):
                    large.write(b"x" * (1 << 20))
        self.assertEqual(raised.exception.errno, 28)
        recording = self.end(process)
        self.assertGreater(int(recording.value("SELECT count(*) FROM fuse_write WHERE result = -28")), 0)


if __name__ == "__main__":
    harness.main()
