# SPDX-License-Identifier: BSD-3-Clause
"""The questions of docs/questions.md: the first ten lines of one command answer each."""
import json
import pathlib
import re
import sys

import harness

LINES = 10
PAGES = 64
IMPORT = f"""
import os
fd = os.open("journal", os.O_WRONLY | os.O_CREAT)
for row in range(1000):
    os.pwrite(fd, b"row", 3 * row)
    os.fsync(fd)
"""
COPIES = """
import os
for name, pages in (("small", 1), ("large", 512)):
    fd = os.open(name, os.O_WRONLY | os.O_CREAT)
    os.write(fd, bytes(4096 * pages))
    os.fsync(fd)
"""
READER = f"""
import os
fd = os.open("data", os.O_RDWR | os.O_CREAT)
os.write(fd, bytes(4096 * {PAGES}))
for _ in range(3):
    for page in range({PAGES}):
        os.pread(fd, 4096, 4096 * page)
"""
SYNCS = "import os; fd = os.open('f', os.O_WRONLY | os.O_CREAT); [os.fsync(fd) for _ in range({})]"


class Questions(harness.AcceptanceTest):
    def recorded(self, script, name="t", options=()):
        return self.record(sys.executable, "-S", "-c", script, name=name, options=options, cwd=self.folder).path

    def answer(self, *arguments):
        """The first ten lines, as one text, with single blanks."""
        process = harness.run(harness.IOTRAIL, *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return " ".join(" ".join(process.stdout.splitlines()[:LINES]).split())

    def test_why_is_this_import_slow(self):
        self.assertRegex(self.answer("report", self.recorded(IMPORT)),
                         "SLOWED BY .*calls on files took .*; fsync took most, .* of the run, most on .*/journal")

    def test_why_did_this_write_fail(self):
        """A direct write of a length that no disk takes."""
        trace = self.record("dd", "if=/dev/zero", f"of={self.folder}/d", "bs=1000", "count=1", "oflag=direct", expect=1).path
        self.assertRegex(self.answer("report", trace), "FAILED: write of dd on .*/d, once, with EINVAL: invalid argument; direct I/O needs\\s+aligned memory")

    def test_which_process_writes_to_this_disk(self):
        trace = self.recorded(COPIES)
        self.require(harness.Recording(trace, None), "block")
        self.assertRegex(self.answer("report", trace, "--by", "process"), r"dev write .*python\S* .*2\.\d\d MiB")

    def test_which_file_causes_most_device_writes(self):
        trace = self.recorded(COPIES)
        self.require(harness.Recording(trace, None), "block")
        answer = self.answer("report", trace, "--by", "file", "--sort", "dev write")
        self.assertRegex(answer, r"2\.00 MiB .*/large .*4\.00 KiB .*/small")

    def test_how_large_should_my_cache_be(self):
        answer = self.answer("cache", self.recorded(READER), "--file", self.folder / "data")
        self.assertIn("A CACHE OF 256 KiB SERVES 95.0 % OF THE REPEATED READS; all of them need 256 KiB", answer)

    def test_did_my_change_make_it_faster(self):
        sides = {side: [self.recorded(SYNCS.format(syncs), f"{side}{run}", ("-l", "syscall")) for run in range(4)]
                 for side, syncs in (("before", 40), ("after", 2))}
        answer = self.answer("diff", "--before", *sides["before"], "--after", *sides["after"])
        self.assertRegex(answer, "(LESS TIME, likely|NO CHANGE OF TIME IS SHOWN|MORE TIME, likely): calls on files, ")
        self.assertRegex(answer, r"run .*with 97\.1 % confidence")
        self.assertRegex(answer, r"calls .*: x 0\.\d\d")

    def test_what_were_the_slowest_syncs_and_what_did_they_wait_for(self):
        trace = self.recorded(IMPORT)
        options = ("explain", trace, "--operation", "fsync", "--slowest", "10")
        answer = self.answer(*options)
        self.assertRegex(answer, "10 operations, .* in all: .* %.* operation call took .*most of it file")
        self.assertGreaterEqual(answer.count(" fsync "), 5)
        slowest = json.loads(harness.run(harness.IOTRAIL, *options, "--json").stdout)["operations"]
        longest = harness.Recording(trace, None).query(
            "SELECT duration_ns FROM syscall_sync WHERE call = 'fsync' ORDER BY duration_ns DESC LIMIT 10")
        self.assertEqual([row["duration_ns"] for row in slowest], [int(row["duration_ns"]) for row in longest])

    def test_the_document_has_these_commands(self):
        page = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "questions.md").read_text()
        for command in ("iotrail report ", "--by process", "--by file --sort 'dev write'", "iotrail cache ",
                        "iotrail diff --before", "--operation fdatasync --slowest 10"):
            self.assertRegex(page, r"(?m)^\$ iotrail .*" + re.escape(command.removeprefix("iotrail ")))


if __name__ == "__main__":
    harness.main()
