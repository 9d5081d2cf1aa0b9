# SPDX-License-Identifier: BSD-3-Clause
"""Selection of recorded tasks and files: by name, user and number of tasks, by directory, by
exclusion, and by chance.
Each test knows how many writes match its selection. The trace must have all of them and no
others."""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys

import harness

FAILED, USAGE = 1, 2
NOBODY = 65534
BLOCK_BYTES = 4096
# Runs the steps "write NAME COUNT", "name COMM", "user UID", "thread NAME COUNT COMM", "child NAME
# COUNT" in order, in the test's directory.
ACTOR = f"""
import ctypes, os, sys, threading
PR_SET_NAME = 15
def call_itself(name):
    ctypes.CDLL(None).prctl(PR_SET_NAME, name.encode(), 0, 0, 0)
def write(name, count):
    file = os.open(name, os.O_WRONLY | os.O_CREAT, 0o666)
    for block in range(int(count)):
        os.pwrite(file, b'x' * {BLOCK_BYTES}, block * {BLOCK_BYTES})
    os.close(file)
def in_thread(name, count, comm):
    def work():
        call_itself(comm)
        write(name, count)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
def in_child(name, count):
    child = os.fork()
    if child == 0:
        write(name, count)
        os._exit(0)
    os.waitpid(child, 0)
STEPS = {{'write': write, 'name': call_itself, 'user': lambda uid: os.setuid(int(uid)), 'thread': in_thread, 'child': in_child}}
os.chdir(sys.argv[1])
for step in sys.argv[2:]:
    word, *arguments = step.split()
    STEPS[word](*arguments)
"""

