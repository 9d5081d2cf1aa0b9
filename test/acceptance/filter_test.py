# SPDX-License-Identifier: BSD-3-Clause
"""Selection of what to record: running processes, control groups, files, disks, events, the whole
machine.
Two processes wait before the recording begins, then write to files that both know. Each test
says which process's writes the trace must have: all of them, and no others."""
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import uuid

import harness

FAILED, USAGE = 1, 2
WRITES, BLOCK_BYTES = 64, 4096
# For each line "PATH" on standard input, a thread that has waited since the start writes WRITES
# blocks there. A child process writes as many to PATH.child. Prints a line when all data is on the
# device.
WORKER = f"""
import os, queue, subprocess, sys, threading
paths, done = queue.Queue(), queue.Queue()
def write(path):
    file = os.open(path, os.O_WRONLY | os.O_CREAT, 0o644)
    for block in range({WRITES}):
        os.pwrite(file, b'x' * {BLOCK_BYTES}, block * {BLOCK_BYTES})
    os.fsync(file)
    os.close(file)
def serve():
    while True:
        write(paths.get())
        done.put(None)
threading.Thread(target=serve, daemon=True).start()
print('ready', flush=True)
for line in sys.stdin:
    path = line.strip()
    paths.put(path)
    done.get()
    child = os.fork()
    if child == 0:
        write(path + '.child')
        os._exit(0)
    os.waitpid(child, 0)
    print('written', flush=True)
"""


class Worker:
    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", WORKER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.process.stdout.readline()

    @property
    def pid(self):
        return self.process.pid

    def write(self, path):
        self.process.stdin.write(f"{path}\n")
        self.process.stdin.flush()
        assert self.process.stdout.readline() == "written\n"

    def stop(self):
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


