# SPDX-License-Identifier: BSD-3-Clause
"""For the acceptance tests: runs iotrail as a user does, and reads its traces.
IOTRAIL names the program under test. Tests make their files below the build directory: it lies
on a real disk, where O_DIRECT and block I/O exist."""
import contextlib
import ctypes
import faulthandler
import hashlib
import json
import mmap
import os
import pathlib
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import unittest

os.environ.pop("COLUMNS", None) # the width of output in pipes
IOTRAIL = os.environ["IOTRAIL"]
SCRATCH = pathlib.Path(os.environ.get("IOTRAIL_SCRATCH", "."))


# Events that a machine's kernel does not report can only be counted: docs/adr/0007.
UNREPORTED = {"kernel_completion_missed", "kernel_wait_end_missed", "kernel_connection_missed"}


# A shell starts a program in the background so that it ignores Ctrl-C, and its children do too.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)

# The limit for a test that hangs. None needs a tenth of it on a quiet machine.
PATIENCE_S = int(os.environ.get("IOTRAIL_PATIENCE_S", 300))
# A suite that hangs says where, before ctest kills it.
faulthandler.dump_traceback_later(float(os.environ.get("IOTRAIL_SUITE_LIMIT_S", 3600)) - 10, exit=True)


def run(*command, **options):
    """The finished process. Its output is text; its status never raises an exception."""
    options.setdefault("timeout", PATIENCE_S)
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False,
                          errors="replace", stdin=options.pop("stdin", subprocess.DEVNULL), **options)


def wait_for(look, what):
    """What `look` finds, once it finds something."""
    end = time.monotonic() + PATIENCE_S
    while not (found := look()):
        if time.monotonic() > end:
            raise AssertionError(f"not there after {PATIENCE_S} s: {what}")
        time.sleep(0.02)
    return found


def wait_until_running(trace):
    """Returns when the recording into `trace` has begun: loading the BPF programs takes its time."""
    wait_for(lambda: state(trace) == "RUNNING", f"the recording into {trace}")


def state(trace):
    """Of a recording, from its manifest; "" before it has one."""
    manifest = pathlib.Path(trace) / "manifest.json"
    return json.loads(manifest.read_text())["state"] if manifest.exists() else ""


def children(pid, name=None):
    """Processes that this one has started, of this name or of any."""
    return run("pgrep", "-P", pid, *(("-x", name) if name else ())).stdout.split()


def stat_fields(pid):
    """Of /proc/PID/stat, from the state on."""
    return pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()


def has_ended(pid):
    """Whether a process has ended that its parent has not yet waited for."""
    return stat_fields(pid)[0] == "Z"


def cpu_seconds(pid):
    """CPU time of a process; also of one that has ended and was not yet waited for."""
    fields = stat_fields(pid)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def count_cached_pages(file):
    """Number of this file's pages in the page cache. The file is not empty."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY) as memory:
        pages = (ctypes.c_ubyte * -(-len(memory) // mmap.PAGESIZE))()
        first = ctypes.c_char.from_buffer(memory)
        failed = ctypes.CDLL(None).mincore(ctypes.byref(first), ctypes.c_size_t(len(memory)), pages)
        del first  # a referenced mapping cannot be closed
    assert not failed
    return sum(page & 1 for page in pages)


def evict(path):
    """Removes all pages of this file from the page cache. Repeats, since the kernel skips pages
    that it is moving or freeing itself."""
    # O_NOATIME: a new access time would have to be written.
    with open(os.open(path, os.O_RDONLY | os.O_NOATIME), "rb") as file:
        def has_no_page():
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            return not count_cached_pages(file)
        wait_for(has_no_page, f"{path} stays in the page cache")


def sync_file_system(path):
    """Writes what is dirty on the file system of `path`, or on a disk. sync(1) without a path would write for the tests
    beside this one, which count who writes."""
    synced = run("sync", *(() if pathlib.Path(path).is_block_device() else ("-f",)), path)
    assert synced.returncode == 0, synced.stderr


def umask():
    """Of this process."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask


def kill_all(pids):
    """Kills processes that a killed recorder has left behind, unless they have ended."""
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


