# SPDX-License-Identifier: BSD-3-Clause
"""Real programs do the same with and without iotrail, and none of their events is lost."""
import hashlib
import os
import pathlib
import platform
import sys

import harness

HERE = pathlib.Path(__file__).resolve().parent
SOURCE_TREE = HERE.parent.parent

THREADED_WRITER = """
import os, sys, threading
def work(number):
    fd = os.open(f"{sys.argv[1]}/{number}", os.O_CREAT | os.O_WRONLY, 0o644)
    for turn in range(200):
        os.write(fd, bytes([number]) * 100)
    os.close(fd)
threads = [threading.Thread(target=work, args=(number,)) for number in range(100)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
"""

MANY_CHILDREN = r"""
for ((i = 0; i < $2; i++)); do /bin/echo "child $i" > "$1/$i"; done
"""

SQL = """PRAGMA journal_mode=WAL; CREATE TABLE t(id INTEGER PRIMARY KEY, v TEXT);
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 20000) INSERT INTO t SELECT i, hex(i*7919) FROM n;
CREATE INDEX x ON t(v); SELECT count(*), sum(length(v)) FROM t WHERE v > 'A'; PRAGMA wal_checkpoint(TRUNCATE);"""


def tree_digest(folder):
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        digest.update(str(path.relative_to(folder)).encode())
        if path.is_file():
            digest.update(path.read_bytes())
    return digest.hexdigest()

# Writes to a file before and after it disables the time stamp counter by a call that the library
# sees.
CLOCKLESS = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY)
libc.write(fd, b"timed", 5)
PR_SET_TSC, PR_TSC_ENABLE, PR_TSC_SIGSEGV = 26, 1, 2
way = {"prctl": libc.prctl, "syscall": lambda *words: libc.syscall(157, *words)}[sys.argv[2]]
assert way(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) == 0
libc.write(fd, b"untimed", 7)
assert way(PR_SET_TSC, PR_TSC_ENABLE, 0, 0, 0) == 0
"""

# Keeps write and exit_group and forbids all other calls, by `way`.
CONFINED = """
import ctypes, struct, sys
KILL, ALLOW, LOAD, JUMP_IF, RETURN = 0x80000000, 0x7fff0000, 0x20, 0x15, 0x06
rules = [(LOAD, 0, 0, 0), (JUMP_IF, 2, 0, 1), (JUMP_IF, 1, 0, 231), (RETURN, 0, 0, KILL), (RETURN, 0, 0, ALLOW)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *rule) for rule in rules))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(rules), ctypes.addressof(code)))
libc = ctypes.CDLL(None)
unseen = libc.syscall(319, b"unseen", 0)
libc.prctl(38, 1, 0, 0, 0)
way, end = sys.argv[1], 60 if sys.argv[1] == "strict" else 231
done = {"strict": lambda: libc.prctl(22, 1, 0, 0, 0), "prctl": lambda: libc.prctl(22, 2, program, 0, 0),
        "syscall": lambda: libc.syscall(317, 1, 0, program)}[way]()
if done == 0:
    libc.write(unseen, b"unknown", 7)
    libc.write(1, b"written", 7)
