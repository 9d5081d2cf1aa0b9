# SPDX-License-Identifier: BSD-3-Clause
"""The lines of the faces eziotracer and iotracer.sh, compared with what programs did on a disk of the test's own: fio as in
script.sh of EZIOTracer, SQLite, and calls at known positions."""
import collections
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

BLOCK_BYTES = 8192
BLOCKS = 64
FIELDS = ("time", "level", "op", "address", "size", "probe", "label", "pid", "tid", "comm", "inode", "parent")
Line = collections.namedtuple("Line", FIELDS)

PROGRAM = """
import os, sys
fd = os.open(sys.argv[1] + "/direct", os.O_RDWR | os.O_CREAT)
for position in (5_000_000_000, 0, 123):
    os.pwrite(fd, b"x" * 1000, position)
os.pread(fd, 700, 5_000_000_000)
os.pread(fd, 100, 1 << 40)
os.mkdir(sys.argv[1] + "/below")
below = os.open(sys.argv[1] + "/below/file", os.O_RDWR | os.O_CREAT)
os.write(below, b"not in the directory itself")
"""


def parse(path):
    lines = []
    for text in pathlib.Path(path).read_text().splitlines():
        fields = text.split("\t")
        assert len(fields) == len(FIELDS), text
        lines.append(Line(*(value if name in ("level", "op", "label", "comm", "probe") else int(value) for name, value in zip(FIELDS, fields))))
    return lines


