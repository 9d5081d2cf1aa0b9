# SPDX-License-Identifier: BSD-3-Clause
"""The face io_trace.py: the session of IOTraceCollector's README line by line, its directories, its options."""
import os
import pathlib
import re
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "compat" / "io_trace.md").read_text()
LINE = re.compile(r"^\d{8}-\d{6}\.\d{6}: ( *[A-Z]+): (.*)$")
# The lines that the two commands of the README make there. How often a path is looked up differs from kernel to kernel.
SESSION = """\
   MKDIR: path=/hello; mode=493
  CREATE: path=/hello/world.txt; mode=33188; fi=None
   FLUSH: path=/hello/world.txt
   WRITE: path=/hello/world.txt; offset=0; length_buf=13
   FLUSH: path=/hello/world.txt
 RELEASE: path=/hello/world.txt
"""


class IoTraceTest(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.program = self.folder / "io_trace.py"
        self.program.symlink_to(harness.IOTRAIL)
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.environment = os.environ | {"IOTRAIL_REPOSITORY": str(self.traces), "TZ": "UTC"}
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.folder / "mnt"], stderr=subprocess.DEVNULL, check=False))

    def start(self, *options):
        """The mounted program, at mnt/ of data/."""
        if os.geteuid() != 0 or not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("needs root and /dev/fuse")
        process = subprocess.Popen([self.program, "-m", "mnt", "-b", "data", *options], cwd=self.folder, env=self.environment,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        harness.wait_for(lambda: os.path.ismount(self.folder / "mnt") or process.poll() is not None, "the mount")
        self.assertIsNone(process.poll())
        return process

    def stop(self, process):
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
        self.assertEqual(process.returncode, 0, err)

    def lines(self):
        (file,) = (self.folder / "data/trace").iterdir()
        self.assertRegex(file.name, r"^\d{8}-\d{6}\.trace$")
        return file.read_text().splitlines()

    def shell(self, command):
        done = harness.run("bash", "-c", command, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)

    def refused(self, *words):
        done = harness.run(self.program, *words, cwd=self.folder, env=self.environment)
        self.assertNotEqual(done.returncode, 0)
        self.assertTrue(done.stderr.startswith("io_trace.py: "), done.stderr)
        return done.stderr


class Session(IoTraceTest):
    def test_the_session_of_the_readme(self):
        process = self.start()
        self.shell('umask 022; mkdir mnt/hello; echo "Hello World!" > mnt/hello/world.txt')
        # The kernel sends it after the close.
        harness.wait_for(lambda: any("RELEASE" in line for line in self.lines()), "the release")
        self.stop(process)
        self.assertEqual((self.folder / "data/root/hello/world.txt").read_text(), "Hello World!\n")
        found = [LINE.match(line) for line in self.lines()]
        self.assertNotIn(None, found)
        kept = [f"{kind:>8}: {text}" for kind, text in (match.groups() for match in found)
                if kind.strip() != "GETATTR" and (text + ";").startswith("path=/hello")]
        self.assertEqual("\n".join(kept) + "\n", SESSION)
        looked_up = {text for kind, text in (match.groups() for match in found) if kind.strip() == "GETATTR"}
        self.assertLessEqual({"path=/hello", "path=/hello/world.txt"}, looked_up)
        (trace,) = self.traces.iterdir()
        recording = harness.Recording(trace, None)
        self.assertEqual(int(recording.value("SELECT sum(result) FROM fuse_write")), 13)

    def test_a_second_session_adds_a_file_and_clear_removes_all(self):
        self.stop(self.start())
        (self.folder / "data/root/kept").write_text("x")
        harness.wait_for(lambda: not (self.folder / "data/trace" / f"{self.now()}.trace").exists(), "another second")
        process = self.start("-f")
        self.assertTrue((self.folder / "mnt/kept").exists())
        self.assertIn("GETATTR: path=/kept", "".join(file.read_text() for file in (self.folder / "data/trace").iterdir()), "written before the end")
        self.stop(process)
        self.assertEqual(len(list((self.folder / "data/trace").iterdir())), 2)
        outside = self.folder / "outside"
        outside.mkdir()
        (outside / "file").write_text("x")
        (self.folder / "data/root/link").symlink_to(outside)
        harness.wait_for(lambda: not (self.folder / "data/trace" / f"{self.now()}.trace").exists(), "another second")
        process = self.start("--clear")
        self.assertEqual(list((self.folder / "mnt").iterdir()), [])
        self.stop(process)
        self.assertEqual(len(self.lines()), len(self.lines()))
        self.assertTrue((outside / "file").exists(), "behind a link")

    def now(self):
        return harness.run("date", "-u", "+%Y%m%d-%H%M%S").stdout.strip()

    def test_clear_removes_nothing_if_the_mount_is_refused(self):
        (self.folder / "data/root").mkdir(parents=True)
        (self.folder / "data/root/file").write_text("x")
        (self.folder / "full").mkdir()
        (self.folder / "full/file").write_text("y")
        self.assertIn("it is not empty", self.refused("-m", "full", "-b", "data", "-c"))
        self.assertIn("inside the backend", self.refused("-m", "data/root/point", "-b", "data", "-c"))
        self.assertTrue((self.folder / "data/root/file").exists())
        self.assertFalse((self.folder / "data/root/point").exists(), "what was made is removed")

    def test_wrong_words(self):
        self.assertIn("--mountpoint", self.refused("-b", "data"))
        self.assertIn("--backend", self.refused("-m", "mnt"))
        self.assertIn("not expected", self.refused("-m", "mnt", "-b", "data", "-x"))
        self.assertFalse((self.folder / "mnt").exists())


class Documents(IoTraceTest):
    def test_the_page_has_each_option(self):
        table = PAGE.split("## Options")[1].split("## ")[0]
        documented = set(re.findall(r"^\| `(-\w)`, `(--[\w-]+)` \|", table, re.M))
        usage = harness.run(harness.IOTRAIL, "as", "io_trace.py", "--help").stdout
        offered = set(re.findall(r"^ +(-\w),(--[\w-]+)", usage, re.M)) - {("-h", "--help")}
        self.assertEqual(documented, offered)


if __name__ == "__main__":
    harness.main()
