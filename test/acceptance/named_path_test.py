# SPDX-License-Identifier: BSD-3-Clause
"""--file: a path stands for itself and for the inode that it has when the recording begins.
Real programs replace, remove and rename the file. strace says which of their calls name the path."""
import collections
import os
import pathlib
import re
import signal
import subprocess
import sys

import harness

# Replaces r.conf in several ways. `sub/r.conf` is another file, `hard` the same one.
SCRIPT = """
cat r.conf; echo b >t.tmp; mv t.tmp r.conf; cat r.conf; rm r.conf; cat r.conf; echo c >r.conf; sed -i s/c/d/ r.conf
cat ./r.conf sub/r.conf sub/../r.conf r.conf.not; cd sub; cat ../r.conf r.conf; stat ../r.conf; test -r ../r.conf; cd ..
cd ..; cat etc/r.conf etc/sub/r.conf; cd etc; cat "$PWD/r.conf" "$PWD//sub/.././r.conf" "$PWD/sub/r.conf"
ln r.conf hard; cat hard; chmod 600 r.conf; truncate -s 1 r.conf; mv r.conf away; cat away; cat r.conf; ln -s away r.conf; readlink r.conf
true
"""
REPLACES = """
import os, sys
path = sys.argv[1]
for _ in range(5):
    with open(path + ".new", "w") as file:
        file.write("x" * 100)
    os.rename(path + ".new", path)
    with open(path) as file:
        file.read()
    with open(path, "a") as file:
        file.write("y" * 50)
"""
# Both begin once the recorder is halted, so that nothing leaves its rings.
NAMES_OTHERS = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for _ in range(5000):
    os.access("/", os.F_OK)
with open(sys.argv[1], "a") as file:
    file.write("y" * 50)
"""
MAKES_FILES = """
import os, sys
print("ready", flush=True)
sys.stdin.readline()
for number in range(20000):
    fd = os.open(f"{sys.argv[1]}/{number:0200}", os.O_CREAT | os.O_WRONLY, 0o600)
    os.write(fd, b"x")
    os.close(fd)
