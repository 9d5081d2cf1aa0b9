# SPDX-License-Identifier: BSD-3-Clause
"""Traces after a kill of the recorder or the traced program, or with a full disk."""
import concurrent.futures
import contextlib
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness

WRITES_BEYOND_MEMORY = 3_000_000

# Appends lines "N" for ever and prints its progress.
ENDLESS_WRITER = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o644)
number = 0
while True:
    os.write(fd, b"%8d" % number)
    number += 1
"""

# Writes until it kills itself after a given number of writes.
SUICIDAL_WRITER = """
import os, signal, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o644)
for number in range(int(sys.argv[2])):
    os.write(fd, b"%8d" % number)
os.kill(os.getpid(), signal.SIGKILL)
"""

# Threads that read at the same time. Prints the program's number of memory mappings, and of its
# reads.
MANY_READERS = """
import os, threading
THREADS, READS = 30, 3000
together = threading.Barrier(THREADS)
def read():
    fd = os.open("/dev/zero", os.O_RDONLY)
    together.wait()
    for _ in range(READS):
        os.read(fd, 1)
    together.wait()
threads = [threading.Thread(target=read) for _ in range(THREADS)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(open("/proc/self/maps").readlines()), THREADS * READS)
"""


def threads(pid):
    """The lines of /proc/PID/task/TID/status, by name, of each thread."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            found.append(dict(line.split(":\t", 1) for line in (task / "status").read_text().splitlines() if ":\t" in line))
    return found


def states(pid):
    """As ps(1) shows them."""
    return {thread["State"][0] for thread in threads(pid)}


def is_dying(pid):
    """A signal has ended the process, but for threads that the kernel does not let go."""
    return all(thread["State"][0] in "ZX" or int(thread["SigPnd"], 16) >> signal.SIGKILL - 1 & 1 for thread in threads(pid))


def calls_that_write(pid):
    with contextlib.suppress(FileNotFoundError, ProcessLookupError):
        return int(re.search(r"^syscw: (\d+)$", pathlib.Path(f"/proc/{pid}/io").read_text(), re.M).group(1))
    return 0


