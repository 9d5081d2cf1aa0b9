# SPDX-License-Identifier: BSD-3-Clause
"""I/O of iotrail inside a program is not the program's: with and without the app layer, the same
calls are recorded."""
import os
import pathlib
import re

import harness

CALLS = os.environ["IOTRAIL_CALLS"]
CALLS_TABLE = pathlib.Path(__file__).parents[2] / "schema/syscalls.def"
FOLLOWED = re.findall(r"^SYSCALL\(\d+, -?\d+, (\w+),", CALLS_TABLE.read_text(), re.MULTILINE)


LIBRARY = (pathlib.Path(harness.IOTRAIL).parent / "../lib/iotrail/libiotrail-preload.so").resolve()


class OwnIo(harness.AcceptanceTest):
    def calls_seen(self, layers, command):
        recording = self.record(*command, options=("--layers", layers, "--pseudo"), name=layers)
        self.require(recording, *layers.split(","))
        self.assert_adds_up(recording)
        rows = recording.query("SELECT call, count(*) AS n FROM events WHERE layer = 'syscall' GROUP BY call")
        return {row["call"]: int(row["n"]) for row in rows}

    def calls_of_strace(self, command):
        self.require_program("strace")
        summary = self.folder / "strace"
        done = harness.run("strace", "-f", "-c", "-U", "name,calls", "-o", summary, "-e", "trace=" + ",".join(f"?{call}" for call in FOLLOWED), *command)
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = [line.split() for line in summary.read_text().splitlines()]
        return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[0] in FOLLOWED}

    def check(self, *command):
        alone = self.calls_seen("syscall", command)
        self.assertEqual(self.calls_seen("app,syscall", command), alone)
        self.assertEqual(self.calls_of_strace(command), alone)

    @harness.long
    def test_true(self):
        self.check("true")

    @harness.long
    def test_cat(self):
        self.check("cat", "/etc/passwd")

    def test_threads(self):
        self.check(CALLS, "threads", self.folder, "4", "300")

    def test_buffered_streams(self):
        self.check(CALLS, "stdio", self.folder, "20000")

    def test_children(self):
        self.check(CALLS, "family", self.folder)

    def test_shell(self):
        self.check("sh", "-c", "ls / >/dev/null; cat /etc/passwd >/dev/null; (true)")

    def test_no_layer_sees_the_library_or_its_arena(self):
        with open(LIBRARY, "rb") as library:
            # So that the disk is read.
            os.posix_fadvise(library.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        recording = self.record(CALLS, "family", self.folder)
        self.assert_adds_up(recording, lost=None)
        own = recording.query("SELECT e.layer, e.event, f.path FROM events AS e JOIN files AS f ON e.file = f.file "
                              "WHERE f.path LIKE '%iotrail-preload%'")
        self.assertEqual(own, [])

    def test_a_program_that_reads_the_library_is_seen(self):
        recording = self.record("cp", LIBRARY, self.folder / "copy", options=("--layers", "app,syscall"))
        self.require(recording, "app", "syscall")
        opened = recording.value("SELECT count(*) FROM syscall_open AS o JOIN strings AS s ON o.path = s.string "
                                 f"WHERE s.text = '{LIBRARY}'")
        self.assertEqual(int(opened), 1)


if __name__ == "__main__":
    harness.main()
