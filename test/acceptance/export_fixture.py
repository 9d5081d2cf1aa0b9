# SPDX-License-Identifier: BSD-3-Clause
"""One recording with a hostile name of a file, and its exports, for the acceptance tests of formats."""
import pathlib
import re
import shutil
import tempfile

import harness

# Hostile for each format: its separators, quotes, control characters, and bytes that are no text.
NAME = b"a;b \"c\" <d>,'e' %f \x1b[31m \n{g}\\ \xff"

PROGRAM = """
import os, sys
folder = os.fsencode(sys.argv[1])
name = os.path.join(folder, bytes.fromhex(sys.argv[2]))
file = os.open(name, os.O_RDWR | os.O_CREAT)
for n in range(64):
    os.write(file, b"x" * 4096)
    if n % 8 == 7:
        os.fdatasync(file)
for n in range(50):
    os.pread(file, 1000 + 8 * n, n * 7919 % 200000)
os.fsync(file)
os.close(file)
other = os.open(os.path.join(folder, b"other"), os.O_RDWR | os.O_CREAT)
os.write(other, b"y" * 100000)
os.fsync(other)
os.close(other)
try:
    os.open(os.path.join(folder, b"missing"), os.O_RDONLY)
except FileNotFoundError:
    pass
"""


class ExportTest(harness.AcceptanceTest):
    trace = None

    def setUp(self):
        super().setUp()
        if ExportTest.trace is None:
            _, point = self.make_disk("ext4", 64 << 20)
            recording = self.record("python3", "-c", PROGRAM, point, NAME.hex())
            shared = pathlib.Path(tempfile.mkdtemp(dir=harness.SCRATCH))
            self.addClassCleanup(shutil.rmtree, shared, ignore_errors=True)
            ExportTest.trace = shared / "t.iotrail"
            shutil.copytree(recording.path, ExportTest.trace)
        self.recording = harness.Recording(ExportTest.trace, None)

    def export(self, name, *options, to=None):
        path = self.folder / name
        exported = harness.run(harness.IOTRAIL, "export", ExportTest.trace, "-o", path, *(("--to", to) if to else ()), *options)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertRegex(exported.stderr, r"^iotrail: [\w-]+ leaves out .")
        return path

    def sum_of(self, column, relation, condition="true"):
        return int(self.recording.value(f"SELECT coalesce(sum({column}), 0) FROM {relation} WHERE {condition}"))

    def weights(self):
        """The sums that stacks have: of time and of bytes."""
        return {"time": self.sum_of("duration_ns", "file_calls"),
                "bytes": self.sum_of("bytes", "links", "completed_ns IS NOT NULL")}

    def formats(self):
        refused = harness.run(harness.IOTRAIL, "export", ExportTest.trace, "--to", "nosuch")
        return re.search(r"the formats are (.*)", refused.stderr)[1].split(", ")