class Filters(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.ours, self.other = Worker(), Worker()
        self.addCleanup(lambda: (self.ours.stop(), self.other.stop()))

    def record_while(self, options, work, layers="syscall,cache,block,process"):
        """Records with these options while `work` runs."""
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "--layers", layers, "-o", path, *map(str, options)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            harness.wait_until_running(path)
            work()
        finally:
            recorder.send_signal(signal.SIGINT)
            out, err = recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, err)
        recording = harness.Recording(path, subprocess.CompletedProcess([], recorder.returncode, out, err))
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        return recording

    def written(self, recording):
        """Writes by path, for the files of this test."""
        rows = recording.query("SELECT path, count(*) AS writes, sum(result) AS bytes FROM syscall_write JOIN files "
                               f"USING (file) WHERE path LIKE '{self.folder}%' GROUP BY path ORDER BY path")
        return {pathlib.Path(row["path"]).name: (int(row["writes"]), int(row["bytes"])) for row in rows}

    def both_write(self):
        self.ours.write(self.folder / "ours")
        self.other.write(self.folder / "other")

    ALL = (WRITES, WRITES * BLOCK_BYTES)

    def test_a_running_process_and_its_children(self):
        recording = self.record_while(["-p", self.ours.pid], self.both_write)
        self.assertEqual(self.written(recording), {"ours": self.ALL, "ours.child": self.ALL})
        self.assertEqual(recording.value("SELECT count(DISTINCT pid) FROM syscall_write"), 2)
        self.assertEqual(recording.value(f"SELECT count(*) FROM processes WHERE pid = {self.ours.pid}"), 1)
        self.assertEqual(recording.value(f"SELECT count(*) FROM process_fork WHERE pid = {self.ours.pid}"), 1)
        self.assertEqual(recording.manifest["filters"], [f"-p {self.ours.pid} (python3)"])

    @harness.long
    def test_the_command_of_a_process_that_runs(self):
        recording = self.record_while(["-p", self.ours.pid], self.both_write)
        words = pathlib.Path(f"/proc/{self.ours.pid}/cmdline").read_text(encoding="utf-8").split("\0")[:-1]
        self.assertEqual(recording.manifest["command"], words)
        self.assertEqual(recording.manifest["command_status"], -1)
        (listed,) = json.loads(harness.run(harness.IOTRAIL, "list", self.folder, "--json").stdout)["traces"]
        self.assertEqual(listed["command"], words)
        self.assertIn(words[0], harness.run(harness.IOTRAIL, "report", recording.path, "--full", "--wide").stdout)

    def test_a_process_that_hangs_from_before_to_after(self):
        """Its call is recorded as unfinished, with all that /proc says about it."""
        ends = os.pipe()
        self.addCleanup(lambda: [os.close(end) for end in ends])
        process = subprocess.Popen(["head", "-c", "5"], stdin=ends[0], stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        harness.wait_for(lambda: pathlib.Path(f"/proc/{process.pid}/syscall").read_text().split()[:2] == ["0", "0x0"], "its read")
        recording = self.record_while(["-p", process.pid], lambda: None, layers="syscall,sched")
        (call,) = recording.query("SELECT call, fd, bytes_requested, result, ts_ns, pid, tid, path FROM syscall_read JOIN files USING (file)")
        self.assertEqual((call["call"], call["fd"], call["bytes_requested"]), ("read", 0, 5))
        self.assertEqual((call["pid"], call["tid"]), (process.pid, process.pid))
        self.assertEqual(call["path"], os.readlink(f"/proc/{process.pid}/fd/0"))
        self.assertLess(call["ts_ns"], recording.manifest["begin_ns"])
        (wait,) = recording.query("SELECT reason, ts_ns FROM waits")
        self.assertEqual((wait["reason"], wait["ts_ns"]), ("pipe", call["ts_ns"]))
        self.assertNotIn("kernel_call_from_before", recording.manifest["counters"])

    @harness.long
    def test_two_processes(self):
        recording = self.record_while(["-p", self.ours.pid, "-p", self.other.pid], self.both_write)
        self.assertEqual(len(self.written(recording)), 4)

    @harness.long
    def test_children_started_before_the_recording(self):
        recording = self.record_while(["-p", os.getpid()], self.both_write)
        self.assertEqual(len(self.written(recording)), 4)
        recorder = recording.manifest["recorder_pid"]
        self.assertEqual(recording.value(f"SELECT count(*) FROM operations WHERE pid = {recorder}"), 0)

    def test_a_recording_ends_with_its_process(self):
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "--layers", "syscall", "-o", path, "-p",
                                     str(self.ours.pid)], stderr=subprocess.PIPE, text=True)
        harness.wait_until_running(path)
        self.ours.stop()
        self.ours = Worker()
        recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0)
        self.assertEqual(harness.Recording(path, None).manifest["stop_reason"], "process ended")

    def cgroup(self):
        """A new control group of the version 2 hierarchy, with one below it."""
        for root in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
            if (pathlib.Path(root) / "cgroup.procs").exists() and (pathlib.Path(root) / "cgroup.controllers").exists():
                group = pathlib.Path(root) / f"iotrail-test-{uuid.uuid4().hex[:8]}"
                try:
                    (group / "below").mkdir(parents=True)
                except OSError as refusal:
                    self.skipTest(f"no control group can be made here: {refusal}")
                self.addCleanup(self.remove_cgroup, group)
                return group
        return self.skipTest("no control groups of version 2 here")

    def remove_cgroup(self, group):
        for below in (group / "below", group):
            for pid in (below / "cgroup.procs").read_text().split():
                (group.parent / "cgroup.procs").write_text(pid)
            below.rmdir()

    def test_a_control_group_and_those_below_it(self):
        group = self.cgroup()
        (group / "below/cgroup.procs").write_text(str(self.ours.pid))
        for name in (group, group.name):
            with self.subTest(name=name):
                recording = self.record_while(["--cgroup", name], self.both_write)
                self.assertEqual(self.written(recording), {"ours": self.ALL, "ours.child": self.ALL})
                shutil.rmtree(recording.path)

    @harness.long
    def test_a_process_that_comes_into_a_control_group(self):
        """A process that enters the group while the recording runs."""
        group = self.cgroup()
        late = []

        def work():
            late.append(Worker())
            self.addCleanup(late[0].stop)
            (group / "below/cgroup.procs").write_text(str(late[0].pid))
            late[0].write(self.folder / "late")

        recording = self.record_while(["--cgroup", group], work)
        self.assertEqual(self.written(recording), {"late": self.ALL, "late.child": self.ALL})
        (row,) = recording.query(f"SELECT command, cgroup, parent_pid FROM processes WHERE pid = {late[0].pid}")
        self.assertIn("python3", row["command"])
        self.assertTrue(row["cgroup"].endswith("/below"), row)
        self.assertEqual(row["parent_pid"], os.getpid())

    def test_a_recording_ends_with_its_control_group(self):
        """A new group with the same name is another group."""
        group = self.cgroup()
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "--layers", "syscall", "-o", self.folder / "t.iotrail", "--cgroup", group / "below"],
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(self.folder / "t.iotrail")
        self.assertIsNone(recorder.poll())
        (group / "below").rmdir()
        self.assertIn("control group removed", recorder.communicate(timeout=harness.PATIENCE_S)[1])
        self.assertEqual(recorder.returncode, 0)
        (group / "below").mkdir()  # as remove_cgroup expects

    def test_a_recording_ends_with_its_device(self):
        """A loop device stays when its file is detached, and becomes another disk with another
        file."""
        image = self.folder / "vanishing.img"
        image.write_bytes(bytes(1 << 20))
        device = self.attach_loop(image)
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", self.folder / "t.iotrail", "--device", device], stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(self.folder / "t.iotrail")
        self.assertIsNone(recorder.poll())
        self.detach_loop(device)
        self.assertIn("device removed", recorder.communicate(timeout=harness.PATIENCE_S)[1])
        self.assertEqual(recorder.returncode, 0)

    @harness.long
    def test_a_container(self):
        """By the id that `docker ps` shows; also as an exclusion."""
        number = uuid.uuid4().hex * 2
        container = self.cgroup() / "below" / f"docker-{number}.scope"
        container.mkdir()
        self.addCleanup(container.rmdir)
        self.addCleanup(lambda: (container.parent / "cgroup.procs").write_text(str(self.ours.pid)))
        (container / "cgroup.procs").write_text(str(self.ours.pid))
        recording = self.record_while(["--container", number[:12]], self.both_write)
        self.assertEqual(self.written(recording), {"ours": self.ALL, "ours.child": self.ALL})
        self.assertEqual(recording.value(f"SELECT count(DISTINCT cgroup) FROM programs WHERE cgroup LIKE '%docker-{number}.scope'"), 1)
        self.assertEqual(recording.value("SELECT string_agg(DISTINCT container, ' ') FROM top_processes"), number)
        self.assertIn(number[:12], harness.run(harness.IOTRAIL, "report", recording.path, "--by", "process").stdout)
        shutil.rmtree(recording.path)
        recording = self.record_while(["-p", f"{self.ours.pid},{self.other.pid}", "--exclude-container", number], self.both_write)
        self.assertEqual(self.written(recording), {"other": self.ALL, "other.child": self.ALL})
        self.refused(FAILED, "--container", number[:11], says="no control group is named after it, but after ")
        self.refused(FAILED, "--container", "no-such", says=number[:12])

    def test_a_file_of_all_processes(self):
        wanted, link = self.folder / "wanted", self.folder / "link"
        wanted.touch()
        link.hardlink_to(wanted)

        def work():
            self.ours.write(wanted)
            self.other.write(link)
            self.both_write()
        recording = self.record_while(["--file", wanted], work)
        self.assertEqual(sum(writes for writes, _ in self.written(recording).values()), 2 * WRITES)
        self.assertEqual(recording.value("SELECT count(DISTINCT pid) FROM syscall_write"), 2)
        self.assertEqual(recording.value("SELECT count(DISTINCT inode) FROM syscall_write JOIN files USING (file)"), 1)
        for table in ("syscall_read", "syscall_stat", "syscall_unlink", "syscall_munmap"):
            self.assertEqual(recording.value(f"SELECT count(*) FROM {table}"), 0, table)
        if "cache" in recording.layers_recorded():
            self.assertEqual(recording.value("SELECT count(DISTINCT file) FROM cache_dirty"), 1)

    def test_a_file_of_a_command(self):
        wanted = self.folder / "wanted"
        wanted.touch()
        recording = self.record("sh", "-c", f"echo 1 >{self.folder}/a; echo 22 >{wanted}; cat {wanted}",
                                options=["--file", wanted])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        self.assertEqual(recording.value("SELECT sum(result) FROM syscall_write"), 3)
        self.assertEqual(recording.value("SELECT sum(result) FROM syscall_read"), 3)
        self.assertNotIn("app", recording.layers_recorded())
        self.assertIn("calls cannot be restricted", recording.process.stderr)
        self.assertEqual(recording.manifest["still_running"], [], "others are not the command's")

    def assert_is_the_only_disk(self, recording, device):
        self.require(recording, "block")
        number = os.stat(device).st_rdev
        self.assertEqual(recording.query("SELECT DISTINCT device FROM block_queue"),
                         [{"device": os.major(number) << 20 | os.minor(number)}])

    def test_a_disk_and_the_files_on_it(self):
        device, point = self.make_disk("ext4", 64 << 20)

        def work():
            self.ours.write(point / "on disk")
            self.both_write()
        recording = self.record_while(["--device", device], work)
        self.assertEqual(self.written(recording), {"on disk": self.ALL, "on disk.child": self.ALL})
        self.assert_is_the_only_disk(recording, device)
        moved = recording.value("SELECT sum(b.bytes) FROM block_complete b JOIN files f USING (file) "
                                f"WHERE f.path LIKE '{point}/on disk%'")
        self.assertEqual(int(moved), 2 * WRITES * BLOCK_BYTES)
        journal = recording.value("SELECT count(*) FROM block_queue WHERE file = 0")
        self.assertGreater(journal, 0, "the disk's own journal belongs to no file and is recorded too")

    @harness.long
    def test_a_disk_with_the_file_of_another_disk(self):
        """A kernel thread does the I/O of a loop device: a recording of a command says what to name."""
        device, point = self.make_disk("ext4", 32 << 20)
        inner = point / "inner"
        inner.touch()
        os.truncate(inner, 8 << 20)
        upper = self.attach_loop(inner)
        write = ["dd", "if=/dev/zero", f"of={upper}", "bs=64K", "count=16", "oflag=direct"]
        recording = self.record(*write, options=["--device", device, "--layers", "block"])
        self.assertIn(f"--device {pathlib.Path(upper).name}", " ".join(recording.process.stderr.split()))
        both = self.record(*write, options=["--device", device, "--device", upper, "--layers", "block"], name="both")
        self.assertNotIn("which is not part of a recording", both.process.stderr)
        self.assertGreaterEqual(both.value("SELECT sum(bytes) FROM block_queue"), 1 << 20)
        self.assertNotIn("which is not part of a recording", self.record("true", options=["--device", upper, "--layers", "block"], name="upper").process.stderr)

    @harness.long
    def test_a_file_system_wherever_it_is_mounted(self):
        device, point = self.make_disk("ext4", 64 << 20)
        elsewhere, memory = self.folder / "elsewhere", self.folder / "memory"
        for folder, how in ((elsewhere, ("--bind", point)), (memory, ("-t", "tmpfs", "none"))):
            folder.mkdir()
            self.assertEqual(harness.run("mount", *how, folder).returncode, 0)
            self.addCleanup(harness.run, "umount", folder)

        def work():
            self.ours.write(elsewhere / "on disk")
            self.other.write(memory / "in memory")
            self.both_write()
        recording = self.record_while(["--mount", point], work)
        self.assertEqual(self.written(recording), {"on disk": self.ALL, "on disk.child": self.ALL})
        self.assert_is_the_only_disk(recording, device)
        self.assertGreater(recording.value("SELECT count(*) FROM block_queue WHERE file = 0"), 0, "its journal")
        shutil.rmtree(recording.path)
        recording = self.record_while(["--mount", memory], work)
        self.assertEqual(self.written(recording), {"in memory": self.ALL, "in memory.child": self.ALL})
        self.assertEqual(recording.value("SELECT count(*) FROM block_queue"), 0)
        shutil.rmtree(recording.path)
        tasks = ["-p", f"{self.ours.pid},{self.other.pid}"]
        recording = self.record_while([*tasks, "--exclude-mount", point], work)
        self.assertNotIn("on disk", self.written(recording))
        self.assertEqual(self.written(recording)["in memory"], self.ALL)
        self.assertEqual(recording.value(f"SELECT count(*) FROM block_queue JOIN devices USING (device) WHERE name = '{pathlib.Path(device).name}'"), 0)
        self.refused(FAILED, "--mount", self.folder, says="nothing is mounted there")

    def test_other_files_are_not_named(self):
        wanted = self.folder / "wanted"
        wanted.write_bytes(b"x" * 100)
        recording = self.record("sh", "-c", f"cat {self.folder}/../*/wanted /etc/passwd /etc/group; cp {wanted} {self.folder}/copy; "
                                "test -r /etc/passwd; stat /etc/group; readlink -f /etc/mtab; chmod 600 /etc/none; ls -l /etc/apt; ln /etc/none /etc/n; true",
                                options=["--file", wanted, "--layers", "syscall"])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        named = {row["path"] for row in recording.query("SELECT path FROM files")}
        self.assertLessEqual(named, {str(wanted), str(self.folder / "copy")}, "of a copy both sides are named")
        self.assertIn(str(wanted), named)
        self.assertEqual(recording.query("SELECT text FROM strings WHERE text LIKE '/etc%'"), [], "what calls name that are left out")
        programs = {row["exe"].rsplit("/")[-1] for row in recording.query("SELECT exe FROM processes")}
        self.assertLessEqual({"cat", "cp"}, programs)

    def test_events_by_name(self):
        recording = self.record("sh", "-c", f"echo 1 >{self.folder}/a", options=["--events", "syscall_write,app_open"])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        self.assertLessEqual(set(recording.manifest["counts"]), {"syscall_write", "app_open"})
        self.assertEqual(recording.manifest["layers"], ["syscall", "app"])
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_write"), 1)
        self.assertEqual(recording.value(f"SELECT count(*) FROM app_open JOIN strings ON string = app_open.path WHERE text LIKE '%{self.folder.name}/a'"), 1)

    def test_the_whole_machine(self):
        if not os.environ.get("IOTRAIL_VM"):
            self.skipTest("records everything on the machine: only in the test machine")
        recording = self.record_while(["--system"], self.both_write)
        self.assertEqual(self.written(recording), dict.fromkeys(["ours", "ours.child", "other", "other.child"], self.ALL))
        recorder = recording.manifest["recorder_pid"]
        self.assertEqual(recording.value(f"SELECT count(*) FROM syscall_write WHERE pid = {recorder}"), 0)

    def refused(self, status, *arguments, says):
        process = harness.run(harness.IOTRAIL, "record", "-o", self.folder / "x.iotrail", *arguments)
        self.assertEqual(process.returncode, status, process.stderr)
        self.assertIn(says, process.stderr)
        self.assertFalse((self.folder / "x.iotrail").exists())

    def test_targets_that_are_none(self):
        self.refused(USAGE, "--events", "syscall_wriet", "--", "true", says="no event 'syscall_wriet'")
        self.refused(USAGE, "--events", "files", "--", "true", says="no event 'files'")
        self.refused(USAGE, "-p", self.ours.pid, "--", "true", says="excludes")
        self.refused(USAGE, "--system", "-p", self.ours.pid, says="excludes")
        (thread,) = set(os.listdir(f"/proc/{self.ours.pid}/task")) - {str(self.ours.pid)}
        self.refused(USAGE, "-p", thread, says=f"thread of process {self.ours.pid}")
        self.refused(USAGE, "--buffer", "3", "--", "true", says="64K to 1G")
        self.refused(FAILED, "--file", self.folder / "missing", says="missing")
        self.refused(FAILED, "--file", self.folder, says="directory")
        self.refused(FAILED, "--device", "/dev/null", says="not a block device")
        self.refused(FAILED, "--device", self.folder / "missing", says="missing")
        self.refused(FAILED, "--cgroup", "no/such/group", says="no/such/group")
        self.refused(FAILED, "--layers", "app", "-p", self.ours.pid, says="only in a command")


if __name__ == "__main__":
    harness.main()
