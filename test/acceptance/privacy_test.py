# SPDX-License-Identifier: BSD-3-Clause
"""With --no-arguments, no part of a trace has the arguments of a command line."""
import os
import subprocess
import sys

import harness

SECRET = "pass-word-4711"


class Privacy(harness.AcceptanceTest):
    def everything_in(self, path):
        """All rows and the manifest of the trace as text."""
        texts = [harness.run(harness.IOTRAIL, *words).stdout
                 for words in (("export", path, "--to", "jsonl"), ("info", path, "--json"), ("report", path, "--json"))]
        self.assertTrue(all(texts))
        return "".join(texts) + (path / "manifest.json").read_text()

    def test_arguments_are_kept_unless_dropped(self):
        self.check_arguments("app,syscall,process" if os.geteuid() == 0 else "app")

    @harness.long
    def test_arguments_of_the_app_layer_are_kept_unless_dropped(self):
        self.check_arguments("app")

    def check_arguments(self, layers):
        command = ("sh", "-c", f"true; {sys.executable} -c pass {SECRET}; : {SECRET}")
        kept = self.record(*command, options=("-l", layers), name="kept")
        self.assertIn(SECRET, self.everything_in(kept.path))
        dropped = self.record(*command, options=("-l", layers, "--no-arguments"), name="dropped")
        self.assertNotIn(SECRET, self.everything_in(dropped.path))
        self.assertEqual(dropped.query("SELECT DISTINCT command FROM processes WHERE comm = 'sh' AND command <> ''"), [{"command": "sh"}])

    def test_a_running_process(self):
        if os.geteuid() != 0:
            self.skipTest("needs root to follow a process")
        with subprocess.Popen([sys.executable, "-c", "input()", SECRET], stdin=subprocess.PIPE) as process:
            path = self.folder / "running.iotrail"
            recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-l", "syscall", "-p", str(process.pid), "--no-arguments", "-o", path],
                                        stdin=subprocess.DEVNULL)
            harness.wait_until_running(path)
            process.communicate(b"\n")
            self.assertEqual(recorder.wait(), 0)
        self.assertNotIn(SECRET, self.everything_in(path))

    def test_a_snapshot_of_processes(self):
        with subprocess.Popen([sys.executable, "-c", "input()", SECRET], stdin=subprocess.PIPE) as process:
            for option, check in (((), self.assertIn), (("--no-arguments",), self.assertNotIn)):
                path = self.folder / f"snapshot{len(option)}.iotrail"
                taken = harness.run(harness.IOTRAIL, "snapshot", "--of", "process", *option, "-o", path)
                self.assertEqual(taken.returncode, 0, taken.stderr)
                check(SECRET, self.everything_in(path))
            process.communicate(b"\n")


if __name__ == "__main__":
    harness.main()
