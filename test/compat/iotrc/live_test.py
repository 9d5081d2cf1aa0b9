# SPDX-License-Identifier: BSD-3-Clause
"""The tree of the face iotrc while it traces sqlite3 and fio: closed files appear, and at the end it equals the tree of an export,
row by row; what a killed iotrc leaves is whole; a tree that could not be written has every row later."""
import csv
import io
import json
import os
import pathlib
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

# Works until the file `stop` exists.
WORK = r"""
cd "$1"
echo ready > ready
until [ -e stop ]; do
  sqlite3 db 'CREATE TABLE IF NOT EXISTS t(a); INSERT INTO t VALUES(randomblob(20000)); SELECT count(*) FROM t' > /dev/null
  fio --name=j --filename=f --ioengine=psync --rw=randrw --bs=4k --size=256k --fsync=16 > /dev/null
  mv f g; rm g
  sleep 0.2
done
"""


def rows_of(session, stream):
    """The rows of all files of a stream, in the order of their numbers."""
    found = []
    for path in sorted((session / stream).glob(f"{stream}_*.zst"), key=lambda path: int(path.name.split(".")[0].split("_")[-1])):
        text = subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True).stdout.decode(errors="surrogateescape")
        found += list(csv.reader(io.StringIO(text, newline="")))[1:]
    return found


class LiveTree(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        for program in ("zstd", "sqlite3", "fio"):
            self.require_program(program)
        self.traces = self.folder / "traces"
        self.out = self.folder / "out"
        _, point = self.make_disk("ext4", 64 << 20)
        self.work = point / "work"
        for folder in (self.traces, self.out, self.work):
            folder.mkdir()
        self.program = self.folder / "iotrc"
        self.program.symlink_to(harness.IOTRAIL)

    def start(self, *options):
        self.running = subprocess.Popen(
            [self.program, "-o", self.out, "--no-snapshots", "--cache", *options, "--", "sh", "-c", WORK, "sh", self.work],
            env=os.environ | {"IOTRAIL_REPOSITORY": str(self.traces)}, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end)
        harness.wait_for(lambda: (self.work / "ready").exists() or self.running.poll() is not None, "the recording")

    def end(self):
        (self.work / "stop").touch()
        self.said = self.running.communicate()[1] if self.running.returncode is None else self.said
        return self.running.returncode

    def parts(self, stream="fs"):
        return sorted(self.out.glob(f"linux_v1/*/*/{stream}/*.zst"))

    def session(self, folder):
        (session,) = folder.glob("linux_v1/*/*")
        return session

    def exported(self):
        (trace,) = self.traces.iterdir()
        target = self.folder / "exported"
        done = harness.run(harness.IOTRAIL, "export", trace, "--to", "iotrc", "-o", target)
        self.assertEqual(done.returncode, 0, done.stderr)
        return self.session(target)

    def assert_same_rows(self):
        here, there = self.session(self.out), self.exported()
        streams = sorted(path.name for path in there.iterdir() if path.is_dir() and path.name != "system_spec")
        self.assertEqual(streams, sorted(path.name for path in here.iterdir() if path.is_dir() and path.name != "system_spec"))
        for stream in streams:
            found, expected = rows_of(here, stream), rows_of(there, stream)
            self.assertEqual(len(found), len(expected), stream)
            for one, other in zip(found, expected):
                self.assertEqual(one, other, stream)
        self.assertEqual(list(here.rglob("*.part")), [])
        return streams

    def test_files_appear_while_tracing_and_the_tree_is_that_of_an_export(self):
        self.start("--part-seconds", "1")
        harness.wait_for(lambda: len(self.parts()) >= 4 and len(self.parts("block")) >= 1, "files of the tree")
        self.assertIsNone(self.running.poll())
        manifest = json.loads((self.session(self.out) / "manifest.json").read_text())
        self.assertIsNone(manifest["session"]["stopped_at"])
        before = {path: path.read_bytes() for path in self.parts()}
        self.assertGreaterEqual(len(rows_of(self.session(self.out), "fs")), 100)
        self.assertEqual(self.end(), 0, self.said)
        self.assertEqual({path: path.read_bytes() for path in before}, before)
        streams = self.assert_same_rows()
        self.assertGreaterEqual(set(streams), {"fs", "block", "cache"})
        manifest = json.loads((self.session(self.out) / "manifest.json").read_text())
        self.assertIsNotNone(manifest["session"]["stopped_at"])
        self.assertEqual(manifest["diagnostics"]["rows_written"]["fs"], len(rows_of(self.session(self.out), "fs")))

    def test_many_rows_make_a_file_at_once(self):
        self.start("--part-rows", "200")
        harness.wait_for(lambda: len(self.parts()) >= 3, "files of the tree")
        self.assertEqual(self.end(), 0, self.said)
        self.assert_same_rows()

    def test_a_killed_iotrc_leaves_closed_files_and_its_trace(self):
        self.start("--part-seconds", "1")
        harness.wait_for(lambda: len(self.parts()) >= 2, "files of the tree")
        self.running.send_signal(signal.SIGKILL)
        self.running.wait()
        self.said = ""
        (self.work / "stop").touch()
        found = rows_of(self.session(self.out), "fs")
        expected = rows_of(self.exported(), "fs")
        self.assertEqual(found, expected[:len(found)])
        self.assertGreater(len(expected), len(found))

    def test_a_tree_that_cannot_be_written_has_every_row_later(self):
        self.start("--part-seconds", "1")
        harness.wait_for(lambda: len(self.parts()) >= 1, "files of the tree")
        folder = self.session(self.out) / "fs"
        aside = self.folder / "aside"
        folder.rename(aside)
        folder.write_text("no directory")
        reader = iter(self.running.stderr.readline, "")
        self.assertTrue(any("rows follow" in line for line in reader))
        folder.unlink()
        aside.rename(folder)
        count = len(self.parts())
        harness.wait_for(lambda: len(self.parts()) > count, "further files of the tree")
        self.assertEqual(self.end(), 0, self.said)
        self.assert_same_rows()


if __name__ == "__main__":
    harness.main()
