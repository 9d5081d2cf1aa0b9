# SPDX-License-Identifier: BSD-3-Clause
"""A watcher that cannot begin, or cannot go on: one message that says why."""
import contextlib
import json
import os

import iotracer
from iotracer import harness

FAILED, USAGE = 1, 2


class Mistakes(iotracer.IotracerTest):
    def refused(self, *command):
        """(status, message in one line)"""
        done = harness.run(*command, env=self.environment)
        self.assertEqual(done.stdout, "")
        self.assertEqual(done.stderr.count("iotrail: "), 1, done.stderr)
        return done.returncode, " ".join(done.stderr.split())

    def assert_refused(self, status, message, *words):
        with self.subTest(words=words):
            found, said = self.refused(harness.IOTRAIL, *words)
            self.assertIn(message, said)
            self.assertEqual(found, status)

    def test_words(self):
        file, full = self.folder / "file", self.folder / "full"
        file.write_text("")
        full.mkdir()
        (full / "file").write_text("")
        for status, message, *words in (
                (USAGE, "no directory"),
                (USAGE, "a log has from 1 to 1000000 events", self.point, "MAX_EVENTS=0"),
                (USAGE, "a log has from 1 to 1000000 events", self.point, "MAX_EVENTS=1e3"),
                (USAGE, "'--what' is not understood", self.point, "--what"),
                (FAILED, "No such file or directory", self.folder / "none"),
                (FAILED, "it is not a directory", file),
                (FAILED, "it is not empty", full)):
            self.assert_refused(status, message, "as", "iotracer", *words)
        for status, message, *words in (
                (USAGE, "it takes a whole number above 0", "--max", "0", file),
                (FAILED, "No such file or directory", self.folder / "none"),
                (FAILED, "Is a directory", full),
                (FAILED, "no watcher runs", "list"),
                (FAILED, "no watcher runs", "add", file),
                (USAGE, "it takes a whole number above 0", "add", file, "0"),
                (USAGE, "a log has from 1 to 1000000", "add", file, "1000001")):
            self.assert_refused(status, message, "watch", *words)
        self.assertEqual(os.listdir(self.point), [])

    def test_no_fuse_device(self):
        self.require_program("unshare")
        status, said = self.refused("unshare", "--mount", "sh", "-c", "mount -t tmpfs none /dev && exec \"$@\"", "sh",
                                    harness.IOTRAIL, "as", "iotracer", self.point)
        self.assertIn("this machine has no /dev/fuse", said)
        self.assertEqual(status, FAILED)

    def test_full_disk(self):
        """What was recorded stays in the log, and what was not is said. Then the watcher continues."""
        traces = self.folder / "traces"
        self.make_small_disk(traces, "512k")
        watched, other = self.folder / "watched", self.folder / "other"
        for file in (watched, other):
            file.write_bytes(bytes(1 << 20))
        watcher = self.begin("watch", "--mount", self.point, watched)
        (log,) = self.point.glob("*_*")
        self.write(watched, 200_000)
        answer = harness.wait_for(lambda: self.log_with_failure(watched), "the end of the space")
        self.assertEqual(len(answer["entries"]), 10)
        lost, failed = answer["warnings"]
        self.assertRegex(lost, "^[1-9][0-9,]* EVENTS LOST")
        self.assertIn("No space left on device", failed)
        def continues():
            self.write(watched, 1)
            return any(event.seconds > failed_at for event in self.events(log, "VFS"))
        failed_at = max(event.seconds for event in self.events(log))
        harness.wait_for(continues, "another recording")
        with open(traces / "all", "wb", buffering=0) as rest:
            with contextlib.suppress(OSError):
                while rest.write(bytes(1024)):
                    pass
        status, said = self.refused(harness.IOTRAIL, "watch", "add", other)
        self.assertIn("No space left on device", said)
        self.assertEqual(status, FAILED)
        self.assertEqual(self.control.read_text(), f"{log.name} {watched}\n")
        (traces / "all").unlink()
        self.assertEqual(self.watch("add", other).returncode, 0)
        self.stop(watcher)
        self.assertEqual(watcher.stderr.read().count("No space left on device"), 1)

    def write(self, path, count):
        with open(path, "r+b", buffering=0) as file:
            for number in range(count):
                os.pwrite(file.fileno(), bytes(1 + number % 4000), number * 7919 % (1 << 20))

    def log_with_failure(self, path):
        answer = json.loads(self.watch("log", path, "--json").stdout)
        return len(answer["warnings"]) == 2 and answer


if __name__ == "__main__":
    harness.main()