# Reads 50 blocks by libaio: one thread submits, another one reaps.
REAPER = """
import ctypes, mmap, os, sys, threading
libc = ctypes.CDLL(None, use_errno=True)
SETUP, GETEVENTS, SUBMIT = 206, 208, 209
class Iocb(ctypes.Structure):
    _fields_ = [('data', ctypes.c_uint64), ('key', ctypes.c_uint32), ('rw', ctypes.c_uint32), ('opcode', ctypes.c_uint16),
                ('priority', ctypes.c_int16), ('fd', ctypes.c_uint32), ('buffer', ctypes.c_uint64), ('bytes', ctypes.c_uint64),
                ('offset', ctypes.c_int64), ('reserved', ctypes.c_uint64), ('flags', ctypes.c_uint32), ('eventfd', ctypes.c_uint32)]
context = ctypes.c_ulong(0)
assert libc.syscall(SETUP, 64, ctypes.byref(context)) == 0
file = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
memory = mmap.mmap(-1, 4096)
address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
submitted, reaped = threading.Semaphore(0), threading.Semaphore(0)
def call_itself(name):
    libc.prctl(15, name.encode(), 0, 0, 0)
def submit():
    call_itself('submitter')
    for block in range(50):
        iocb = Iocb(fd=file, buffer=address, bytes=4096, offset=block * 4096)
        assert libc.syscall(SUBMIT, context, 1, ctypes.byref(ctypes.pointer(iocb))) == 1
        submitted.release()
        reaped.acquire()
def reap():
    call_itself('reaper')
    events = (ctypes.c_uint64 * 4)()
    for block in range(50):
        submitted.acquire()
        assert libc.syscall(GETEVENTS, context, 1, 1, ctypes.byref(events), None) == 1
        reaped.release()
threads = [threading.Thread(target=work) for work in (submit, reap)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


class Choices(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.place = self.folder / "place"
        self.place.mkdir()
        self.place.chmod(0o777)

    def act(self, options, *steps, layers="syscall,vfs,cache,process"):
        recording = self.record(sys.executable, "-c", ACTOR, self.place, *steps, options=["--layers", layers, *options])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        return recording

    def forget(self):
        shutil.rmtree(self.folder / "t.iotrail")

    def writes(self, recording, table="syscall_write"):
        """Number of writes for each file of this test."""
        rows = recording.query(f"SELECT path, count(*) AS writes FROM {table} JOIN files USING (file) "
                               f"WHERE path LIKE '{self.place}/%' GROUP BY path")
        return {str(pathlib.Path(row["path"]).relative_to(self.place)): int(row["writes"]) for row in rows}

    def assert_writes(self, recording, expected):
        self.assertEqual(self.writes(recording), expected)
        if "vfs" in recording.layers_recorded():
            self.assertEqual(recording.value("SELECT count(*) FROM vfs_write JOIN files USING (file) "
                                             f"WHERE path LIKE '{self.place}/%'"), sum(expected.values()))
        if "cache" in recording.layers_recorded():
            self.assertLessEqual(set(self.writes(recording, "cache_dirty")), set(expected))

    @harness.long
    def test_a_name_that_is_taken_and_given_up(self):
        steps = ("write before 5", "name wanted", "write during 7", "child child 3", "name other", "write after 11")
        self.assert_writes(self.act(["--comm", "wanted"], *steps), {"during": 7, "child": 3})
        self.forget()
        self.assert_writes(self.act(["--exclude-comm", "wanted"], *steps), {"before": 5, "after": 11})

    @harness.long
    def test_beginnings_of_names(self):
        steps = ("name pool-17", "write a 5", "name poolside", "write b 7", "name pond", "write c 11")
        self.assert_writes(self.act(["--comm", "pool*"], *steps), {"a": 5, "b": 7})
        self.forget()
        self.assert_writes(self.act(["--comm", "pool*", "--exclude-comm", "pool-17"], *steps), {"b": 7})
        self.forget()
        self.assert_writes(self.act(["--comm", "po*", "--exclude-comm", "pool*", "--comm", "pool-17"], *steps), {"a": 5, "c": 11})

    def test_names_of_threads(self):
        steps = ("write main 5", "thread one 7 worker-1", "thread two 11 worker-2")
        self.assert_writes(self.act(["--comm", "worker-2"], *steps), {"two": 11})

    def test_a_name_among_programs(self):
        self.require_program("dd", "cp")
        source, copy = self.place / "source", self.place / "copy"
        recording = self.record("sh", "-c", f"dd if=/dev/zero of={source} bs=4096 count=9 2>/dev/null; cp {source} {copy}; echo x >{copy}.x",
                                options=["--comm", "dd", "--layers", "syscall,process"])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        self.assert_writes(recording, {"source": 9})
        self.assertEqual(recording.query("SELECT DISTINCT exe LIKE '%/dd' AS is_dd FROM process_exec JOIN processes USING (pid) "
                                         "WHERE exe LIKE '%/dd'"), [{"is_dd": True}])
        self.assertEqual(recording.value("SELECT count(*) FROM process_exec"), 1)
        self.assertEqual(recording.value("SELECT count(*) FROM process_exit"), 1)
        self.assertEqual(recording.manifest["filters"], ["--comm dd"])

    @harness.long
    def test_a_user(self):
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        steps = ("write root 5", f"user {NOBODY}", "write nobody 7", "child child 3")
        for option in ("nobody", NOBODY):
            self.assert_writes(self.act(["--uid", option], *steps), {"nobody": 7, "child": 3})
            self.forget()
        self.assert_writes(self.act(["--exclude-uid", NOBODY], *steps), {"root": 5})
        self.forget()
        self.assert_writes(self.act(["--uid", NOBODY, "--comm", "none"], *steps), {})

    def test_directories(self):
        for name in ("data/sub/deep", "data2"):
            (self.place / name).mkdir(parents=True)
        steps = [f"write {name} {count}" for name, count in
                 (("data/a", 2), ("data/sub/b", 3), ("data/sub/deep/c", 5), ("data2/d", 7), ("e", 11))]
        data, sub = self.place / "data", self.place / "data/sub"
        below = {"data/a": 2, "data/sub/b": 3, "data/sub/deep/c": 5}
        self.assert_writes(self.act(["--dir", data], *steps), below)
        self.forget()
        self.assert_writes(self.act(["--dir", data, "--exclude-dir", sub], *steps), {"data/a": 2})
        self.forget()
        self.assert_writes(self.act(["--dir", data, "--exclude-dir", sub, "--dir", sub / "deep"], *steps),
                           {"data/a": 2, "data/sub/deep/c": 5})
        self.forget()
        self.assert_writes(self.act(["--dir", data, "--file", self.place / "e"], *steps), below | {"e": 11})
        self.forget()
        self.assert_writes(self.act(["--exclude-dir", data, "--exclude-file", self.place / "e"], *steps), {"data2/d": 7})

    @harness.long
    def test_a_directory_with_a_disk_mounted_below(self):
        _, point = self.make_disk("ext4", 64 << 20)
        bound = self.place / "bound"
        bound.mkdir()
        self.assertEqual(harness.run("mount", "--bind", point, bound).returncode, 0)
        self.addCleanup(harness.run, "umount", bound)
        recording = self.act(["--dir", self.place], "write bound/a 5", "write b 7", "write ../c 9")
        self.assert_writes(recording, {"bound/a": 5, "b": 7})
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_write"), 12)
        recording = self.record("sh", "-c", f"mkdir {self.place}/new; mount -t tmpfs none {self.place}/new; echo 1 >{self.place}/new/late; "
                                f"umount {self.place}/new", options=["--dir", self.place, "--layers", "syscall"], name="late")
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_write JOIN files USING (file) WHERE path LIKE '%/new/late'"), 1,
                         "a mount that is made during the recording")

    @harness.long
    def test_a_mount_below_one_directory_and_of_another(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to mount")
        sub = self.place / "sub"
        (sub / "deep").mkdir(parents=True)
        if harness.run("mount", "-t", "tmpfs", "none", sub).returncode:
            self.skipTest("no tmpfs can be mounted")
        self.addCleanup(harness.run, "umount", sub)
        (sub / "deep").mkdir()
        steps = ("write a 5", "write sub/b 7", "write sub/deep/c 9")
        self.assert_writes(self.act(["--exclude-dir", self.place, "--dir", sub], *steps), {"sub/b": 7, "sub/deep/c": 9})
        self.forget()
        self.assert_writes(self.act(["--exclude-dir", sub, "--dir", self.place], *steps), {"a": 5})
        self.forget()
        self.assert_writes(self.act(["--dir", "/", "--exclude-dir", sub / "deep"], *steps), {"a": 5, "sub/b": 7})

    @harness.long
    def test_a_file_far_below_a_directory(self):
        deep = pathlib.Path(*["d"] * 100)
        (self.place / deep).mkdir(parents=True)
        for option, writes in (("--dir", 5), ("--exclude-dir", 0)):
            recording = self.act([option, self.place], f"write {deep}/a 5")
            self.assertEqual(recording.value("SELECT count(*) FROM syscall_write"), writes, option)
            self.forget()

    def test_other_layers_and_events(self):
        recording = self.act(["--exclude-layers", "sched,cache", "--exclude-events", "syscall_close"], "write a 5")
        self.assertEqual(self.writes(recording), {"a": 5})
        self.assertTrue({"sched", "cache"}.isdisjoint(recording.manifest["layers"]))
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_close"), 0)
        self.assertGreater(recording.value("SELECT count(*) FROM syscall_open"), 0)
        self.assertNotIn("syscall_close", {hook["event"] for hook in recording.manifest["hooks"]})

    def running(self, *steps):
        """A process that starts the steps when it reads a line."""
        actor = subprocess.Popen([sys.executable, "-c", "import sys; print('ready', flush=True); sys.stdin.readline()\n" + ACTOR, self.place, *steps],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        actor.stdout.readline()
        self.addCleanup(actor.stdout.close)
        return actor

    def record_running(self, options, *actors):
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "--layers", "syscall,process", "-o", path, *map(str, options)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        harness.wait_until_running(path)
        for actor in actors:
            actor.communicate("\n")
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, err)
        recording = harness.Recording(path, None)
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        return recording

    def test_whoever_has_a_name(self):
        name = f"iot-{os.getpid()}"
        actors = [self.running("write a 5", f"name {name}", "write b 7"), self.running("write c 9")]
        self.assertEqual(self.writes(self.record_running(["--comm", name], *actors)), {"b": 7})

    def test_a_thread_that_runs(self):
        actor = self.running("write main 5", "thread other 7 worker")
        self.assertEqual(self.writes(self.record_running(["--tid", actor.pid], actor)), {"main": 5})

    def test_the_children_of_an_excluded_process(self):
        actor = self.running("write main 5", "child child 7")
        self.assertEqual(self.writes(self.record_running(["-p", actor.pid, "--exclude-pid", actor.pid], actor)), {"child": 7})

    @harness.long
    def test_pages_that_others_flush(self):
        _, point = self.make_disk("ext4", 64 << 20)
        target = point / "target"
        self.place = point
        target.touch()
        program = f"{ACTOR}\nfile = os.open('target', os.O_RDWR); call_itself('flusher'); os.fsync(file)"
        recording = self.record(sys.executable, "-c", program, point, "name writer", "write target 16",
                                options=["--comm", "writer", "--layers", "syscall,vfs,cache,fs,block"])
        self.require(recording, "syscall", "block")
        self.assert_adds_up(recording)
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_sync"), 0, "the flusher is left out")
        moved = recording.value("SELECT sum(b.bytes) FROM block_complete b JOIN files f USING (file) WHERE f.path LIKE '%/target'")
        self.assertEqual(int(moved), 16 * BLOCK_BYTES, "what was written reached the disk all the same")
        charged = recording.value("SELECT sum(bytes) FROM links WHERE op_id IN (SELECT op_id FROM syscall_write)")
        self.assertEqual(int(charged), 16 * BLOCK_BYTES)

    def sampled(self, one_of, engine, *options, calls="async_operation", layers="syscall,async,cache,block"):
        """Reads or writes 4,096 blocks by fio. Returns how many of them a sample has."""
        self.require_program("fio")
        blocks = 4096
        with open(self.place / "data", "wb") as file:
            file.write(b"x" * blocks * BLOCK_BYTES)
            os.fsync(file.fileno())
        recording = self.record("fio", "--name=j", f"--filename={self.place}/data", f"--size={blocks * BLOCK_BYTES}", f"--bs={BLOCK_BYTES}",
                                f"--ioengine={engine}", "--thread", "--fallocate=none", "--output-format=terse", *options,
                                options=["--sample", f"1/{one_of}", "--layers", layers])
        self.require(recording, *layers.split(","))
        self.assert_adds_up(recording)
        recorded = recording.value(f"SELECT count(*) FROM {calls} JOIN files USING (file) WHERE path LIKE '%/data'")
        # Six standard deviations: chance alone exceeds them once in 500 million runs.
        share = 1 / one_of
        allowed = 6 * (blocks * share * (1 - share)) ** 0.5
        self.assertAlmostEqual(recorded, blocks * share, delta=allowed)
        return recording

    def charged_to_no_operation(self, recording, tables, calls):
        """Events on the file that belong to no recorded operation."""
        return {table: recording.value(f"SELECT count(*) FROM {table} JOIN files USING (file) WHERE path LIKE '%/data' "
                                       f"AND op_id NOT IN (SELECT op_id FROM {calls})") for table in tables}

    def test_a_sample_estimates_all_calls(self):
        calls, one_of = 20_000, 10
        data = self.place / "data"
        data.write_bytes(b"x" * BLOCK_BYTES)
        program = f"import os\nfile = os.open('{data}', os.O_RDONLY)\nfor turn in range({calls}): os.pread(file, {BLOCK_BYTES}, 0)"
        command = ["--sample", f"1/{one_of}", "--layers", "syscall", "--", sys.executable, "-S", "-c", program]
        recording = self.record(*command[5:], options=command[:4])
        self.require(recording, "syscall")
        recorded = recording.value("SELECT count(*) FROM syscall_read JOIN files USING (file) WHERE path LIKE '%/data'")
        self.assertEqual(recording.value("SELECT bytes_read FROM top_files WHERE path LIKE '%/data'"), recorded * BLOCK_BYTES, "rows are as recorded")
        # Five standard deviations of the number of recorded calls, with ten calls for each.
        allowed = 5 * one_of * (calls * (1 / one_of) * (1 - 1 / one_of)) ** 0.5
        report = harness.run(harness.IOTRAIL, "report", "--by", "file", recording.path).stdout
        stat = harness.run(harness.IOTRAIL, "stat", "--by", "file", *command).stderr
        for text in (report, stat):
            self.assertIn(f"A SAMPLE: of {one_of} calls one was recorded", text)
            line = next(line for line in text.splitlines() if line.endswith("/data"))
            estimate = int(re.search(r"~([\d,]+)(?= )(?!\.)", line)[1].replace(",", ""))
            self.assertAlmostEqual(estimate, calls, delta=allowed, msg=line)
            mebibytes = float(re.search(r"~([\d.]+) MiB", line)[1])
            self.assertAlmostEqual(mebibytes, calls * BLOCK_BYTES / 2**20, delta=allowed * BLOCK_BYTES / 2**20 + 1, msg=line)
        events = recording.manifest["counts"]
        in_all = sum(number for name, number in events.items() if name.startswith("syscall_"))
        self.assertRegex(recording.process.stderr, rf"syscall +{in_all:,} +~{in_all * one_of:,}\n")

    def test_a_sample_of_calls(self):
        recording = self.sampled(8, "psync", "--rw=randwrite", "--end_fsync=1", calls="syscall_write")
        self.assertEqual(self.charged_to_no_operation(recording, ["cache_dirty"], "syscall_write"), {"cache_dirty": 0})
        self.assertEqual(recording.manifest["sample_of"], 8)
        self.assertIn("A SAMPLE: of 8 calls one was recorded", harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout)

    @harness.long
    def test_a_sample_of_direct_calls_has_all_their_requests(self):
        recording = self.sampled(4, "psync", "--rw=randread", "--direct=1", calls="syscall_read")
        self.assert_each_has_its_bio(recording, "syscall_read")

    def assert_each_has_its_bio(self, recording, calls):
        self.assertEqual(self.charged_to_no_operation(recording, ["block_queue"], calls), {"block_queue": 0})
        without = recording.value(f"SELECT count(*) FROM {calls} JOIN files USING (file) WHERE path LIKE '%/data' "
                                  "AND op_id NOT IN (SELECT op_id FROM block_queue)")
        self.assertEqual(without, 0, "operations without recorded bios")

    @harness.long
    def test_a_sample_of_asynchronous_operations(self):
        for name, engine in (("uring", ["io_uring"]), ("polled by the kernel", ["io_uring", "--sqthread_poll=1"]), ("libaio", ["libaio"])):
            with self.subTest(name):
                shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
                recording = self.sampled(4, *engine, "--rw=randread", "--direct=1", "--iodepth=8")
                self.assert_each_has_its_bio(recording, "async_operation")
                self.assertEqual(recording.value("SELECT count(*) FROM async_operation WHERE result = -4095"), 0)

    @harness.long
    def test_a_sample_of_calls_that_write_through(self):
        recording = self.sampled(8, "psync", "--rw=randwrite", "--sync=dsync", calls="syscall_write")
        self.assertEqual(self.charged_to_no_operation(recording, ["cache_dirty"], "syscall_write"), {"cache_dirty": 0})
        self.assert_each_has_its_bio(recording, "syscall_write")

    @harness.long
    def test_a_sample_of_forks(self):
        forks = 400
        recording = self.record("sh", "-c", f"for i in $(seq {forks}); do (:); done", options=["--sample", "1/4", "--layers", "process"])
        self.require(recording, "process")
        self.assert_adds_up(recording)
        for event in ("process_fork", "process_exit"):
            self.assertAlmostEqual(recording.value(f"SELECT count(*) FROM {event}"), forks / 4, delta=6 * (forks * 3 / 16) ** 0.5)

    @harness.long
    def test_operations_that_another_thread_reaps(self):
        program = self.folder / "reaps.py"
        program.write_text(REAPER)
        data = self.place / "data"
        data.write_bytes(b"x" * 50 * BLOCK_BYTES)
        for options in (["--comm", "submitter"], ["--exclude-comm", "reaper"]):
            shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
            recording = self.record(sys.executable, program, data, options=["--layers", "syscall,async", *options])
            self.require(recording, "async")
            self.assert_adds_up(recording)
            self.assertEqual(recording.query("SELECT count(*) AS n, sum(bytes) AS bytes, min(result) AS result FROM async_operation"),
                             [{"n": 50, "bytes": 50 * BLOCK_BYTES, "result": BLOCK_BYTES}])
            self.assertEqual(recording.value("SELECT count(*) FROM syscall_aio_getevents"), 0, "who reaps is left out")

    def refused(self, status, *arguments, says):
        process = harness.run(harness.IOTRAIL, "record", "-o", self.folder / "x.iotrail", *arguments)
        self.assertEqual(process.returncode, status, process.stderr)
        self.assertIn(says, process.stderr)
        self.assertFalse((self.folder / "x.iotrail").exists())

    @harness.long
    def test_choices_that_are_none(self):
        file = self.place / "file"
        file.touch()
        self.refused(FAILED, "--uid", "no-such-user", "--", "true", says="no such user")
        self.refused(FAILED, "--tid", "99999999", says="no such thread")
        self.refused(USAGE, "--tid", os.getpid(), "--", "true", says="excludes")
        self.refused(USAGE, "--exclude-comm", "sh", says="nothing to record")
        self.refused(USAGE, "--exclude-layers", "sycall", "--", "true", says="no layer 'sycall'")
        self.refused(USAGE, "--exclude-events", "files", "--", "true", says="no event 'files'")
        self.refused(USAGE, "--layers", "fault", "--exclude-layers", "fault", "--", "true", says="nothing to record")
        self.refused(USAGE, "--comm", "sh", "--exclude-comm", "sh", "--", "true", says="stand for nothing")
        self.refused(USAGE, "--file", file, "--exclude-file", file, "--", "true", says="stand for nothing")
        self.refused(USAGE, "--comm", "", "--", "true", says="is empty")
        self.refused(USAGE, "--exclude-comm", "*", "--", "true", says="every task")
        self.refused(USAGE, "--sample", "", "--", "true", says="--sample")
        self.refused(FAILED, *[f"--comm=n{number}" for number in range(2000)], "--", "true", says="room for 1024")
        actor = self.running("thread a 1 b")
        self.refused(USAGE, "-p", os.getppid(), "--tid", actor.pid, says="does not name")
        actor.communicate("\n")
        self.refused(USAGE, "--sample", "1/1", "--", "true", says="from 2 to")
        self.refused(USAGE, "--sample", "2/3", "--", "true", says="2/3")
        self.refused(FAILED, "--layers", "app", "--sample", "1/4", "--", "true", says="a sample")
        self.refused(FAILED, "--comm", "longer-than-the-kernel-keeps", "--", "true", says="15 bytes")
        self.refused(FAILED, "--dir", file, "--", "true", says="--file")
        self.refused(FAILED, "--dir", self.place / "missing", "--", "true", says="missing")
        self.refused(FAILED, "--file", self.place, "--", "true", says="--dir")
        self.refused(FAILED, "--exclude-device", "/dev/null", "--", "true", says="not a block device")
        self.refused(FAILED, "--exclude-pid", "99999999", "--", "true", says="no such process")
        self.refused(FAILED, "--exclude-cgroup", "no/such/group", "--", "true", says="no/such/group")

    @harness.long
    def test_choices_that_would_record_nothing(self):
        file, inner, other = self.place / "file", self.place / "inner", self.place / "other"
        for folder in (inner, other):
            folder.mkdir()
        file.touch()
        os.link(file, self.place / "link")
        self.refused(USAGE, "--file", file, "--exclude-file", self.place / "link", "--", "true", says="they are the same")
        self.refused(USAGE, "--dir", inner, "--exclude-dir", f"{inner}/../inner", "--", "true", says="they are the same")
        self.refused(USAGE, "--mount", "/proc", "--exclude-mount", "/proc/../proc", "--", "true", says="they are the same")
        self.refused(USAGE, "--file", file, "--mount", "/proc", "--", "true", says="lies elsewhere")
        self.refused(USAGE, "--dir", inner, "--mount", "/proc", "--", "true", says="lies elsewhere")
        self.refused(USAGE, "--file", "/proc/cpuinfo", "--exclude-mount", "/proc", "--", "true", says="lies on what is excluded")
        self.refused(USAGE, "--file", file, "--events", "syscall_unlink,syscall_rename", "--", "true", says="the file of such an event is unknown")
        self.refused(USAGE, "--events", "syscall_open,syscall_close", "--min-size", "4K", "--", "true", says="moves bytes")
        self.refused(USAGE, "--operations", "open,fsync", "--min-size", "4K", "--", "true", says="moves bytes")
        steps = [f"write {name} {count}" for name, count in (("inner/a", 2), ("other/b", 3), ("file", 5))]
        # Combinations that look like a conflict and are none.
        self.assert_writes(self.act(["--file", file, "--exclude-dir", self.place], *steps), {"file": 5})
        self.forget()
        self.assert_writes(self.act(["--dir", inner, "--exclude-dir", self.place], *steps), {"inner/a": 2})
        self.forget()
        self.assert_writes(self.act(["--dir", "/", "--mount", self.mount_of(inner)], *steps), {"inner/a": 2, "other/b": 3, "file": 5})
        self.forget()
        recording = self.act(["--events", "syscall_open,cache_dirty", "--min-size", "4K"], "write new 5", layers="syscall,cache")
        self.assertEqual(self.writes(recording, "cache_dirty"), {"new": 5} if "cache" in recording.layers_recorded() else {})

    def mount_of(self, path):
        while not os.path.ismount(path):
            path = path.parent
        return path


if __name__ == "__main__":
    harness.main()