libc.syscall(end, 0)
"""

CLOCK_SOURCE = pathlib.Path("/sys/devices/system/clocksource/clocksource0/current_clocksource")
CLOCK_IS_COUNTER = CLOCK_SOURCE.exists() and CLOCK_SOURCE.read_text().strip() == "tsc"


class Programs(harness.AcceptanceTest):
    def compare(self, make_command, digest=True):
        """Runs make_command(folder) bare and recorded; both must print and write the same."""
        bare_folder, recorded_folder = self.folder / "bare", self.folder / "recorded"
        bare_folder.mkdir()
        recorded_folder.mkdir()
        bare = harness.run(*make_command(bare_folder))
        recording = self.record(*make_command(recorded_folder), expect=bare.returncode)
        self.assertEqual(bare.returncode, 0, bare.stderr)
        self.assertEqual(bare.stdout.replace(str(bare_folder), "F"),
                         recording.process.stdout.replace(str(recorded_folder), "F"))
        if digest:
            self.assertEqual(tree_digest(bare_folder), tree_digest(recorded_folder))
        self.assert_adds_up(recording)
        return recording, recorded_folder

    def test_tar(self):
        self.compare(lambda out: ["tar", "-C", SOURCE_TREE, "-cvf", out / "t.tar", "src", "schema"])

    def test_cp(self):
        recording, out = self.compare(lambda out: ["cp", "-r", SOURCE_TREE / "src", out / "copy"])
        size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
        for layer in sorted(recording.layers_recorded() & {"app", "syscall"}):
            with self.subTest(layer=layer):
                moved = recording.value(
                    f"SELECT (SELECT coalesce(sum(result), 0) FROM {layer}_write w JOIN files f USING (file) "
                    f"        WHERE path LIKE '{out}/%' AND result > 0) "
                    f"     + (SELECT coalesce(sum(result), 0) FROM {layer}_copy c JOIN files f ON f.file = c.out_file "
                    f"        WHERE path LIKE '{out}/%' AND result > 0) AS bytes")
                self.assertEqual(int(moved), size)

    def test_git_clone(self):
        self.require_program("git")
        origin = self.folder / "origin"
        harness.run("git", "init", "-q", origin)
        for number in range(50):
            (origin / f"f{number}").write_text(f"{number}\n" * 100)
        who = ["-c", "user.name=a", "-c", "user.email=a@b"]
        harness.run("git", "-C", origin, "add", ".")
        harness.run("git", "-C", origin, *who, "commit", "-qm", "first")
        recording, out = self.compare(lambda out: ["git", "clone", "-q", origin, out / "clone"], digest=False)
        self.assertEqual(harness.run("git", "-C", out / "clone", "fsck", "--full").returncode, 0)
        self.assertEqual(len(list((out / "clone").glob("f*"))), 50)

    def test_sqlite(self):
        self.require_program("sqlite3")
        recording, out = self.compare(lambda out: ["sqlite3", out / "db", SQL])
        self.assertGreater(recording.value("SELECT count(*) FROM app_write"), 0)
        if "block" in recording.layers_recorded():
            self.assertGreater(recording.value("SELECT count(*) FROM block_complete"), 0)

    @harness.long
    def test_hundred_threads(self):
        recording, out = self.compare(lambda out: [sys.executable, "-c", THREADED_WRITER, out])
        for layer in sorted(recording.layers_recorded() & {"app", "syscall", "vfs"}):
            with self.subTest(layer=layer):
                (row,) = recording.query(
                    f"SELECT count(*) AS n, sum(result) AS bytes, count(DISTINCT tid) AS threads FROM {layer}_write "
                    f"JOIN files USING (file) WHERE path LIKE '{out}/%'")
                self.assertEqual((int(row["n"]), int(row["bytes"]), int(row["threads"])), (20000, 2000000, 100))

    def test_hundred_children(self):
        self.check_children(100)

    @harness.long
    def test_thousand_children(self):
        self.check_children(1000)

    def check_children(self, count):
        recording, out = self.compare(lambda out: ["bash", "-c", MANY_CHILDREN, "bash", out, str(count)])
        if "syscall" in recording.layers_recorded():
            self.assertEqual(recording.value(
                f"SELECT count(DISTINCT pid) FROM syscall_write JOIN files USING (file) WHERE path LIKE '{out}/%'"), count)
        if "process" in recording.layers_recorded():
            self.assertEqual(recording.value("SELECT count(*) FROM process_exec WHERE pid <> "
                                             "(SELECT min(pid) FROM process_exec)"), count)
        self.assertEqual(recording.value("SELECT count(DISTINCT pid) FROM app_write"), count)

    def test_the_time_that_it_computed(self):
        """The kernel's count of CPU time when the command ends is at least its own a moment before."""
        computes = "import os\nwhile sum(os.times()[:2]) < 0.3: pass\nprint(*os.times()[:2])"
        recording = self.record("sh", "-c", f"{sys.executable} -S -c '{computes}'; sleep 0.3", options=("-l", "app"))
        own_ns = sum(round(float(number) * 1e9) for number in recording.process.stdout.split())
        counted_ns = recording.manifest["command_user_ns"] + recording.manifest["command_system_ns"]
        self.assertGreaterEqual(counted_ns, own_ns)
        self.assertLess(counted_ns, recording.manifest["end_ns"] - recording.manifest["begin_ns"] - 300_000_000)  # it slept
        self.assertIn("; the command and its children computed for ", " ".join(self.printed_report(recording).split()))

    def printed_report(self, recording):
        report = harness.run(harness.IOTRAIL, "report", recording.path)
        self.assertEqual(report.returncode, 0, report.stderr)
        return report.stdout

    def test_status_is_the_commands_own(self):
        for command, status in ((["false"], 1), (["sh", "-c", "exit 7"], 7), (["sh", "-c", "kill -9 $$"], 137)):
            with self.subTest(command=command):
                self.assert_adds_up(self.record(*command, name=str(status), expect=status))

    def test_file_open_before_the_recording(self):
        """A file that the shell opened before iotrail began has a path too."""
        data = self.folder / "input"
        data.write_bytes(b"x" * 100000)
        with open(data, "rb") as stdin:
            recording = self.record("cat", stdin=stdin)
        for layer in sorted(recording.layers_recorded() & {"app", "syscall"}):
            self.assertEqual(int(recording.value(
                f"SELECT sum(result) FROM {layer}_read JOIN files USING (file) WHERE path = '{data}'")), 100000, layer)

    def test_programs_that_give_up_system_calls(self):
        """A forbidden call would kill the program: the library makes none from then on."""
        if platform.machine() != "x86_64":
            self.skipTest("the numbers of the system calls are those of x86-64")
        for way in ("strict", "prctl", "syscall"):
            with self.subTest(way=way):
                recording = self.record(sys.executable, "-c", CONFINED, way, options=("--layers", "app"), name=way)
                self.assertEqual(recording.process.stdout, "written")
                self.assert_adds_up(recording, lost=None)
                counters = recording.manifest["counters"]
                # The clock is forbidden too; another clock source may need a system call.
                if way == "strict" or not CLOCK_IS_COUNTER:
                    self.assertEqual(counters["preload_no_clock"], 2)
                    continue
                rows = recording.query("SELECT file = 0 AS is_unknown FROM app_write WHERE result = 7 AND fd > 0 ORDER BY ts_ns DESC LIMIT 2")
                self.assertEqual([row["is_unknown"] for row in rows], [False, True])
                self.assertGreater(counters["preload_text_full"], 0)

    @harness.long
    def test_programs_that_give_up_the_clock(self):
        """Reading the time stamp counter would kill the program: calls without a time are counted."""
        if platform.machine() != "x86_64":
            self.skipTest("there is a counter to give up on x86-64 alone")
        for way in ("prctl", "syscall"):
            with self.subTest(way=way):
                file = self.folder / way
                recording = self.record(sys.executable, "-c", CLOCKLESS, file, way, options=("--layers", "app"), name=way)
                self.assertEqual(file.read_text(), "timeduntimed")
                self.assert_adds_up(recording, lost=None)
                self.assertGreaterEqual(recording.manifest["counters"]["preload_no_clock"], 1)
                rows = recording.query(f"SELECT result FROM app_write JOIN files USING (file) WHERE path = '{file}'")
                self.assertEqual([row["result"] for row in rows], [5])


if __name__ == "__main__":
    harness.main()
