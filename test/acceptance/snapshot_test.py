# SPDX-License-Identifier: BSD-3-Clause
"""Snapshots of trees with known entries, of processes that the test starts, and during a recording."""
import os
import shutil
import signal
import socket
import subprocess

import harness

FAILED, USAGE = 1, 2
NOBODY = 65534


class SnapshotTest(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.tree = self.folder / "tree"
        self.tree.mkdir()
        self.count = 0

    def snapshot(self, *arguments, expect=0, **options):
        self.count += 1
        path = self.folder / f"s{self.count}.iotrail"
        process = harness.run(harness.IOTRAIL, "snapshot", "-o", path, *arguments, **options)
        self.assertEqual(process.returncode, expect, process.stderr)
        recording = harness.Recording(path, process)
        if expect == 0:
            (source,) = recording.manifest["sources"]
            self.assertEqual(source["produced"], source["written"])
        return recording

    def files(self, recording, columns="path"):
        """Rows by their path below the tree."""
        rows = recording.query(f"SELECT path, {columns} FROM snapshot_files")
        return {os.path.relpath(row["path"], self.tree): row for row in rows}

    def differences(self, recording):
        sign = {"added": "+", "changed": "~", "removed": "-"}
        return sorted(sign[row["difference"]] + path for path, row in self.files(recording, "difference").items())


class Files(SnapshotTest):
    def test_all_entries_of_a_known_tree(self):
        (self.tree / "plain").write_bytes(b"12345")
        os.link(self.tree / "plain", self.tree / "hard")
        (self.tree / "a\nb \"c\", '\x1b[31m").write_text("")
        (self.tree / b"\xff\xfe".decode("utf-8", "surrogateescape")).write_text("")
        (self.tree / "link").symlink_to("/")
        (self.tree / "sub/deep").mkdir(parents=True)
        os.mkfifo(self.tree / "fifo")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(self.tree / "socket"))
        with open(self.tree / "sparse", "wb") as sparse:
            sparse.truncate(1 << 40)
        recording = self.snapshot(self.tree)
        on_disk = {os.path.relpath(os.path.join(folder, name), self.tree)
                   for folder, folders, names in os.walk(self.tree) for name in folders + names} | {"."}
        self.assertEqual(int(recording.value("SELECT count(*) FROM snapshot_file")), len(on_disk))
        files = self.files(recording, "type, bytes, allocated_bytes, inode, links, mode, uid, modified_ns, changed_ns, born_ns")
        for name in on_disk - {"\udcff\udcfe"}:
            status = os.lstat(self.tree / name)
            row = files[name]
            self.assertEqual([int(row[key]) for key in ("bytes", "allocated_bytes", "inode", "links", "mode", "uid", "modified_ns")],
                             [status.st_size, status.st_blocks * 512, status.st_ino, status.st_nlink, status.st_mode,
                              status.st_uid, status.st_mtime_ns], name)
        types = {"plain": "regular", "link": "symbolic_link", "fifo": "fifo", "socket": "socket", "sub": "directory"}
        self.assertEqual({name: files[name]["type"] for name in types}, types)
        self.assertEqual(files["plain"]["inode"], files["hard"]["inode"])

    def test_a_delta_after_known_changes(self):
        for name in ("stays", "grows", "goes", "touched", "moves"):
            (self.tree / name).write_text(name)
        (self.tree / "folder/inner").mkdir(parents=True)
        (self.tree / "folder/inner/file").write_text("")
        whole = self.snapshot(self.tree)
        self.assertEqual(self.differences(self.snapshot("--since", whole.path)), [])
        (self.tree / "grows").write_text("more than before")
        (self.tree / "goes").unlink()
        (self.tree / "touched").chmod(0o600)
        (self.tree / "moves").rename(self.tree / "moved")
        (self.tree / "comes").write_text("")
        shutil.rmtree(self.tree / "folder")
        (self.tree / "stays").read_text()
        delta = self.snapshot("--since", whole.path)
        expected = ["+comes", "+moved", "-folder", "-folder/inner", "-folder/inner/file", "-goes", "-moves", "~.",
                    "~grows", "~touched"]
        self.assertEqual(self.differences(delta), expected)
        # A delta alone is no baseline; after its baseline it is.
        refused = harness.run(harness.IOTRAIL, "snapshot", "-o", self.folder / "x.iotrail", "--since", delta.path)
        self.assertEqual(refused.returncode, FAILED)
        self.assertIn("it is a delta of the trace with the id", refused.stderr)
        self.assertFalse((self.folder / "x.iotrail").exists())
        self.assertEqual(self.differences(self.snapshot("--since", f"{whole.path},{delta.path}")), [])

    def test_directories_that_cannot_be_read_are_counted_and_named(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv to become another user")
        for folder in (self.folder.parent, self.folder, self.tree):
            folder.chmod(0o755)
        (self.tree / "secret/below").mkdir(parents=True)
        (self.tree / "secret").chmod(0o700)
        (self.tree / "open").mkdir()
        self.folder.chmod(0o777)
        path = self.folder / "nobody.iotrail"
        process = harness.run("setpriv", f"--reuid={NOBODY}", "--clear-groups", harness.IOTRAIL, "snapshot", "-o", path, self.tree)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("snapshot_unreadable", process.stderr)
        recording = harness.Recording(path, process)
        self.assertEqual(set(self.files(recording)), {".", "secret", "open"})
        (row,) = recording.query("SELECT path, reason, errno_name(error) AS error FROM snapshot_omissions")
        self.assertEqual(row, {"path": str(self.tree / "secret"), "reason": "unreadable", "error": "EACCES"})
        self.assertEqual(recording.manifest["counters"]["snapshot_unreadable"], 1)

    def test_other_file_systems_are_left_out_and_named(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount")
        for name in ("mounted", "bound", "source/inside"):
            (self.tree / name).mkdir(parents=True)
        for command in (("mount", "-t", "tmpfs", "none", self.tree / "mounted"),
                        ("mount", "--bind", self.tree / "source", self.tree / "bound")):
            mounted = harness.run(*command)
            if mounted.returncode:
                self.skipTest(f"this machine does not let mount: {mounted.stderr}")
            self.addCleanup(harness.run, "umount", command[-1])
        (self.tree / "mounted/unseen").write_text("")
        recording = self.snapshot(self.tree)
        self.assertEqual(set(self.files(recording)), {".", "source", "source/inside"})
        rows = recording.query("SELECT path, reason, device FROM snapshot_omissions ORDER BY path")
        self.assertEqual([row["path"] for row in rows], [str(self.tree / "bound"), str(self.tree / "mounted")])
        self.assertEqual({row["reason"] for row in rows}, {"other_file_system"})
        device = os.stat(self.tree / "mounted").st_dev
        self.assertEqual(int(rows[1]["device"]), os.major(device) << 20 | os.minor(device))
        # A mount point that is named itself is walked.
        self.assertEqual(len(self.files(self.snapshot(self.tree / "mounted"))), 2)

    def test_an_interrupted_snapshot_is_kept_and_completed(self):
        for number in range(300):
            (self.tree / f"{number}").mkdir()
            for name in range(20):
                (self.tree / f"{number}/{name}").write_text("")
        path = self.folder / "interrupted.iotrail"
        process = subprocess.Popen([harness.IOTRAIL, "snapshot", "-q", "-o", path, "--of", "fs", self.tree, "/"],
                                   stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
        harness.wait_until_running(path)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=harness.PATIENCE_S)
        recording = harness.Recording(path, None)
        if process.returncode == 0:
            self.skipTest("the snapshot was faster than the interruption")
        self.assertEqual(process.returncode, 128 + signal.SIGINT)
        self.assertEqual(recording.manifest["state"], "COMPLETE")
        self.assertGreaterEqual(recording.manifest["counters"]["snapshot_unfinished"], 1)
        # The other snapshot, of everything, runs at the same time, and may have walked the tree as
        # well.
        had = {row["path"] for row in recording.query(f"""SELECT path FROM snapshot_files WHERE snapshot IN (
            SELECT snapshot FROM snapshots WHERE path = '{self.tree}')""")}
        rest = {row["path"] for row in self.snapshot(self.tree, "--since", path).query(
            "SELECT path FROM snapshot_files WHERE difference = 'added'")}
        self.assertEqual(len(had | rest), 300 * 21 + 1)
        self.assertFalse(had & rest)


class Machine(SnapshotTest):
    def test_a_whole_snapshot_of_processes_and_system(self):
        child = subprocess.Popen(["sleep", "100"])
        try:
            recording = self.snapshot("--of", "process,system")
        finally:
            child.kill()
            child.wait()
        (row,) = recording.query(f"SELECT name, command, parent_pid, exe FROM snapshot_processes WHERE pid = {child.pid}")
        self.assertEqual(row, {"name": "sleep", "command": "sleep 100", "parent_pid": os.getpid(),
                               "exe": os.path.realpath(shutil.which("sleep"))})
        (machine,) = recording.query("SELECT kernel, host, cpus FROM snapshot_machines")
        self.assertEqual((machine["kernel"], machine["host"]), (os.uname().release, os.uname().nodename))
        self.assertEqual(int(recording.value("SELECT count(*) FROM snapshot_mounts WHERE path = '/'")), 1)
        self.assertGreater(int(recording.value("SELECT count(*) FROM snapshot_settings")), 10)
        kinds = {row["kind"] for row in recording.query("SELECT kind FROM snapshots WHERE is_complete = 1")}
        self.assertEqual(kinds, {"process", "system"})

    def test_it_is_read_by_every_verb(self):
        path = self.snapshot("--of", "system").path
        self.assertIn("vm.swappiness", harness.run(harness.IOTRAIL, "script", path).stdout)
        exported = harness.run(harness.IOTRAIL, "export", path, "--to", "csv", "--table", "snapshot_mount")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertIn("proc", exported.stdout)
        for verb in ("report", "info", "list"):
            process = harness.run(harness.IOTRAIL, verb, path)
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_a_hostile_name(self):
        script = ("import ctypes, time\n"
                  "ctypes.CDLL(None).prctl(15, b'a) R 1 (\\n\\x1b[31')\n"
                  "print(flush=True); time.sleep(100)\n")
        child = subprocess.Popen(["python3", "-c", script], stdout=subprocess.PIPE)
        try:
            child.stdout.readline()
            recording = self.snapshot("--of", "process")
        finally:
            child.kill()
            child.communicate()
        (row,) = recording.query(f"SELECT name, parent_pid FROM snapshot_processes WHERE pid = {child.pid}")
        self.assertEqual(row, {"name": "a) R 1 (\n\x1b[31", "parent_pid": os.getpid()})
        self.assertNotIn("\x1b", harness.run(harness.IOTRAIL, "script", recording.path).stdout)


class WhileRecording(SnapshotTest):
    def test_a_child_is_seen_with_its_cpu(self):
        burn = "import time\nwhile time.process_time() < 2: pass\n"
        recording = self.record("python3", "-c", burn, options=("-l", "app", "--snapshot", "process:100ms"))
        self.assert_adds_up(recording)
        pid = recording.value("SELECT max(pid) FROM processes WHERE comm LIKE 'python%'")
        rows = recording.query("SELECT cpu_ns, cpu_5s_permille, read_bytes FROM snapshot_processes "
                               f"WHERE pid = {pid} AND command LIKE 'python3%' ORDER BY ts_ns")
        self.assertGreater(len(rows), 10)
        used = [int(row["cpu_ns"]) for row in rows]
        self.assertEqual(used, sorted(used))
        self.assertGreater(used[-1], 300_000_000)
        self.assertGreater(int(rows[-1]["cpu_5s_permille"]), 0)
        self.assertLess(int(rows[-1]["cpu_5s_permille"]), 1200)

    @harness.long
    def test_files_of_the_current_directory_again_and_again(self):
        path, new = self.folder / "t.iotrail", self.tree / "new"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", path, "-l", "app", "--snapshot", "fs:100ms", "--", "cat"],
                                    cwd=self.tree, stdin=subprocess.PIPE)
        recording = harness.Recording(path, None)
        harness.wait_until_running(path)
        for act, difference in ((lambda: None, "none"), (lambda: new.write_text(""), "added"), (new.unlink, "removed")):
            act()
            harness.wait_for(lambda: harness.run(harness.IOTRAIL, "query", path, "--raw",
                                                 f"SELECT 'se' || 'en' AS row FROM snapshot_files WHERE difference = '{difference}'").stdout.count("seen"), difference)
        recorder.communicate()
        self.assertEqual(recorder.returncode, 0)
        self.assert_adds_up(recording)
        rows = recording.query("SELECT difference, path FROM snapshot_files ORDER BY ts_ns")
        seen = [(row["difference"], os.path.relpath(row["path"], self.tree)) for row in rows]
        self.assertEqual(seen[0], ("none", "."))
        self.assertEqual([row for row in seen if row[1] == "new"], [("added", "new"), ("removed", "new")])
        self.assertEqual({row for row in seen[1:] if row[1] == "."}, {("changed", ".")})
        left = [row["path"] for row in recording.query("SELECT path FROM snapshot_tree")]
        self.assertEqual(left, [str(self.tree)])

    def test_a_long_snapshot_does_not_hold_up_the_end(self):
        recording = self.record("true", options=("-l", "app", "--snapshot", "fs=/,system"), timeout=harness.PATIENCE_S // 10)
        self.assert_adds_up(recording)
        self.assertEqual(recording.value("SELECT count(*) FROM snapshot_system") != "0", True)


class BadInput(SnapshotTest):
    def refused(self, status, *arguments, says):
        process = harness.run(harness.IOTRAIL, *arguments)
        self.assertEqual(process.returncode, status, process.stderr)
        self.assertTrue(process.stderr.startswith("iotrail: "), process.stderr)
        self.assertIn(says, process.stderr)

    def test_impossible_snapshots(self):
        trace = ("-o", self.folder / "x.iotrail")
        self.refused(USAGE, "snapshot", *trace, "--of", "moon", says="'moon'")
        self.refused(USAGE, "snapshot", *trace, "--of", "system", self.tree, says="--of")
        self.refused(FAILED, "snapshot", *trace, self.tree / "missing", says=str(self.tree / "missing"))
        self.refused(FAILED, "snapshot", *trace, "--since", "no-such-trace", says="no-such-trace")
        self.refused(USAGE, "record", *trace, "--snapshot", "moon", "--", "true", says="'moon'")
        self.refused(USAGE, "record", *trace, "--snapshot", "process:often", "--", "true", says="often")
        self.refused(USAGE, "record", *trace, "--snapshot", "process:1ms", "--", "true", says="10ms")
        self.refused(USAGE, "record", *trace, "--snapshot", "process=/x", "--", "true", says="fs=PATH")
        self.refused(USAGE, "record", *trace, "--snapshot", "fs=", "--", "true", says="fs=PATH")
        self.refused(FAILED, "record", *trace, "--snapshot", f"fs={self.tree / 'missing'}", "--", "true", says="missing: No such file")
        self.refused(FAILED, "record", *trace, "--snapshot", "fs=/dev/zero:1s", "--", "true", says="ENOTDIR")
        self.refused(USAGE, "record", *trace, "--events", "snapshot_file", "--", "true", says="--snapshot")
        self.assertFalse(trace[1].exists())

    def test_a_trace_without_files_is_no_baseline(self):
        path = self.snapshot("--of", "system").path
        self.refused(FAILED, "snapshot", "-o", self.folder / "x.iotrail", "--since", path, says="no snapshot of a file system")

    def test_a_path_that_the_baseline_has_not(self):
        (self.tree / "sub").mkdir()
        path = self.snapshot(self.tree).path
        self.refused(FAILED, "snapshot", "-o", self.folder / "x.iotrail", "--since", path, self.tree / "sub",
                     says="none that began there")


if __name__ == "__main__":
    harness.main()