"""
QUIET = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
CALL = re.compile(r"^(\d+) +(\w+)\((.*)")
TEXT = re.compile(r'(?:(\d+)<([^>]*)>, |(AT_FDCWD)(?:<[^>]*>)?, )?"([^"]*)"')


def make_place(place):
    for name in ("etc", "etc/sub"):
        (place / name).mkdir()
        (place / name / "r.conf").write_text("a\n")
    return place / "etc" / "r.conf"


def count_by_strace(place, path):
    """Calls that name the path, by the name of the call."""
    log = place.parent / "strace"
    subprocess.run(["strace", "-f", "-y", "-s", "4096", "-e", "trace=%file", "-o", log, "sh", "-c", SCRIPT], cwd=place / "etc", check=True, **QUIET)
    counts, shell, directory = collections.Counter(), None, str(place / "etc")
    for line in log.read_text().splitlines():
        call = CALL.match(line)
        if not call:
            continue
        pid, name, arguments = call.groups()
        shell = shell or pid
        named = [os.path.normpath(os.path.join(fd_path or directory, text)) for _, fd_path, _, text in TEXT.findall(arguments) if text]
        if name == "symlink" or name == "symlinkat":
            named = named[1:]
        if name == "chdir" and pid == shell:
            directory = named[0]
        if str(path) in named and name != "execve":
            counts[name] += 1
    return dict(counts)


class NamedPaths(harness.AcceptanceTest):
    def counts(self, recording):
        """Recorded calls that name a path, by the name of the call."""
        rows = recording.query("SELECT call, count(*) AS calls FROM events AS e LEFT JOIN strings AS s ON e.path = s.string "
                               "WHERE layer = 'syscall' AND e.path <> 0 AND (call = 'linkat' OR coalesce(s.text, '') NOT IN ('hard', 'away')) AND call <> 'fgetxattr' GROUP BY call")
        return {row["call"]: int(row["calls"]) for row in rows}

    def test_calls_of_real_programs(self):
        self.require_program("strace", "sed")
        traced, place = self.folder / "traced", self.folder / "place"
        traced.mkdir()
        place.mkdir()
        expected = count_by_strace(traced, make_place(traced))
        self.assertGreater(sum(expected.values()), 20)
        path = make_place(place)
        recording = self.record("sh", "-c", SCRIPT, cwd=place / "etc", options=["--layers", "syscall,process", "--file", path])
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        self.assertEqual(self.counts(recording), expected)
        readers = recording.value("SELECT count(DISTINCT pid) FROM syscall_read")
        self.assertEqual(readers, 9, "eight cat and sed read the file that has the path then")
        named = {row["path"] for row in recording.query("SELECT path FROM files")}
        self.assertNotIn(str(place / "etc" / "sub" / "r.conf"), named, "another file with the same name")

    def test_a_program_that_replaces_the_file_itself(self):
        """The kernel gives the same descriptor, and often the same memory, to the file under its new name."""
        path = self.folder / "P"
        path.write_text("0")
        recording = self.record(sys.executable, "-I", "-S", "-c", REPLACES, path, options=["--layers", "syscall", "--file", path])
        self.require(recording, "syscall")
        self.assertEqual(int(recording.value("SELECT sum(result) FROM syscall_write")), 5 * 50)
        self.assertEqual(int(recording.value("SELECT sum(result) FROM syscall_read")), 5 * 100)

    def test_an_inode_number_of_another_file(self):
        """ext4 gives the number of a removed file to the next one."""
        _, point = self.make_disk("ext4", 16 << 20)
        path = point / "f"
        path.write_text("a")
        script = f"cd '{point}'; rm f; echo other >g; stat -c %i g; echo b >f"
        inode = os.stat(path).st_ino
        recording = self.record("sh", "-c", script, options=["--layers", "syscall", "--file", path])
        self.require(recording, "syscall")
        self.assertEqual(recording.process.stdout.split()[0], str(inode), "the number was not used again")
        self.assertEqual([row["path"] for row in recording.query("SELECT DISTINCT path FROM syscall_write JOIN files USING (file)")], [str(path)])

    def halted(self, program, path, buffer, *options):
        """A recording of a program that runs while the recorder is halted."""
        trace = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", trace, "--layers", "syscall", "--buffer", buffer, *options, "--",
                                     sys.executable, "-I", "-S", "-c", program, path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stdout.close)
        self.assertEqual(recorder.stdout.readline(), "ready\n")
        (traced,) = harness.children(recorder.pid)
        recorder.send_signal(signal.SIGSTOP)
        recorder.stdin.write("begin\n")
        recorder.stdin.close()
        harness.wait_for(lambda: harness.has_ended(traced), "the program's end")
        recorder.send_signal(signal.SIGCONT)
        self.assertEqual(recorder.wait(timeout=harness.PATIENCE_S), 0)
        recording = harness.Recording(trace, None)
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        return recording

    def test_calls_that_name_other_paths_use_no_ring(self):
        path = self.folder / "P"
        path.write_text("0")
        recording = self.halted(NAMES_OTHERS, path, "1M", "--file", path)
        self.assertEqual(recording.manifest["counters"].get("kernel_text_full", 0), 0)
        self.assertEqual(recording.query("SELECT path, result FROM syscall_write JOIN files USING (file)"), [{"path": str(path), "result": 50}])

    def test_files_of_the_filter_with_no_room_for_their_paths(self):
        """Their calls are in the trace all the same."""
        recording = self.halted(MAKES_FILES, self.folder, "8M", "--dir", self.folder)
        self.assertGreater(recording.manifest["counters"].get("kernel_text_full", 0), 0)
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_write WHERE result = 1"), 20000)

    def test_a_symbolic_link_and_its_target(self):
        target, link = self.folder / "target", self.folder / "link"
        target.write_text("a")
        link.symlink_to(target.name)
        recording = self.record("sh", "-c", f"cd {self.folder}; cat target; rm link; echo b >link; cat link",
                                options=["--layers", "syscall", "--file", link])
        self.require(recording, "syscall")
        self.assertEqual(recording.value("SELECT count(*) FROM syscall_unlink"), 1)
        self.assertEqual({pathlib.Path(row["path"]).name for row in recording.query("SELECT path FROM files")}, {"target", "link"})


if __name__ == "__main__":
    harness.main()