class Crash(harness.AcceptanceTest):
    def test_killed_recorder_leaves_a_readable_trace(self):
        self.kill_recorders(random.Random(20261).sample(range(50, 3000), 2))

    @harness.long
    def test_recorders_killed_at_many_moments_leave_readable_traces(self):
        self.kill_recorders(random.Random(20262).sample(range(50, 3000), 50))

    def kill_recorders(self, moments):
        with concurrent.futures.ThreadPoolExecutor(2) as pool:  # each waits most of the time
            kills = [pool.submit(self.kill_recorder_after, milliseconds / 1000, number)
                     for number, milliseconds in enumerate(moments)]
        for kill, milliseconds in zip(kills, moments):
            with self.subTest(milliseconds=milliseconds):
                kill.result()

    def test_no_memory_for_rings_costs_the_program_none(self):
        """A thread without a ring asks for one at each of its calls."""
        self.require_program("unshare")
        little = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs -o size=2m none /dev/shm && exec "$@"', "sh"]
        if harness.run(*little, "true").returncode:
            self.skipTest("no tmpfs can be mounted")
        path = self.folder / "t.iotrail"
        process = harness.run(*little, harness.IOTRAIL, "record", "-q", "-o", path, "--layers", "app", "--", sys.executable, "-c", MANY_READERS)
        self.assertEqual(process.returncode, 0, process.stderr)
        pieces, reads = map(int, process.stdout.split())
        self.assertLess(pieces, 1000)
        recording = harness.Recording(path, process)
        (source,) = recording.manifest["sources"]
        self.assertGreaterEqual(source["produced"], reads)
        self.assertGreater(recording.manifest["counters"]["preload_no_ring"], 0)
        self.assert_adds_up(recording, lost=None)

    def test_removed_trace_is_said(self):
        recording = self.record("rm", "-rf", self.folder / "t.iotrail", options=("--layers", "app"))
        self.assertIn("the trace's directory was removed meanwhile", recording.process.stderr)
        self.record("rm", "-rf", self.folder / "strict.iotrail", options=("--strict", "--layers", "app"), name="strict", expect=3)

    def test_command_outlives_its_removed_trace(self):
        """What the recorder meets is no reason to leave the command, or to hide its status."""
        command = f"rm -rf {self.folder}/t.iotrail; for i in 1 2 3 4; do cat /etc/passwd >{self.folder}/out; sleep 1; done; exit 42"
        recording = self.record("sh", "-c", command, options=("--layers", "app"), expect=42)
        self.assertIn("the trace is not", " ".join(recording.process.stderr.split()))

    def kill_recorder_after(self, seconds, number):
        path = self.folder / f"{number}.iotrail"
        recorder = subprocess.Popen(
            [harness.IOTRAIL, "record", "-q", "-o", path, "--", sys.executable, "-c", ENDLESS_WRITER, self.folder / "out"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds)
        children = harness.run("pgrep", "-P", recorder.pid).stdout.split()
        recorder.kill()
        recorder.wait()
        harness.kill_all(children)
        if not (path / "manifest.json").exists():
            return  # killed before the trace existed
        recording = harness.Recording(path, None)
        self.assertEqual(recording.manifest["state"], "INCOMPLETE")
        (row,) = recording.query("SELECT count(*) AS n, min(result) AS least, max(result) AS most FROM app_write "
                                 "JOIN files USING (file) WHERE path LIKE '%/out'")
        if int(row["n"]):
            self.assertEqual((int(row["least"]), int(row["most"])), (8, 8))
        if number % 5 == 0:  # a report of millions of events takes seconds
            report = harness.run(harness.IOTRAIL, "report", "--full", path)
            self.assertEqual(report.returncode, 0, report.stderr)
            self.assertIn("INCOMPLETE", report.stdout)

    def freeze(self, point):
        frozen = harness.run("fsfreeze", "-f", point)
        if frozen.returncode:
            self.skipTest(f"no file system can be frozen: {frozen.stderr}")
        self.addCleanup(harness.run, "fsfreeze", "-u", point)

    def record_onto_frozen_disk(self, name, *options):
        """The recorder of an endless command, once the disk of its trace has taken nothing for many calls."""
        self.require_program("fsfreeze")
        _, point = self.make_disk("ext4", 64 << 20)
        path, ended = point / f"{name}.iotrail", self.folder / f"{name} ended"
        command = (f"import os, signal, sys\ndef end(*_): open({str(ended)!r}, 'w'); sys.exit(9)\nsignal.signal(signal.SIGINT, end)\n"
                   "fd = os.open('/dev/null', os.O_WRONLY)\nwhile True: os.write(fd, b'12345678')")
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-l", "app", *options, "-o", path, "--", sys.executable, "-c", command],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(path)
        writes = lambda: sum(calls_that_write(child) for child in harness.children(recorder.pid))
        harness.wait_for(writes, "the command")
        self.freeze(point)
        harness.wait_for(lambda: "D" in states(recorder.pid), "a thread that waits for the disk")
        # More than the recorder's memory holds.
        before = writes()
        harness.wait_for(lambda: writes() > before + WRITES_BEYOND_MEMORY, "enough calls")
        return recorder, point, path, ended

    def test_a_disk_that_takes_nothing_does_not_hold_signals_up(self):
        recorder, point, path, ended = self.record_onto_frozen_disk("once")
        memory = int(pathlib.Path(f"/proc/{recorder.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        self.assertLess(memory, 400 << 20)
        recorder.send_signal(signal.SIGINT)
        harness.wait_for(ended.exists, "the end of the command")
        self.assertIn("waiting for the disk of the trace", recorder.stderr.readline())
        harness.run("fsfreeze", "-u", point)
        error = recorder.communicate(timeout=harness.PATIENCE_S)[1]
        self.assertEqual(recorder.returncode, 9, error)
        recording = harness.Recording(path, None)
        self.assert_adds_up(recording, lost=None, torn=recording.manifest["counters"].get("preload_torn", 0))
        self.assertGreater(recording.manifest["counters"]["preload_ring_full"], 0)

    @harness.long
    def test_a_second_signal_does_not_wait_for_the_disk(self):
        """As far as the kernel lets a process end that waits for a disk."""
        recorder, point, path, ended = self.record_onto_frozen_disk("twice")
        recorder.send_signal(signal.SIGINT)
        harness.wait_for(ended.exists, "the end of the command")
        self.assertIn("waiting for the disk of the trace", recorder.stderr.readline())
        recorder.send_signal(signal.SIGINT)
        harness.wait_for(lambda: is_dying(recorder.pid), "the end by the signal")
        harness.run("fsfreeze", "-u", point)
        self.assertEqual(recorder.wait(timeout=harness.PATIENCE_S), -signal.SIGINT)
        self.assertEqual(harness.Recording(path, None).manifest["state"], "INCOMPLETE")

    @harness.in_both
    def test_killed_program_loses_nothing(self):
        for number in harness.first(1, (1000, 1, 50000)):
            with self.subTest(number=number):
                out = self.folder / f"out{number}"
                recording = self.record(sys.executable, "-c", SUICIDAL_WRITER, out, number, name=str(number), expect=137)
                self.assert_adds_up(recording)
                for layer in sorted(recording.layers_recorded() & {"app", "syscall", "vfs"}):
                    self.assertEqual(recording.value(
                        f"SELECT count(*) FROM {layer}_write JOIN files USING (file) WHERE path = '{out}'"), number, layer)

    def test_full_disk(self):
        if os.geteuid() != 0:
            self.skipTest("mounting a small file system needs root")
        small = self.folder / "small"
        self.make_small_disk(small, "1m")
        path = small / "t.iotrail"
        program = ("import os, random\nfd = os.open('/dev/null', os.O_WRONLY)\n"
                   "for n in range(600000): os.write(fd, b'x' * random.randrange(4000))")
        process = harness.run(harness.IOTRAIL, "record", "-o", path, "--", sys.executable, "-c", program)
        self.assertEqual(process.returncode, 0, process.stderr)
        # The line may break anywhere.
        self.assertIn("No space left on device", " ".join(process.stderr.split()))
        recording = harness.Recording(path, process)
        manifest = recording.manifest
        self.assertEqual(manifest["state"], "ERROR")
        self.assertIn("No space left on device", manifest["stop_reason"])
        for source in manifest["sources"]:
            self.assertEqual(source["produced"], source["written"] + source["lost"], source)
        # It is undefined which source first reaches the end of such a small disk: any may have no
        # row.
        self.assert_has_what_was_written(recording)
        self.assertGreater(recording.value("SELECT sum(row_count) AS n FROM tables WHERE layer <> 'dictionary'"), 0)

    @harness.long
    def test_file_size_limit(self):
        """`ulimit -f` also limits the recorder's own files: iotrail reports it, and the command
        continues."""
        if shutil.which("prlimit") is None:
            self.skipTest("prlimit is not installed")
        path, out = self.folder / "t.iotrail", self.folder / "out"
        program = ("import os, random, sys\nfd = os.open('/dev/null', os.O_WRONLY)\n"
                   "for n in range(300000): os.write(fd, b'x' * random.randrange(4000))\n"
                   "open(sys.argv[1], 'w').write('done')")
        limited = ["prlimit", "--fsize=200000", harness.IOTRAIL, "record", "-o", path]
        process = harness.run(*limited, "-l", "app", "--", sys.executable, "-c", program, out)
        # Without the kernel's layers there is nothing to record.
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("ulimit -f", process.stderr)
        process = harness.run(*limited, "--", sys.executable, "-c", program, out)
        self.assertIn("ulimit -f", process.stderr)
        if "nothing" in process.stderr or not path.exists():
            self.skipTest("this machine allows no layer of the kernel")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(out.read_text(), "done")
        manifest = harness.Recording(path, process).manifest
        self.assertEqual(manifest["state"], "ERROR")
        self.assertIn("ulimit -f", manifest["stop_reason"])
        for source in manifest["sources"]:
            self.assertEqual(source["produced"], source["written"] + source["lost"], source)
        self.assertIn("EVENTS LOST", harness.run(harness.IOTRAIL, "report", "--full", path).stdout)
        # A low limit excludes even files in memory, such as the kernel's types for the programs.
        process = harness.run("prlimit", "--fsize=60000", harness.IOTRAIL, "record", "-l", "syscall", "-o", self.folder / "short", "--", "true")
        self.assertEqual(process.returncode, 1, process.stderr)
        self.assertIn("ulimit -f", process.stderr)
        # The command keeps its own limit: it dies of it as without a recorder.
        writer = f"import signal; signal.signal(signal.SIGXFSZ, signal.SIG_DFL); open('{out}', 'wb').write(bytes(300000))"
        for limit in ([], [harness.IOTRAIL, "record", "-q", "-o", self.folder / "own.iotrail", "--"]):
            process = harness.run("prlimit", "--fsize=200000", *limit, "sh", "-c", f'{sys.executable} -c "{writer}"; test $? = 153')
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_limit_on_open_files(self):
        """`ulimit -n` too low for the kernel's layers: the message says so, and the command keeps
        its own limit."""
        if shutil.which("prlimit") is None:
            self.skipTest("prlimit is not installed")
        record = [harness.IOTRAIL, "record", "-q", "-l", "syscall,vfs,block", "-o"]
        for most in (20, 64):
            process = harness.run("prlimit", f"--nofile={most}:{most}", *record, self.folder / f"{most}", "--", "true")
            if "not permitted" in process.stderr:
                self.skipTest("this machine allows no layer of the kernel")
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertIn(f"`ulimit -n` allows {most}", " ".join(process.stderr.split()))
        # The recorder raises its own limit if it may.
        process = harness.run("prlimit", "--nofile=100:5000", *record, self.folder / "raised", "--", "sh", "-c", "ulimit -n")
        self.assertEqual((process.returncode, process.stdout), (0, "100\n"), process.stderr)

    def test_killed_recorder_leaves_no_memory_behind(self):
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-l", "app", "-o", path, "--", "sleep", "100"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        harness.wait_until_running(path)
        places = lambda: [place for folder in ("/dev/shm", tempfile.gettempdir())
                          for place in pathlib.Path(folder).glob(f"iotrail-arena-{recorder.pid}-*")]
        self.assertTrue(places())
        sleeper = harness.run("pgrep", "-P", recorder.pid, "-x", "sleep").stdout.split()
        recorder.kill()
        recorder.wait()
        harness.wait_for(lambda: not places(), "the end of the memory")
        harness.kill_all(sleeper)

    def interrupt(self, number, is_repeated=False):
        """The recording of an endless command, which survives the first of two signals."""
        path, ready, signalled = (self.folder / name for name in (f"{number}.iotrail", "ready", "signalled"))
        ready.unlink(missing_ok=True)
        trap = f"trap 'touch {signalled}' INT TERM;" if is_repeated else ""
        recorder = subprocess.Popen(
            [harness.IOTRAIL, "record", "-o", path, "--", "sh", "-c", f"{trap} touch {ready}; while :; do echo x; done"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        harness.wait_for(ready.exists, "the command")
        children = harness.run("pgrep", "-P", recorder.pid).stdout.split()
        recorder.send_signal(number)
        if is_repeated:
            harness.wait_for(signalled.exists, "the signal at the command")
            time.sleep(0.2)  # at least 0.1: sooner, it is the same signal
            recorder.send_signal(number)
        recorder.wait(timeout=harness.PATIENCE_S)
        # The command outlives the recorder, and holds its standard error.
        harness.kill_all(children)
        error = recorder.communicate()[1]
        return harness.Recording(path, None), recorder.returncode, error

    def test_first_interrupt_ends_cleanly(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            recording, status, error = self.interrupt(number)
            self.assertEqual(status, 128 + number, error)
            # The signal may end the command while it writes a record.
            self.assert_adds_up(recording, torn=recording.manifest["counters"].get("preload_torn", 0))
            self.assertIn("interrupted", recording.manifest["stop_reason"])

    def test_interrupted_command_is_recorded_to_its_end(self):
        """A database that gets SIGTERM writes a last checkpoint. The trace has it, however long it
        takes."""
        path, last = self.folder / "t.iotrail", self.folder / "last"
        recorder = subprocess.Popen(
            [harness.IOTRAIL, "record", "-o", path, "--", "bash", "-c",
             f"trap 'sleep 4; echo checkpoint >{last}; exit 5' TERM; echo ready; while true; do sleep 0.1; done"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        recorder.terminate()
        recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 5)
        recording = harness.Recording(path, None)
        self.assert_adds_up(recording)
        self.assertEqual(int(recording.value(f"SELECT sum(bytes) FROM operations WHERE layer = 'app' AND path = '{last}'")), 11)

    def test_a_recorder_that_is_halted_while_it_loads_records_all(self):
        """A signal interrupts the kernel's check of a program, which says nothing about the
        program."""
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", path, "--", "sh", "-c", "/bin/true; /bin/echo; /bin/true; true"],
                                    stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for turn in range(60):
            if recorder.poll() is not None:
                break
            recorder.send_signal(signal.SIGSTOP)
            time.sleep(0.01)
            recorder.send_signal(signal.SIGCONT)
            time.sleep(0.002 * (turn % 4))
        error = recorder.communicate(timeout=harness.PATIENCE_S)[1]
        self.assertEqual(recorder.returncode, 0, error)
        recording = harness.Recording(path, None)
        self.assertEqual([hook for hook in recording.manifest["hooks"] if "EAGAIN" in hook["reason"]], [])
        self.require(recording, "process")
        self.assert_adds_up(recording)
        self.assertEqual(int(recording.value("SELECT count(*) FROM process_exit")), 4)

    def test_second_interrupt_ends_at_once(self):
        recording, status, error = self.interrupt(signal.SIGINT, is_repeated=True)
        self.assertEqual(status, 128 + signal.SIGINT, error)
        # The recording may end while the command writes a record.
        self.assert_adds_up(recording, torn=recording.manifest["counters"].get("preload_torn", 0))
        self.assertIn("the command still runs", recording.manifest["stop_reason"])

    def interrupt_until_it_has_ended(self, *arguments):
        """Returns its messages. An impatient user presses Ctrl-C more than once."""
        environment = dict(os.environ, TMPDIR=str(self.folder))
        process = subprocess.Popen([harness.IOTRAIL, *arguments, "--", "sh", "-c", "trap '' INT; echo ready; sleep 0.5"], env=environment,
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "ready\n")
        while process.poll() is None:
            process.send_signal(signal.SIGINT)
            time.sleep(0.005)
        return process.communicate()[1]

    @harness.long
    def test_interrupts_without_end_lose_neither_the_summary_nor_a_directory(self):
        path = self.folder / "t.iotrail"
        self.assertIn("  next      iotrail report", self.interrupt_until_it_has_ended("record", "-o", path, "--layers", "syscall,process"))
        self.assert_adds_up(harness.Recording(path, None))
        said = self.interrupt_until_it_has_ended("stat", "--layers", "syscall")
        if "the kernel's layers cannot be recorded" not in said:
            self.assertIn("Operations, by total time", said)
        self.assertEqual([place.name for place in self.folder.iterdir()], ["t.iotrail"])


if __name__ == "__main__":
    harness.main()
