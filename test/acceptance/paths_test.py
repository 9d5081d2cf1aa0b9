# SPDX-License-Identifier: BSD-3-Clause
"""Each event has the path that its file had at that time. The programs print the path, and write a
size of its own under it."""
import json
import subprocess
import sys

import harness

# Opens a file, and writes to it once a line comes.
WRITES_WHEN_ASKED = """
import os, sys
fd = os.open(sys.argv[1], os.O_CREAT | os.O_WRONLY, 0o600)
print("open", flush=True)
sys.stdin.readline()
os.write(fd, b"abc")
os.fsync(fd)
"""

# Makes writes of different sizes. Prints size and path, as the kernel reports it for the open
# descriptor.
RENAMES = """
import os, sys
os.chdir(sys.argv[1])
size = 100
def write(fd):
    global size
    size += 1
    os.write(fd, b"x" * size)
    print(size, os.readlink(f"/proc/self/fd/{fd}"))
def open_new(path):
    return os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC, 0o600)
os.mkdir("d")
first = open_new("first")
write(first)
os.rename("first", "second")
write(first)
os.rename("second", os.path.abspath("d/third"))
write(first)
below = open_new("d/below")
write(below)
os.rename("d", "e")
write(first)
write(below)
other = open_new("first")
write(other)
os.rename("first", "e/below")
write(other)
write(below)
os.unlink("e/third")
write(first)
again = open_new("e/third")
write(again)
os.close(first)
os.unlink("e/third")
os.close(again)
again = open_new("e/third")
write(again)
"""

# The same with more names, a file made without a name, and current directories. A descriptor keeps
# the name of its open, so the program opens a remaining name and prints the kernel's path. Without
# a remaining name it prints the old one with the kernel's suffix.
LINKS = """
import os, sys
os.chdir(sys.argv[1])
size = 100
last = None
def write(fd, name=None):
    global size, last
    size += 1
    os.write(fd, b"x" * size)
    if name:
        shown = os.open(name, os.O_RDONLY)
        last = os.readlink(f"/proc/self/fd/{shown}")
        os.close(shown)
    print(size, last if name else last + " (deleted)")
os.mkdir("d")
file = os.open("tmp", os.O_CREAT | os.O_RDWR, 0o600)
write(file, "tmp")
os.link("tmp", "d/last")
write(file, "tmp")
os.unlink("tmp")
write(file, "d/last")
os.chdir("d")
os.link("last", "more")
os.rename("last", "../first")
os.unlink("../first")
write(file, "more")
os.chdir("..")
other = os.open("d", os.O_RDONLY | os.O_DIRECTORY)
os.fchdir(other)
os.rename("more", "end")
write(file, "end")
os.unlink("end")
write(file)
nameless = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o600)
os.link(f"/proc/self/fd/{nameless}", "made", src_dir_fd=other, follow_symlinks=True)
write(nameless, "made")
os.unlink("made")
write(nameless)
"""

# Files opened by system calls that bypass the C library, renamed, and then first used through it.
PAST_THE_LIBRARY = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
for number in range(40):
    fd = libc.syscall(ctypes.c_long({"x86_64": 257}.get(os.uname().machine, 56)), -100, f"first{number}".encode(), os.O_CREAT | os.O_RDWR, 0o600)
    os.rename(f"first{number}", f"second{number}")
    os.write(fd, b"x" * (1000 + number))
    print(1000 + number, os.readlink(f"/proc/self/fd/{fd}"))
"""

# A file with two names, opened by both: the second time by a relative path, after a chdir to the directory of the
# second name. Prints the paths of the calls that name no descriptor.
HARD_LINKS = """
import os, sys
os.chdir(sys.argv[1])
os.mkdir("a")
os.mkdir("b")
os.close(os.open("a/f", os.O_CREAT | os.O_WRONLY))
os.link("a/f", "b/f")
os.close(os.open("a/f", os.O_RDONLY))
os.chdir("b")
os.close(os.open("f", os.O_RDONLY))
print(os.path.abspath("new"), flush=True)
os.mkdir("new")
print(os.path.abspath("new2"), flush=True)
os.rename("new", "new2")
os.rmdir("new2")
if os.fork() == 0:
    os.mkdir("conf")
    os.chdir("conf")
    print(os.path.abspath("a.conf"), flush=True)
    os.access("a.conf", os.R_OK)
    os._exit(0)
