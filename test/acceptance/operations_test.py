# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of some operations: each has all its effects, and the others have no events."""
import pathlib
import shutil
import signal
import subprocess
import sys

import harness

USAGE = 2
BLOCK_BYTES = 4096

# 20 writes, 7 reads by pread64, 5 by read, 3 fsyncs of the named file.
PROGRAM = """
import os, sys
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o644)
for block in range(20):
    os.pwrite(file, b'x' * 4096, block * 4096)
for block in range(7):
    os.pread(file, 4096, block * 4096)
os.lseek(file, 0, os.SEEK_SET)
for block in range(5):
    os.read(file, 4096)
for turn in range(3):
    os.fsync(file)
os.close(file)
"""
ALL = {"openat": 1, "pwrite64": 20, "pread64": 7, "lseek": 1, "read": 5, "fsync": 3, "close": 1}
OF_LIBRARY = {"openat": "open64", "lseek": "lseek64"}


class Operations(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"

    def run_program(self, *options, layers="app,syscall,cache,block,process", program=PROGRAM):
        shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
        recording = self.record(sys.executable, "-c", program, self.data, options=["--layers", layers, *options])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        return recording

    def calls(self, recording, layer="syscall"):
        rows = recording.query("SELECT e.call AS call, count(*) AS n FROM events e JOIN files f USING (file) "
                               f"WHERE e.layer = '{layer}' AND f.path = '{self.data}' GROUP BY e.call")
        return {row["call"]: int(row["n"]) for row in rows}

    def assert_calls(self, recording, *names):
        expected = {name: ALL[name] for name in names}
        self.assertEqual(self.calls(recording), expected)
        if "app" in recording.layers_recorded():
            self.assertEqual(self.calls(recording, "app"), {OF_LIBRARY.get(name, name): n for name, n in expected.items()})

    def count(self, recording, table):
        return recording.value(f"SELECT count(*) FROM {table} JOIN files USING (file) WHERE path = '{self.data}'")

    def test_one_call(self):
        recording = self.run_program("--operations", "pread64")
        self.assert_calls(recording, "pread64")
        self.assertEqual(recording.value("SELECT count(*) FROM events WHERE layer = 'syscall' AND call <> 'pread64'"), 0)
        self.assertEqual(recording.manifest["filters"], ["--operations pread64"])

    @harness.long
    def test_a_class_is_all_that_do_the_like(self):
        self.assert_calls(self.run_program("--operations", "read"), "pread64", "read")
        self.assert_calls(self.run_program("--operations", "call:read"), "read")
        self.assert_calls(self.run_program("--operations", "call:read,fsync"), "read", "fsync")

    @harness.long
    def test_excluded_operations(self):
        self.assert_calls(self.run_program("--exclude-operations", "write,fsync,close"), "openat", "pread64", "lseek", "read")
        self.assert_calls(self.run_program("--operations", "read", "--exclude-operations", "call:read"), "pread64")

    def test_events_below_share_the_fate_of_their_operation(self):
        recording = self.run_program("--operations", "write")
        self.assertEqual(self.count(recording, "cache_dirty"), 20)
        self.assertEqual(recording.value("SELECT count(*) FROM cache_dirty WHERE op_id NOT IN (SELECT op_id FROM syscall_write)"), 0)

    def test_written_pages_reach_the_disk_by_any_task(self):
        for operations, calls in (("write", "syscall_write"), ("fsync", "syscall_sync")):
            with self.subTest(operations):
                recording = self.run_program("--operations", operations)
                self.require(recording, "block")
                moved = recording.value(f"SELECT sum(bytes) FROM block_complete JOIN files USING (file) WHERE path = '{self.data}'")
                self.assertEqual(int(moved), 20 * BLOCK_BYTES)
                self.assertEqual(self.count(recording, calls), {"write": 20, "fsync": 3}[operations])
        self.assertEqual(self.count(self.run_program("--operations", "read"), "block_complete"), 0, "reads write nothing")

    def test_the_life_of_processes_is_there(self):
        recording = self.run_program("--operations", "pread64", program=f"import os; os.waitpid(os.posix_spawn('/bin/true', ['true'], {{}}), 0)\n{PROGRAM}")
        self.assert_calls(recording, "pread64")
        self.assertEqual(recording.value("SELECT count(*) FROM process_exec"), 2)
        self.assertEqual(recording.value("SELECT count(*) FROM process_exit"), 2)

    @harness.long
    def test_with_other_filters(self):
        other = self.folder / "other"
        program = f"{PROGRAM}\nos.pread(os.open('{other}', os.O_RDONLY), 10, 0)"
        other.write_bytes(b"x" * 100)
        self.data.touch()
        recording = self.run_program("--operations", "read", "--file", self.data, layers="syscall", program=program)
        self.assertEqual(self.calls(recording), {"pread64": 7, "read": 5})
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_read"), 12)
        recording = self.run_program("--operations", "read", "--exclude-file", self.data, layers="syscall", program=program)
        self.assertEqual(self.calls(recording), {})
        self.assertEqual(recording.value(f"SELECT count(*) FROM syscall_read JOIN files USING (file) WHERE path = '{other}'"), 1)
        recording = self.run_program("--operations", "read,write", "--min-size", "4096", "--comm", "python*", layers="syscall")
        self.assertEqual(self.calls(recording), {"pread64": 7, "read": 5, "pwrite64": 20})
        recording = self.run_program("--operations", "read", "--comm", "other", layers="syscall")
        self.assertEqual(self.calls(recording), {})

    def test_a_sample_of_them(self):
        blocks, one_of = 4096, 4
        program = f"import os, sys\nfile = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)\nfor i in range({blocks}):\n os.pwrite(file, b'x', i); os.pread(file, 1, i)"
        recording = self.run_program("--operations", "pread64", "--sample", f"1/{one_of}", layers="syscall", program=program)
        share = 1 / one_of
        calls = self.calls(recording)
        self.assertEqual(list(calls), ["pread64"])
        self.assertAlmostEqual(calls["pread64"], blocks * share, delta=6 * (blocks * share * (1 - share)) ** 0.5)

    def test_calls_of_the_library_by_their_own_names(self):
        program = f"import ctypes\nlibc = ctypes.CDLL(None)\nlibc.fopen.restype = ctypes.c_void_p\n" \
                  f"file = ctypes.c_void_p(libc.fopen(b'{self.data}', b'w'))\n" \
                  "for i in range(9): libc.fputs(b'hello', file); libc.fflush(file)\n" \
                  "libc.fclose(file)"
        recording = self.run_program("--operations", "fputs", layers="app,syscall", program=program)
        self.assertEqual(self.calls(recording, "app"), {"fputs": 9})
        self.assertEqual(recording.value("SELECT count(*) FROM events WHERE layer IN ('app', 'syscall')"), 9)
        recording = self.run_program("--operations", "fputs,call:write", layers="app,syscall", program=program)
        self.assertEqual((self.calls(recording, "app"), self.calls(recording)), ({"fputs": 9}, {"write": 9}))

    def test_the_first_call_of_a_task_that_ran_before(self):
        self.data.write_bytes(b"x" * 100)
        program = "import os, sys; file = os.open(sys.argv[1], os.O_RDONLY); print(flush=True); sys.stdin.readline(); os.pread(file, 10, 0)"
        actor = subprocess.Popen([sys.executable, "-c", program, self.data], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(actor.stdout.close)
        actor.stdout.readline()
        trace = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", trace, "-p", str(actor.pid), "--layers", "syscall", "--operations", "pread64"],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        harness.wait_until_running(trace)
        actor.communicate("\n")
        _, err = recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, err)
        recording = harness.Recording(trace, None)
        self.require(recording, "syscall")
        self.assertEqual(self.calls(recording), {"pread64": 1})

    def test_sums(self):
        trace = self.folder / "s.iotrail"
        process = harness.run(harness.IOTRAIL, "stat", "-o", trace, "--operations", "read", "--exclude-operations", "call:read", "--",
                              sys.executable, "-c", PROGRAM, self.data)
        if "not permitted" in process.stderr:
            self.skipTest("this machine does not allow the kernel source")
        self.assertEqual(process.returncode, 0, process.stderr)
        rows = harness.Recording(trace, process).query(
            "SELECT call, CAST(sum(events) AS BIGINT) AS n FROM sums WHERE layer = 'syscall' AND path = '" + str(self.data) + "' GROUP BY call")
        self.assertEqual([(row["call"], int(row["n"])) for row in rows], [("pread64", 7)])

    # 1,024 direct reads and writes by fio: which calls submit them, and which of their effects are
    # recorded.
    def submitted(self, engine, *options):
        self.require_program("fio")
        shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
        process = ["fio", "--name=j", f"--filename={self.data}", "--size=4m", "--bs=4096", f"--ioengine={engine[0]}", "--thread", "--direct=1",
                   "--iodepth=8", "--rw=randrw", "--fallocate=none", "--output-format=terse", "--terse-version=3", *engine[1:]]
        recording = self.record(*process, options=["--layers", "syscall,async,block", *options])
        self.require(recording, "async", "block")
        self.assert_adds_up(recording)
        terse = [line for line in recording.process.stdout.splitlines() if line.startswith("3;")][-1].split(";")
        done = {"read": int(terse[5]) * 1024 // BLOCK_BYTES, "write": int(terse[46]) * 1024 // BLOCK_BYTES}
        rows = recording.query("SELECT class, count(*) AS n FROM operations WHERE event = 'async_operation' GROUP BY class")
        return recording, done, {row["class"]: int(row["n"]) for row in rows}

    @harness.long
    def test_operations_of_rings(self):
        for name, engine in (("io_uring", ["io_uring"]), ("polled by the kernel", ["io_uring", "--sqthread_poll=1"]), ("libaio", ["libaio"])):
            for options, wanted in ((("--operations", "read"), "read"), (("--operations", "IORING_OP_WRITE,IOCB_CMD_PWRITE"), "write"),
                                    (("--exclude-operations", "read"), "write")):
                with self.subTest(name, options=options):
                    recording, done, found = self.submitted(engine, *options)
                    self.assertEqual(found, {wanted: done[wanted]})
                    of_file = f"JOIN files USING (file) WHERE path = '{self.data}'"
                    self.assertEqual(recording.value(f"SELECT count(DISTINCT op_id) FROM block_queue {of_file}"), done[wanted])
                    self.assertEqual(recording.value(f"SELECT count(*) FROM block_queue {of_file} AND op_id NOT IN (SELECT op_id FROM async_operation)"), 0)
                    if name == "polled by the kernel":
                        continue
                    without = recording.value("SELECT count(*) FROM async_operation WHERE parent_op NOT IN "
                                              "(SELECT op_id FROM syscall_uring_enter UNION SELECT op_id FROM syscall_aio_submit)")
                    self.assertEqual(without, 0, "operations without the call that submitted them")
                    if options[0] == "--operations":
                        others = recording.value("SELECT count(*) FROM (FROM syscall_uring_enter SELECT op_id UNION FROM syscall_aio_submit SELECT op_id) "
                                                 "WHERE op_id NOT IN (SELECT parent_op FROM async_operation)")
                        self.assertEqual(others, 0, "calls that submitted others")

    @harness.long
    def test_calls_that_submit_with_all_that_they_submit(self):
        for engine, call in ((["io_uring"], "io_uring_enter"), (["libaio"], "io_submit")):
            with self.subTest(call):
                recording, done, found = self.submitted(engine, "--operations", call)
                self.assertEqual(found, done)
                recording, done, found = self.submitted(engine, "--exclude-operations", call)
                self.assertEqual(found, {})

    def refused(self, *arguments, says):
        process = harness.run(harness.IOTRAIL, *arguments, "--", "true")
        self.assertEqual(process.returncode, USAGE, process.stderr)
        self.assertIn(says, process.stderr)

    def test_operations_that_are_none(self):
        for verb in ("record", "stat"):
            self.refused(verb, "--operations", "pread65", says="there is no operation 'pread65'")
            self.refused(verb, "--exclude-operations", "reads", says="there is no operation 'reads'")
            self.refused(verb, "--operations", "discard", says="--device")
            self.refused(verb, "--operations", "read", "--exclude-operations", "read", says="stand for nothing")
            self.refused(verb, "--operations", "pread64", "--exclude-operations", "read", says="every operation asked for is excluded")
            self.refused(verb, "--operations", "read", "--events", "syscall_write", says="no event that is recorded")
        self.refused("stat", "--operations", "fputs", says="no event that is recorded")
        self.refused("record", "--layers", "app,syscall", "--operations", "fault", says="no event that is recorded")


if __name__ == "__main__":
    harness.main()