class Lines(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.device, self.point = self.make_disk("ext4", 64 << 20)
        self.traces = self.folder / "traces"
        self.traces.mkdir()
        self.environment = os.environ | {"IOTRAIL_REPOSITORY": str(self.traces)}
        self.inode = os.stat(self.point).st_ino

    def trace(self, name, *words):
        """The lines, and the recording."""
        program = self.folder / name
        if not program.exists():
            program.symlink_to(harness.IOTRAIL)
        done = harness.run(program, *words, env=self.environment, cwd=self.folder)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.said = done.stderr
        (path,) = self.traces.iterdir()
        recording = harness.Recording(path, done)
        self.require(recording, "syscall")
        return recording

    def disk_counters(self):
        fields = pathlib.Path(f"/sys/block/{pathlib.Path(self.device).name}/stat").read_text().split()
        return {"R": int(fields[2]) * 512, "W": int(fields[6]) * 512}

    def assert_pairs(self, lines):
        """Each line of leaving has one of entering before it, of the same access."""
        open_accesses = collections.Counter()
        for line in lines:
            if line.level == "P":
                self.assertEqual(line.label, "E")
                continue
            key = (line.level, line.op, line.address, line.tid, line.inode)
            open_accesses[key] += 1 if line.label == "E" else -1
            self.assertGreaterEqual(open_accesses[key], 0, line)
        self.assertEqual(sum(open_accesses.values()), 0)

    def test_fio_direct(self):
        self.require_program("fio")
        before = self.disk_counters()
        recording = self.trace("iotracer.sh", "-d", self.point, "-o", "lines", "-l", "svpfb", "fio", "--rw=write", "--ioengine=sync", "--name=mytest",
                               f"--directory={self.point}", "--filename=fout2", "--thread", "--direct=1", f"--size={BLOCK_BYTES * BLOCKS}",
                               f"--bs={BLOCK_BYTES}", "--numjobs=1", "--output-format=json", f"--output={self.folder}/fio.json")
        self.require(recording, "block")
        text = (self.folder / "fio.json").read_text()
        job = json.loads(text[text.index("{"):])["jobs"][0]["write"]
        lines = parse(self.folder / "lines")
        self.assert_pairs(lines)
        self.assertEqual({line.time for line in lines} and [line.time for line in lines], sorted(line.time for line in lines))
        inode = os.stat(self.point / "fout2").st_ino
        calls = [line for line in lines if line.level == "S" and line.op == "W" and line.inode == inode]
        self.assertEqual(sum(line.label == "E" for line in calls), job["total_ios"])
        self.assertEqual(sum(line.size for line in calls if line.label == "L"), job["io_bytes"])
        self.assertEqual([line.address for line in calls if line.label == "E"], [BLOCK_BYTES * n for n in range(BLOCKS)])
        requests = [line for line in lines if line.level == "B" and line.op == "W" and line.inode == inode]
        self.assertEqual(sum(line.size for line in requests if line.label == "L"), job["io_bytes"])
        self.assertGreaterEqual(self.disk_counters()["W"] - before["W"], job["io_bytes"])
        self.assertEqual({line.parent for line in calls + requests}, {self.inode})
        self.assertEqual({line.comm for line in calls}, {"fio"})
        self.assertIn("level f has no lines", self.said)
        vfs = [line for line in lines if line.level == "V"]
        self.assertEqual(bool(vfs), "vfs" in recording.layers_recorded(), "a message says why there are none")
        self.assertEqual("vfs_read" in self.said, not vfs)

    def test_positions_of_pread_and_direct_children(self):
        self.trace("eziotracer", "-t", "python3", "-d", "-i", self.point, "-l", "s", "-e", "-k", "o", "-u", "p", "-s", "r", "-size", "1024",
                   "-wkup", "a", "-dev", self.device, "-o", "lines", "--", "python3", "-c", PROGRAM, self.point)
        inode = os.stat(self.point / "direct").st_ino
        lines = parse(self.folder / "lines")
        self.assertEqual({line.inode for line in lines}, {inode})
        entered = [(line.op, line.address, line.size) for line in lines if line.label == "E"]
        self.assertEqual(entered, [("W", 5_000_000_000, 1000), ("W", 0, 1000), ("W", 123, 1000), ("R", 5_000_000_000, 700), ("R", 1 << 40, 100)])
        self.assertEqual([line.size for line in lines if line.label == "L"], [1000, 1000, 1000, 700, 0])

    def test_an_inode_is_a_file(self):
        file = self.point / "one"
        file.write_bytes(b"x" * 100)
        inode = file.stat().st_ino
        self.trace("eziotracer", "-t", "cat", "-f", "-i", f"{file}", "-l", "s", "-o", "lines", "--", "cat", file, "/etc/hostname")
        self.assertEqual({(line.inode, line.op) for line in parse(self.folder / "lines")}, {(inode, "R")})

    def test_an_export_has_the_counts_of_the_trace(self):
        self.require_program("sqlite3")
        recording = self.record("sqlite3", self.point / "db", "CREATE TABLE t(a, b); INSERT INTO t VALUES(1, randomblob(100000)); SELECT sum(length(b)) FROM t;")
        self.require(recording, "syscall", "block")
        for name, to in (("t.tsv", "eziotracer"), ("t.csv", "eziotracer-csv")):
            done = harness.run(harness.IOTRAIL, "export", recording.path, "--to", to, "-o", self.folder / name)
            self.assertEqual(done.returncode, 0, done.stderr)
        lines = parse(self.folder / "t.tsv")
        self.assert_pairs(lines)
        for level, op, table in (("S", "R", "syscall_read"), ("S", "W", "syscall_write"), ("V", "R", "vfs_read"), ("V", "W", "vfs_write")):
            here = [line for line in lines if (line.level, line.op) == (level, op)]
            self.assertEqual(sum(line.label == "E" for line in here), int(recording.value(f"SELECT count(*) FROM {table}")))
            self.assertEqual(sum(line.size for line in here if line.label == "L"),
                             int(recording.value(f"SELECT coalesce(sum(greatest(result, 0)), 0) FROM {table} WHERE NOT is_unfinished(result)")))
        for op, name in (("R", "read"), ("W", "write")):
            here = [line for line in lines if line.level == "B" and line.op == op]
            self.assertEqual(sum(line.size for line in here if line.label == "L"),
                             int(recording.value(f"SELECT coalesce(sum(bytes), 0) FROM block_complete WHERE choice_text('block', flags) = '{name}' AND error = 0")))
        dirtied = int(recording.value("SELECT coalesce(sum(pages), 0) FROM cache_dirty"))
        self.assertEqual(sum(line.size for line in lines if line.level == "P" and line.op == "W"), dirtied * 4096)
        rows = [text.split(",") for text in (self.folder / "t.csv").read_text().splitlines()]
        self.assertEqual({len(row) for row in rows}, {9})
        self.assertEqual(sum(row[4] == "BLK" for row in rows), sum(line.level == "B" for line in lines))

    def test_wrong_words_are_refused_before_the_command_runs(self):
        file = self.folder / "there"
        file.write_text("mine")
        for words, said in ((("eziotracer", "-t", "x", "-i", "1", "--", "touch", "run"), "-i needs -f or -d"),
                            (("eziotracer", "-t", "x", "-l", "vq", "--", "touch", "run"), "there is no level 'q'"),
                            (("eziotracer", "-t", "x", "-k", "x", "--", "touch", "run"), "--kernel"),
                            (("eziotracer", "-t", "x", "-dev", "null", "--", "touch", "run"), "it is no block device"),
                            (("eziotracer", "-t", "x", "-o", file, "--", "touch", "run"), "EEXIST"),
                            (("eziotracer", "-t", "x", "-d", "-i", "999999999999", "--", "touch", "run"), "no directory with this inode number"),
                            (("iotracer.sh",), "no command given"),
                            (("iotracer.sh", "-d", "nowhere", "touch", "run"), "ENOENT")):
            with self.subTest(words=words):
                done = harness.run(harness.IOTRAIL, "as", *words, env=self.environment, cwd=self.folder)
                self.assertIn(done.returncode, (1, 2), done.stderr)
                self.assertTrue(done.stderr.startswith(f"{words[0]}: "), done.stderr)
                self.assertIn(said, done.stderr)
                self.assertFalse((self.folder / "run").exists())
        self.assertEqual(file.read_text(), "mine")
        self.assertEqual(list(self.traces.iterdir()), [])


if __name__ == "__main__":
    harness.main()