os.wait()
"""


class Paths(harness.AcceptanceTest):
    def exported(self, recording, event, *fields):
        exported = harness.run(harness.IOTRAIL, "export", recording.path, "--to", "jsonl", "--table", event)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        return [tuple(row[field] for field in fields) for row in map(json.loads, exported.stdout.splitlines())]

    def check_renames(self, layers, event, program=RENAMES, writes=12):
        folder = self.folder / "work"
        folder.mkdir()
        recording = self.record(sys.executable, "-c", program, folder, options=("-q", "--layers", layers))
        self.last = recording
        self.require(recording, event.split("_")[0])
        expected = [(int(size), path) for size, path in (line.split(" ", 1) for line in recording.process.stdout.splitlines())]
        self.assertEqual(len(expected), writes)
        sizes = {size for size, _ in expected}
        self.assertEqual([row for row in self.exported(recording, event, "result", "file") if row[0] in sizes], expected)
        rows = recording.query(f"SELECT bytes, path FROM operations WHERE event = '{event}' AND bytes BETWEEN {min(sizes)} AND {max(sizes)} ORDER BY ts_ns")
        self.assertEqual([(int(row["bytes"]), row["path"]) for row in rows], expected)
        script = harness.run(harness.IOTRAIL, "script", recording.path).stdout
        for size, path in expected:
            self.assertRegex(script, rf"<{path}>, {size}( @ \d+)?\) = {size} ".replace("(deleted)", r"\(deleted\)"))

    def test_calls_of_the_kernel(self):
        self.check_renames("syscall", "syscall_write")

    def test_calls_of_the_library(self):
        self.check_renames("app", "app_write")

    def test_both(self):
        self.check_renames("app,syscall", "app_write")

    def test_files_that_are_opened_past_the_library(self):
        """Both sources see such a file at the same moment under different names: the first name is
        the opened one."""
        self.check_renames("app,syscall", "app_write", PAST_THE_LIBRARY, 40)
        (row,) = self.last.query("SELECT count(*) AS files FROM file_names WHERE first_path LIKE '%/work/first%' AND path LIKE '%/work/second%'")
        self.assertEqual(int(row["files"]), 40)

    def test_functions_of_the_kernel(self):
        self.check_renames("syscall,vfs", "vfs_write")

    def test_further_names_by_calls_of_the_kernel(self):
        self.check_renames("syscall", "syscall_write", LINKS, 8)

    def test_further_names_by_functions_of_the_kernel(self):
        self.check_renames("syscall,vfs", "vfs_write", LINKS, 8)

    def test_the_current_directory_is_not_taken_from_a_hard_link(self):
        folder = self.folder / "work"
        folder.mkdir()
        recording = self.record(sys.executable, "-S", "-c", HARD_LINKS, folder, options=("-q", "--layers", "syscall"))
        self.require(recording, "syscall")
        names = sorted(recording.process.stdout.split())
        self.assertEqual(names, [f"{folder}/b/conf/a.conf", f"{folder}/b/new", f"{folder}/b/new2"])
        rows = recording.query("SELECT class, path, to_path FROM path_calls WHERE class IN ('mkdir', 'rename', 'unlink', 'access', 'stat') "
                               f"AND path LIKE '{folder}/%' ORDER BY ts_ns")
        paths = {path for row in rows for path in (row["path"], row["to_path"]) if path}
        self.assertLessEqual(set(names), paths, rows)
        self.assertEqual({path for path in paths if path.startswith(f"{folder}/a/")}, set(), rows)
        ends = [(row["class"], row["path"], row["to_path"]) for row in rows if row["path"] in names and row["class"] == "rename"]
        self.assertEqual(ends, [("rename", f"{folder}/b/new", f"{folder}/b/new2")], rows)

    def test_objects_of_git_that_are_linked_to_their_last_name(self):
        """Git's own way: links a temporary name to the final one and removes it."""
        self.require_program("git")
        repository = self.folder / "repository"
        made = harness.run("git", "-c", "init.defaultBranch=main", "init", "-q", repository)
        self.assertEqual(made.returncode, 0, made.stderr)
        for number in range(50):
            (repository / f"{number}").write_text(f"{number}\n")
        git = f"git -C {repository} -c core.createObject=link -c user.name=a -c user.email=b"
        recording = self.record("sh", "-c", f"{git} add . && {git} commit -qm c", options=("-q", "--layers", "syscall"))
        objects = {str(path) for path in (repository / ".git" / "objects").rglob("*") if path.is_file()}
        self.assertEqual(len(objects), 52)
        paths = recording.query("SELECT path, is_removed FROM file_paths WHERE until_ns IS NULL AND path LIKE '%/.git/objects/%/%'")
        shown = {row["path"] for row in paths if not int(row["is_removed"])}
        self.assertLessEqual(objects, shown)
        self.assertEqual([row["path"] for row in paths if "/tmp_obj_" in row["path"]], [])

    def test_objects_of_git_are_renamed_once_they_are_written(self):
        self.require_program("git")
        repository = self.folder / "repository"
        made = harness.run("git", "-c", "init.defaultBranch=main", "init", "-q", repository)
        self.assertEqual(made.returncode, 0, made.stderr)
        for number in range(5):
            (repository / f"{number}").write_text(f"{number}\n")
        recording = self.record("git", "-c", "core.createObject=rename", "-C", repository, "add", ".", options=("-q", "--layers", "syscall"))
        objects = {str(path) for path in (repository / ".git" / "objects").rglob("*") if path.is_file()}
        self.assertEqual(len(objects), 5)
        last = {row["path"] for row in recording.query("SELECT path FROM file_names WHERE path LIKE '%/.git/objects/%/%'")}
        self.assertLessEqual(objects, last)
        written = {row[0] for row in self.exported(recording, "syscall_write", "file") if row[0]}
        self.assertEqual(len([path for path in written if "/tmp_obj_" in path]), 5, written)

    def test_the_journal_of_sqlite(self):
        """Journals that are deleted after each transaction, or kept."""
        self.require_program("sqlite3")
        for mode, removed in (("delete", 1), ("persist", 0)):
            database = self.folder / f"{mode}.db"
            recording = self.record("sqlite3", database, f"pragma journal_mode={mode}; create table t(x); insert into t values(1);",
                                    options=("-q", "--layers", "syscall"), name=mode)
            (row,) = recording.query(f"SELECT bool_or(is_removed = 1) AS removed FROM file_paths WHERE path = '{database}-journal'")
            self.assertEqual(int(row["removed"] in (True, "true", 1)), removed)
            journals = {row[0] for row in self.exported(recording, "syscall_write", "file") if row[0] and "-journal" in row[0]}
            self.assertEqual(journals, {f"{database}-journal"})

    def test_a_file_that_was_deleted_before_the_recording(self):
        """A program writes to a log that another one has removed, and made again."""
        log = self.folder / "app.log"
        program = subprocess.Popen([sys.executable, "-c", WRITES_WHEN_ASKED, log], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for stream in (program.stdin, program.stdout):
            self.addCleanup(stream.close)
        self.addCleanup(lambda: (program.kill(), program.wait()))
        self.assertEqual(program.stdout.readline(), "open\n")
        log.unlink()
        log.write_text("another file")
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", path, "--layers", "syscall,block", "-p", str(program.pid)],
                                    stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(path)
        program.communicate("write\n", timeout=harness.PATIENCE_S)
        recording = harness.Recording(path, subprocess.CompletedProcess([], 0, "", recorder.communicate(timeout=harness.PATIENCE_S)[1]))
        self.require(recording, "syscall")
        shown = recording.query(f"SELECT DISTINCT path FROM operations WHERE path LIKE '{log}%'")
        self.assertEqual([row["path"] for row in shown], [f"{log} (deleted)"])
        (file,) = recording.query(f"SELECT is_removed, bytes_written FROM top_files WHERE path = '{log} (deleted)'")
        self.assertEqual((file["is_removed"], file["bytes_written"]), (1, 3))
        report = harness.run(harness.IOTRAIL, "report", recording.path, "--full").stdout
        self.assertIn("app.log (deleted)", report)
        file_system = harness.run("df", "--output=fstype", self.folder).stdout.split()[-1]
        self.assertEqual(recording.value(f"SELECT file_system FROM files WHERE path = '{log}' AND is_deleted = 1"), file_system)

    def test_a_file_that_overlayfs_copies(self):
        """The copy has a number for a name, or none: programs know it by the file's name."""
        _, upper = self.make_disk("ext4", 64 << 20)
        lower, point = self.folder / "lower", self.folder / "over"
        for folder in (lower, point, upper / "upper", upper / "work"):
            folder.mkdir()
        (lower / "big").write_bytes(b"x" * (4 << 20))
        mounted = harness.run("mount", "-t", "overlay", "overlay", "-o", f"lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work", point)
        if mounted.returncode:
            self.skipTest(f"no overlayfs: {mounted.stderr}")
        self.addCleanup(harness.run, "umount", point)
        recording = self.record("sh", "-c", f"echo x >>{point}/big; sync -f {point}", options=["--layers", "app,syscall,cache,block"])
        self.require(recording, "syscall", "cache", "block")
        written = recording.query("SELECT path, CAST(sum(bytes) AS BIGINT) AS bytes FROM device_causes WHERE direction = 'write' AND cause = 'write_back' "
                                  "GROUP BY path ORDER BY bytes DESC")
        self.assertEqual(written[0]["path"], str(point / "big"))
        self.assertGreaterEqual(written[0]["bytes"], 4 << 20)
        self.assertEqual(recording.query("SELECT path FROM file_names WHERE path LIKE '%/work/#%'"), [])
        self.assertEqual(recording.value(f"SELECT count(DISTINCT file) FROM events WHERE layer IN ('app', 'syscall') AND file IN "
                                         f"(SELECT file FROM files WHERE path = '{point}/big')"), 1)

    def test_a_file_of_btrfs_is_one_file(self):
        """stat(2) shows another device than the kernel has."""
        self.require_program("mkfs.btrfs")
        _, point = self.make_disk("btrfs", 256 << 20)
        recording = self.record(sys.executable, "-c", f"open('{point}/file', 'w').write('x' * 9)", options=["--layers", "app,syscall"])
        self.require(recording, "syscall", "app")
        self.assertEqual(recording.value(f"SELECT count(*) FROM files WHERE path = '{point}/file'"), 1)
        self.assertEqual(recording.query(f"SELECT DISTINCT layer FROM events JOIN files USING (file) WHERE files.path = '{point}/file' AND class = 'write' ORDER BY ALL"),
                         [{"layer": "app"}, {"layer": "syscall"}])


if __name__ == "__main__":
    harness.main()
