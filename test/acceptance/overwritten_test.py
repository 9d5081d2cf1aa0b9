# SPDX-License-Identifier: BSD-3-Clause
"""A program overwrites or truncates the memory that it shares with the recorder. No program is
harmed. The recorder ends in time; its numbers add up, and it reports what it does not know."""
import itertools
import os
import signal

import harness

OVERWRITE = os.environ["IOTRAIL_OVERWRITE"]
STATUS = 9
CALLS_MOST = 2000  # more than the program makes
PATTERN = "lcg"
OTHER_PATTERNS = ("ones", "zeros")
COUNTER = "preload_overwritten"
# Whether the recorder has read the records, by the time that the program waits.
NOT_READ_YET, READ_BEFORE = 0, 300_000
PARTS = [*itertools.product(("whole", "header", "owners", "place", "places"), (READ_BEFORE,)), *itertools.product(("whole", "header", "place"), (NOT_READ_YET,))]
FIRST_PARTS = [("places", READ_BEFORE), ("whole", NOT_READ_YET)]


class Overwritten(harness.AcceptanceTest):
    def overwrite(self, part, pattern, pause_us, layers):
        recording = self.record(OVERWRITE, part, pattern, self.folder / "file", str(pause_us), options=("--layers", layers),
                                name=f"{part}-{pattern}-{pause_us}", expect=STATUS)
        manifest = recording.manifest
        for source in manifest["sources"]:
            self.assertEqual(source["produced"], source["written"] + source["lost"], source)
            if source["source"] == "preload":
                self.assertLess(source["produced"], CALLS_MOST)
        self.assertNotIn("iotrail has a bug", recording.process.stderr)
        return recording, manifest

    def assert_reported(self, recording, manifest):
        count = manifest["counters"].get(COUNTER)
        # 2: one ring is found damaged before the whole arena.
        self.assertIn(count, (1, 2), manifest["counters"])
        self.assertRegex(recording.process.stderr, rf"{count} times? \({COUNTER}\)")
        report = harness.run(harness.IOTRAIL, "report", "--full", recording.path)
        self.assertEqual(report.returncode, 0, report.stderr)
        self.assertIn("SOME MAY BE MISSING", report.stdout)
        self.assertIn(COUNTER, report.stdout)
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 1, verified.stdout)
        self.assertIn(COUNTER, verified.stdout)
        self.assertEqual(int(recording.value(f"SELECT sum(events) FROM losses WHERE counter = '{COUNTER}'")), count)
        # That memory says whether a program loaded the library.
        for program in manifest["not_followed"]:
            self.assertNotRegex(program, "it did not load the preload library$")

    def overwrite_all(self, patterns, parts=PARTS):
        for part, pause_us in parts:
            for pattern in patterns:
                with self.subTest(part=part, pattern=pattern, pause_us=pause_us):
                    self.assert_reported(*self.overwrite(part, pattern, pause_us, "app"))

    def test_records(self):
        self.overwrite_all([PATTERN], FIRST_PARTS)

    @harness.long
    def test_other_records_and_patterns(self):
        self.overwrite_all([PATTERN], [part for part in PARTS if part not in FIRST_PARTS])
        self.overwrite_all(OTHER_PATTERNS)

    def overwrite_rings(self, patterns):
        """The trace has the records read before. Overwritten ones are lost or unknown."""
        for part in ("records", "text"):
            for pattern in patterns:
                for pause_us in (NOT_READ_YET, READ_BEFORE):
                    with self.subTest(part=part, pattern=pattern, pause_us=pause_us):
                        self.overwrite(part, pattern, pause_us, "app")

    def test_rings(self):
        self.overwrite_rings([PATTERN])

    @harness.long
    def test_rings_by_other_patterns(self):
        self.overwrite_rings(OTHER_PATTERNS)

    @harness.in_both
    def test_file_that_is_truncated(self):
        for how, pause_us in harness.first(2, (("empty", 0), ("half", 300_000), ("empty", 300_000), ("half", 0))):
            with self.subTest(how=how, pause_us=pause_us):
                self.assert_reported(*self.overwrite("file", how, pause_us, "app"))

    @harness.long
    def test_other_programs_survive_a_truncated_file(self):
        for how in ("empty", "half"):
            with self.subTest(how=how):
                both = f'"$0" none - "$1" 150000 & other=$!; "$0" file {how} "$1" 100000; one=$?; wait $other; echo $? $one'
                recording = self.record("sh", "-c", both, OVERWRITE, self.folder / "file", options=("--layers", "app"), name=how)
                self.assertEqual(recording.process.stdout, f"{STATUS} {STATUS}\n")
                self.assert_reported(recording, recording.manifest)

    def test_file_that_is_unlinked(self):
        """A program that has it mapped continues; a later program is not followed."""
        commands = '"$0" file unlink "$1" 0; "$0" none - "$1" 0'
        recording = self.record("sh", "-c", commands, OVERWRITE, self.folder / "file", options=("--layers", "app"), expect=STATUS)
        self.assert_adds_up(recording)
        written = recording.value(f"SELECT count(*) FROM app_write JOIN files USING (file) WHERE path = '{self.folder / 'file'}'")
        self.assertEqual(int(written), 200)
        self.assertIn("1 time (preload_not_followed)", recording.process.stderr)

    def test_bus_errors_of_the_program_are_its_own(self):
        own_file = ("import mmap; f = open('own', 'w+b'); f.truncate(4096); m = mmap.mmap(f.fileno(), 4096); f.truncate(0); print(m[0])")
        ignored = "trap '' BUS; sh -c 'kill -BUS $$; exit 9'"
        died = 128 + signal.SIGBUS
        for name, command, status in (("own file", ("python3", "-c", own_file), died), ("sent", ("sh", "-c", "kill -BUS $$"), died),
                                      ("ignored", ("sh", "-c", ignored), STATUS)):
            with self.subTest(name):
                self.record(*command, options=("--layers", "app"), name=name, expect=status, cwd=self.folder)

    @harness.long
    def test_other_layers_lose_nothing(self):
        recording, manifest = self.overwrite("whole", "lcg", 300_000, "app,syscall")
        self.require(recording, "syscall")
        self.assert_reported(recording, manifest)
        written = recording.value(f"SELECT count(*) FROM syscall_write JOIN files USING (file) WHERE path = '{self.folder / 'file'}'")
        self.assertEqual(int(written), 200)


if __name__ == "__main__":
    harness.main()
