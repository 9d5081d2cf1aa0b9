# SPDX-License-Identifier: BSD-3-Clause
"""Processes that outlive the command: the trace names them, and records them on request."""
import re
import time

import harness

FILES = 10
# Ends at once; its background process writes files for a second.
DAEMON = f"(sleep 1; for i in $(seq {FILES}); do echo x >$0/file$i; done; exec sleep $1) </dev/null >/dev/null 2>&1 &"


class Daemons(harness.AcceptanceTest):
    def files_written(self, recording, layer):
        return int(recording.value(f"SELECT count(*) FROM {layer}_open AS o JOIN strings AS s ON o.path = s.string "
                                   f"WHERE s.text LIKE '{self.folder}/file%'"))

    def check_named(self, layers):
        recording = self.record("sh", "-c", DAEMON, self.folder, "0", options=("--layers", layers))
        self.require(recording, *layers.split(","))
        self.assertEqual(self.files_written(recording, layers.split(",")[-1]), 0)
        (name,) = [name for name in recording.manifest["still_running"] if name.split()[1] in ("sh", "sleep")][:1]
        self.assertIn("and are no more recorded" if len(recording.manifest["still_running"]) > 1
                      else "and is no more recorded", recording.process.stderr)
        self.assertIn(name, recording.process.stderr)
        self.assertRegex(harness.run(harness.IOTRAIL, "report", recording.path).stdout,
                         rf"(?m)^  goes on .*{re.escape(name)}")
        time.sleep(1.5)

    def test_named_by_the_kernel(self):
        self.check_named("app,syscall")

    def test_named_without_the_kernel(self):
        self.check_named("app")

    def test_none_is_named_if_none_is_left(self):
        recording = self.record("sh", "-c", "true & wait; true")
        self.assertEqual(recording.manifest["still_running"], [])
        self.assertNotIn("no more recorded", recording.process.stderr)

    def test_followed(self):
        for layers in ("app,syscall", "app"):
            with self.subTest(layers=layers):
                recording = self.record("sh", "-c", DAEMON, self.folder, "0.2", options=("--layers", layers, "--follow"),
                                        name=layers)
                self.require(recording, *layers.split(","))
                self.assert_adds_up(recording)
                self.assertEqual(self.files_written(recording, layers.split(",")[-1]), FILES)
                self.assertEqual(recording.manifest["still_running"], [])
                self.assertEqual(recording.manifest["stop_reason"], "command ended, and all that it started")

    def test_followed_until_the_time_is_over(self):
        recording = self.record("sh", "-c", DAEMON + " exit 5", self.folder, "2", expect=5,
                                options=("--layers", "app", "--follow", "--time", "1500ms"))
        self.assertEqual(recording.manifest["stop_reason"], "time limit")
        self.assertEqual(len(recording.manifest["still_running"]), 1)
        time.sleep(2)


if __name__ == "__main__":
    harness.main()