class Questions:
    """One `iotrail query TRACE -` that answers one question after the other: to open a trace takes longer than most."""

    def __init__(self, trace):
        self.errors = tempfile.TemporaryFile("w+", errors="replace")
        self.process = subprocess.Popen([IOTRAIL, "query", trace, "-", "--json", "--raw"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=self.errors, text=True, errors="replace")

    def ask(self, sql):
        """The rows, or None if there is no answer."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.write(sql + "\n;\n")
            self.process.stdin.flush()
        lines = []
        for line in self.process.stdout:
            lines.append(line)
            if line in ("]\n", "[]\n"):  # no other line begins with one
                return json.loads("".join(lines))
        return None

    def close(self):
        """What it said besides."""
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=PATIENCE_S)
        self.errors.seek(0)
        said = self.errors.read()
        self.errors.close()
        return said


class Recording:
    def __init__(self, path, process):
        self.path = path
        self.process = process  # that recorded it, or None
        self.whole_manifest = None
        self.questions = self.asked_of = None

    def __del__(self):
        if self.questions and not sys.is_finalizing():
            self.questions.close()

    @property
    def manifest(self):
        """The row of the manifest, and the tables beside it."""
        state_of_files = self.state_of_files()
        if self.whole_manifest is None or self.whole_manifest[0] != state_of_files:
            info = json.loads(run(IOTRAIL, "info", self.path, "--json").stdout)
            (row,) = info["manifest"]
            self.whole_manifest = state_of_files, row | {
                "hooks": info["hooks"], "sources": info["sources"],
                "counts": {event["event"]: event["events"] for event in info["events"]},
                "counters": {counter["counter"]: counter["count"] for counter in info["counters"]}}
        return self.whole_manifest[1]

    def state_of_files(self):
        """Differs once a test has changed the trace."""
        return sorted((file.name, (facts := file.stat()).st_ino, facts.st_size, facts.st_mtime_ns) for file in pathlib.Path(self.path).iterdir())

    def query(self, sql):
        state_of_files = self.state_of_files()
        if self.questions and self.asked_of != state_of_files:
            self.questions.close()
            self.questions = None
        if not self.questions:
            self.questions, self.asked_of = Questions(self.path), state_of_files
        rows = self.questions.ask(sql)
        if rows is None:
            questions, self.questions = self.questions, None
            raise AssertionError(f"{sql}\n{questions.close()}")
        return rows

    def value(self, sql):
        """The single value that `sql` selects."""
        (row,) = self.query(sql)
        (value,) = row.values()
        return value

    def layers_recorded(self):
        return {hook["event"].split("_")[0] for hook in self.manifest["hooks"] if hook["hook"]}


class AcceptanceTest(unittest.TestCase):
    """Gives each test a directory of its own on a real disk."""

    def setUp(self):
        self.loops = []
        SCRATCH.mkdir(parents=True, exist_ok=True)
        self.folder = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def record(self, *command, options=(), name="t", expect=0, **process_options):
        path = self.folder / f"{name}.iotrail"
        verbose = [] if {"-q", "--quiet"} & {*options} else ["--verbose"]
        process = run(IOTRAIL, "record", *verbose, "-o", path, *options, "--", *command, **process_options)
        if expect is not None:
            self.assertEqual(process.returncode, expect, process.stderr)
        return Recording(path, process)

    def recorded_once(self, *command, name="t", **record_options):
        """The test's own copy of a trace that the tests of the class share: to record takes seconds, to copy none."""
        shared = self.__class__.__dict__.get("shared_traces")
        if shared is None:
            shared = pathlib.Path(tempfile.mkdtemp(dir=SCRATCH))
            self.addClassCleanup(shutil.rmtree, shared, ignore_errors=True)
            self.__class__.shared_traces = shared
        original = shared / hashlib.sha256(repr(command).encode()).hexdigest()
        if not original.exists():
            shutil.copytree(self.record(*command, name=name, **record_options).path, original)
        elif not (self.folder / f"{name}.iotrail").exists():
            shutil.copytree(original, self.folder / f"{name}.iotrail")
        return self.folder / f"{name}.iotrail"

    def assert_adds_up(self, recording, lost=0, torn=0):
        """Checks produced == written + lost for each source, and the counts of the summary against
        the rows of the trace. torn: records of the preload library that a signal cut short."""
        manifest = recording.manifest
        self.assertEqual(manifest["state"], "COMPLETE")
        self.assertTrue(manifest["sources"])
        for source in manifest["sources"]:
            self.assertEqual(source["produced"], source["written"] + source["lost"], source)
            if lost is not None:
                # Events that the kernel itself does not report are counted; that is no fault of the
                # recorder.
                excused = {"kernel": manifest["counters"].get("kernel_completion_missed", 0), "preload": torn}
                self.assertEqual(source["lost"] - excused.get(source["source"], 0), lost, manifest["counters"])
        # A call in which a process hangs begins when it began, if that was before the recording.
        outside = recording.value(f"SELECT count(*) FROM operations WHERE ts_ns < {manifest['begin_ns']} AND NOT is_unfinished(error) "
                                  f"OR ts_ns > {manifest['end_ns']}")
        self.assertEqual(int(outside), 0, "operations outside the time of the recording")
        self.assert_has_what_was_written(recording)

    def assert_has_what_was_written(self, recording):
        """The trace has as many rows as its sources wrote."""
        rows = recording.value("SELECT sum(row_count) AS n FROM tables WHERE layer <> 'dictionary'")
        self.assertEqual(rows or 0, sum(source["written"] for source in recording.manifest["sources"]))

    def require(self, recording, *layers):
        missing = ", ".join(sorted(set(layers) - recording.layers_recorded()))
        if missing and os.environ.get("IOTRAIL_VM"):
            self.fail(f"not recorded, in a machine that allows all: {missing}")
        if missing:
            self.skipTest(f"this machine does not allow to record {missing}")

    def make_disk(self, file_system, size_bytes):
        """A disk of the test: (device, mount point). None: a disk without a file system."""
        device = self.make_bare_disk(size_bytes)
        if file_system is None:
            return device, None
        point = self.folder / "mount point"
        run("modprobe", file_system) if shutil.which("modprobe") else None
        self.make_file_system(device, file_system, point)
        return device, point

    def make_small_disk(self, point, size):
        """A file system in memory, which is soon full."""
        point.mkdir(exist_ok=True)
        mounted = run("mount", "-t", "tmpfs", "-o", f"size={size}", "none", point)
        if mounted.returncode:
            self.skipTest(f"no tmpfs can be mounted: {mounted.stderr}")
        self.addCleanup(run, "umount", point)

    def make_bare_disk(self, size_bytes, name="image"):
        if os.geteuid() != 0:
            self.skipTest("needs root for a loop device")
        run("modprobe", "loop") if shutil.which("modprobe") else None
        image = self.folder / name
        image.touch()
        os.truncate(image, size_bytes)
        return self.attach_loop(image)

    def attach_loop(self, image):
        loop = run("losetup", "--find", "--show", image)
        if loop.returncode:
            self.skipTest(f"no loop device: {loop.stderr}")
        device = loop.stdout.strip()
        self.loops.append(device)
        self.addCleanup(self.detach_loop, device)
        return device

    def detach_loop(self, device):
        """Once only: another test may have a disk of this number a moment later."""
        if device in self.loops:
            self.loops.remove(device)
            run("losetup", "--detach", device)

    def make_mapped_disk(self, *table, modules=(), name="mapped"):
        """A disk of the device mapper, if the kernel has it. `table`: its rows."""
        for module in ("dm_mod", *modules):
            run("modprobe", module) if shutil.which("modprobe") else None
        self.require_program("dmsetup")
        name = f"iotrail-{name}-{os.getpid()}"
        rows = self.folder / name
        rows.write_text("\n".join(table))
        made = run("dmsetup", "create", name, "--noudevsync", rows)
        if made.returncode:
            self.skipTest(f"there is no such mapped device: {made.stderr}")
        self.addCleanup(run, "dmsetup", "remove", "--retry", "--noudevsync", name)
        (disk,) = [disk.name for disk in pathlib.Path("/sys/block").iterdir()
                   if (disk / "dm/name").exists() and (disk / "dm/name").read_text().strip() == name]
        return f"/dev/{disk}"

    def make_encrypted_disk(self, disk, size_bytes):
        return self.make_mapped_disk(f"0 {size_bytes // 512} crypt aes-xts-plain64 {'0f' * 32} 0 {disk} 0",
                                     modules=("dm_crypt",), name="encrypted")

    def make_polled_disk(self):
        """Raises no interrupt for polled requests."""
        return self.make_null_disk("submit_queues=1", "poll_queues=1")

    def make_null_disk(self, *parameters):
        """A disk in memory, by a module of the kernel with these parameters."""
        device = pathlib.Path("/dev/nullb0")
        if device.exists() or shutil.which("modprobe") is None:
            self.skipTest("there is no way to a disk of null_blk")
        made = run("modprobe", "null_blk", "nr_devices=1", "gb=1", "memory_backed=1", *parameters)
        if made.returncode or not device.exists():
            self.skipTest(f"this machine makes no disk of null_blk: {made.stderr}")
        self.addCleanup(run, "modprobe", "-r", "null_blk")
        return device

    def make_partition(self, disk, first_sector, sectors):
        """The first partition of a disk that has none: its device."""
        self.require_program("addpart", "delpart")
        made = run("addpart", disk, 1, first_sector, sectors)
        if made.returncode:
            self.skipTest(f"no partition can be made: {made.stderr}")
        self.addCleanup(run, "delpart", disk, 1)
        name = os.path.basename(disk)
        major, minor = pathlib.Path(f"/sys/block/{name}/{name}p1/dev").read_text().split(":")
        device = self.folder / f"{name}p1"  # not all machines make one in /dev
        os.mknod(device, stat.S_IFBLK | 0o600, os.makedev(int(major), int(minor)))
        return device

    def make_file_system(self, device, file_system, point):
        """An empty file system, mounted at `point`."""
        self.require_program(f"mkfs.{file_system}")
        # So that nothing is read or written in the background later.
        options = ["-E", "lazy_itable_init=0,lazy_journal_init=0"] if file_system == "ext4" else []
        self.assertEqual(run(f"mkfs.{file_system}", "-q", *options, device).returncode, 0)
        point.mkdir(exist_ok=True)
        # Nor commits the journal after 5 s, which a test may take on a busy machine.
        options = ["-o", "no_prefetch_block_bitmaps,commit=600"] if file_system == "ext4" else []
        mounted = run("mount", *options, device, point)
        if mounted.returncode:
            self.skipTest(f"this machine has no {file_system}: {mounted.stderr}")
        self.addCleanup(run, "umount", point)

    def require_program(self, *names):
        for name in names:
            if shutil.which(name) is None:
                self.skipTest(f"{name} is not installed")


class FuseTest(AcceptanceTest):
    """Has an empty directory `backend`, and a mount point `point` for it."""

    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("needs root and /dev/fuse")
        self.backend, self.point = self.folder / "backend", self.folder / "point"
        self.backend.mkdir()
        self.point.mkdir()
        self.addCleanup(subprocess.run, ["umount", "-l", self.point], stderr=subprocess.DEVNULL, check=False)


def long(case):
    """Marks a case that only `./check all` runs: CONTRIBUTING.md says what it shows beyond the others."""
    case.is_long = True
    return case


def in_both(case):
    """Marks a case that the short check runs with a part of its inputs, and `./check all` with each: see first()."""
    case.is_in_both = True
    return case


def first(count, inputs):
    """The inputs of a case that is in both: the first ones in the short check, else all."""
    inputs = list(inputs)
    return inputs[:count] if os.environ.get("IOTRAIL_CASES") == "short" else inputs


class Loader(unittest.TestLoader):
    """Finds the cases that IOTRAIL_CASES names: short, long, or all of them."""

    def getTestCaseNames(self, testCaseClass):
        wanted = os.environ.get("IOTRAIL_CASES")
        names = super().getTestCaseNames(testCaseClass)
        return [name for name in names if not wanted or self.is_wanted(getattr(testCaseClass, name), wanted)]

    @staticmethod
    def is_wanted(case, wanted):
        return hasattr(case, "is_in_both") or hasattr(case, "is_long") == (wanted == "long")


def main():
    """Exits with status 77 if every test was skipped, which ctest shows as skipped."""
    program = unittest.main(exit=False, verbosity=2, testLoader=Loader())
    result = program.result
    if not result.wasSuccessful():
        raise SystemExit(1)
    raise SystemExit(77 if result.testsRun and len(result.skipped) == result.testsRun else 0)
