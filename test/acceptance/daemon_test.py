# SPDX-License-Identifier: BSD-3-Clause
"""Processes that outlive the command: the trace names them, and records them on request."""
import re

import harness

FILES = 10
BACKGROUND = "</dev/null >/dev/null 2>&1 &"
# These leave a process behind: one that writes files after a second, and one that only waits. Without the kernel's layers a
# process is known from its first call on a file, so that the second command waits for that.
WRITER = f"(sleep 1; for i in $(seq {FILES}); do echo x >$0/file$i; done) {BACKGROUND}"
SLEEPER = f"(: >$0/started; exec sleep 1000) {BACKGROUND} until [ -e $0/started ]; do sleep 0.05; done"


class Daemons(harness.AcceptanceTest):
    def files_written(self, recording, layer):
        return int(recording.value(f"SELECT count(*) FROM {layer}_open AS o JOIN strings AS s ON o.path = s.string "
                                   f"WHERE s.text LIKE '{self.folder}/file%'"))

    def end_sleeper(self, recording):
        """Its pid and name, as the recording has them."""
        (name,) = recording.manifest["still_running"]
        harness.kill_all([name.split()[0]])
        return name

    def check_named(self, layers):
        recording = self.record("sh", "-c", SLEEPER, self.folder, options=("--layers", layers))
        name = self.end_sleeper(recording)
        self.require(recording, *layers.split(","))
        self.assertIn("1 process, no longer recorded", " ".join(recording.process.stderr.split()))
        self.assertIn(name, recording.process.stderr)
        self.assertRegex(harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout,
                         rf"(?m)^  running .*{re.escape(name)}")

    def test_named_by_the_kernel(self):
        self.check_named("app,syscall")

    def test_named_without_the_kernel(self):
        self.check_named("app")

    def test_none_is_named_if_none_is_left(self):
        recording = self.record("sh", "-c", "true & wait; true")
        self.assertEqual(recording.manifest["still_running"], [])
        self.assertNotIn("no longer recorded", recording.process.stderr)

    def test_followed(self):
        for layers in ("app,syscall", "app"):
            with self.subTest(layers=layers):
                recording = self.record("sh", "-c", WRITER, self.folder, options=("--layers", layers, "--follow"),
                                        name=layers)
                self.require(recording, *layers.split(","))
                self.assert_adds_up(recording)
                self.assertEqual(self.files_written(recording, layers.split(",")[-1]), FILES)
                self.assertEqual(recording.manifest["still_running"], [])
                self.assertEqual(recording.manifest["stop_reason"], "command ended, and all that it started")

    def test_followed_until_the_time_is_over(self):
        recording = self.record("sh", "-c", SLEEPER + "; exit 5", self.folder, expect=5,
                                options=("--layers", "app", "--follow", "--time", "1500ms"))
        self.assertEqual(recording.manifest["stop_reason"], "time limit")
        self.end_sleeper(recording)


if __name__ == "__main__":
    harness.main()
