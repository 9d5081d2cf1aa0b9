# SPDX-License-Identifier: BSD-3-Clause
"""Expensive, rarely needed events are recorded on request, and named where they are excluded."""
import re

import harness

ON_REQUEST = ("fs_journal_handle", "block_split", "block_remap", "block_getrq", "block_plug", "block_unplug")
SENTENCE = "Recorded only where --events names it"  # one of them also in recordings of disks


def descriptions():
    """event: its documentation in `iotrail schema`."""
    text = harness.run(harness.IOTRAIL, "schema").stdout
    return {event: " ".join(words.split()) for event, words in re.findall(r"^  (\w+): (.*(?:\n {6}.*)*)", text, re.MULTILINE)}


class OnRequest(harness.AcceptanceTest):
    def write(self, *options, name):
        return self.record("dd", "if=/dev/zero", f"of={self.folder}/f", "bs=64k", "count=8", "oflag=direct",
                           options=options, name=name)

    def left_out(self, recording):
        said = " ".join(recording.process.stderr.split())
        (names,) = re.findall(r"--events did not ask: ((?:\w+, )*\w+)", said)
        return names.split(", ")

    def test_left_out_events_are_named(self):
        recording = self.write(name="default")
        self.require(recording, "block")
        left_out = self.left_out(recording)
        self.assertLessEqual(set(ON_REQUEST), set(left_out))
        said = descriptions()
        for event in left_out:
            self.assertIn(SENTENCE, said[event])
        self.assertFalse(set(left_out) & set(recording.manifest["counts"]))
        self.assertNotIn("device", recording.manifest["layers"])

    def test_they_are_added_to_the_default_events(self):
        recording = self.write("--events", "default,block_getrq", name="added")
        self.require(recording, "block")
        self.assertLessEqual(set(ON_REQUEST) - {"block_getrq"}, set(self.left_out(recording)))
        self.assertNotIn("block_getrq", self.left_out(recording))
        counts = recording.manifest["counts"]
        for event in ("syscall_write", "block_queue", "block_getrq"):
            self.assertGreaterEqual(counts.get(event, 0), 8, event)
        self.assertEqual(recording.manifest["layers"], self.write(name="usual").manifest["layers"])

    def test_alone(self):
        recording = self.write("--events", "block_getrq", name="alone")
        self.require(recording, "block")
        self.assertEqual(set(recording.manifest["counts"]), {"block_getrq"})

    def test_the_schema_says_so(self):
        said = descriptions()
        for event in ON_REQUEST:
            self.assertIn(SENTENCE, said[event])


if __name__ == "__main__":
    harness.main()
