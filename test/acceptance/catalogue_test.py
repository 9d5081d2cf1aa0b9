# SPDX-License-Identifier: BSD-3-Clause
"""Lists, tags and removes traces by their names."""
import json
import os
import pty
import subprocess

import harness

FAILED = 1
QUICKLY = ("-q", "--layers", "app")  # what is recorded does not matter


class Catalogue(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.environment = dict(os.environ, IOTRAIL_REPOSITORY=str(self.folder / "repository"))

    def iotrail(self, *arguments, expect=0):
        process = harness.run(harness.IOTRAIL, *arguments, env=self.environment)
        self.assertEqual(process.returncode, expect, process.stderr)
        return process

    def names(self, *pattern):
        return [trace["name"] for trace in json.loads(self.iotrail("list", *pattern, "--json").stdout)["traces"]]

    def test_list_tag_remove(self):
        for name in ("alpha-1", "alpha-2", "beta"):
            self.iotrail("record", *QUICKLY, "-o", name, "--tag", f"which={name}", "--", "true")
        self.assertEqual(self.names(), ["alpha-1", "alpha-2", "beta"])
        self.assertEqual(self.names("alpha*"), ["alpha-1", "alpha-2"])
        self.assertEqual(self.names("velociraptor*"), [])
        self.iotrail("tag", "beta", "colour=red", "which=")
        (manifest,) = json.loads(self.iotrail("info", "beta", "--json").stdout)["manifest"]
        own = {name: value for name, value in manifest["tags"].items() if not name.startswith("iotrail.")}
        self.assertEqual(own, {"colour": "red"})  # the recorder notes mounts of FUSE, which other tests make
        self.iotrail("remove", "alpha-1", "alpha-2")
        self.assertEqual(self.names(), ["beta"])

    def answer_at_terminal(self, answer, *arguments):
        """Status and screen of iotrail on a terminal at which `answer` is typed."""
        process_id, terminal = pty.fork()
        if process_id == 0:
            os.execve(harness.IOTRAIL, ["iotrail", *arguments], self.environment)
        screen = b""
        try:
            while b"[y/N]" not in screen:
                screen += os.read(terminal, 4096)
            os.write(terminal, answer)
            while True:
                screen += os.read(terminal, 4096)
        except OSError: # the terminal closes with the program
            pass
        os.close(terminal)
        return os.waitstatus_to_exitcode(os.waitpid(process_id, 0)[1]), screen.decode()

    def test_remove_asks_on_a_terminal(self):
        for name in ("first", "second"):
            self.iotrail("record", "-q", "-l", "app", "-o", name, "--", "true")
        status, screen = self.answer_at_terminal(b"n\n", "remove", "latest")
        self.assertEqual(status, FAILED)
        self.assertRegex(screen, r"second\.iotrail:\s+true, \d{4}-")
        self.assertIn("nothing was deleted", screen)
        self.assertEqual(self.names(), ["first", "second"])
        status, _ = self.answer_at_terminal(b"y\n", "remove", "latest")
        self.assertEqual(status, 0)
        self.assertEqual(self.names(), ["first"])

    def test_remove_of_the_latest_needs_a_yes(self):
        self.iotrail("record", "-q", "-l", "app", "-o", "only", "--", "true")
        self.assertIn("-y", self.iotrail("remove", "latest", expect=2).stderr)
        self.assertEqual(self.names(), ["only"])
        self.assertIn("there is no trace nosuch", self.iotrail("remove", "only", "nosuch", expect=FAILED).stderr)
        self.assertEqual(self.names(), ["only"], "a wrong name removes nothing")
        self.assertRegex(self.iotrail("remove", "-y", "latest").stdout, r"^deleted .*only\.iotrail: true")
        self.assertEqual(self.names(), [])

    def test_list_of_one_trace(self):
        for name in ("alpha", "beta"):
            self.iotrail("record", *QUICKLY, "-o", name, "--", "true")
        self.assertEqual(self.names(self.folder / "repository/alpha.iotrail"), ["alpha"])
        self.assertEqual(self.names("alpha"), ["alpha"])
        self.assertEqual(self.names("latest"), ["beta"])
        self.assertEqual(self.names(self.folder / "repository"), ["alpha", "beta"])
        for form in ((), ("--json",)):
            self.assertIn("there is no trace nosuch", self.iotrail("list", "nosuch", *form, expect=FAILED).stderr)
        self.assertIn("Did you mean 'alpha'?", self.iotrail("report", "alhpa", expect=FAILED).stderr)

    def test_traces_that_may_not_be_read_are_listed(self):
        self.iotrail("record", *QUICKLY, "-o", "secret", "--", "true")
        self.folder.chmod(0o755)
        (self.folder / "repository/secret.iotrail").chmod(0o700)
        process = harness.run("setpriv", "--reuid=65534", "--clear-groups", harness.IOTRAIL, "list", env=self.environment)
        if os.geteuid() != 0 or "setpriv" in process.stderr:
            self.skipTest("needs root and setpriv")
        self.assertRegex(process.stdout, "secret +UNREADABLE")

    def test_running_trace_is_not_removed(self):
        recorder = subprocess.Popen([harness.IOTRAIL, "record", *QUICKLY, "-o", "running", "--", "sleep", "1000"],
                                    env=self.environment, stdin=subprocess.DEVNULL)
        try:
            harness.wait_until_running(self.folder / "repository/running.iotrail")
            self.assertIn("RUNNING", self.iotrail("list").stdout)
            refused = self.iotrail("remove", "running", expect=FAILED)
            self.assertIn("--force", refused.stderr)
            self.assertEqual(self.names(), ["running"])
            self.iotrail("remove", "--force", "running")
            self.assertEqual(self.names(), [])
        finally:
            recorder.terminate()
            recorder.wait()


if __name__ == "__main__":
    harness.main()
