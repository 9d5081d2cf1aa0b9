# SPDX-License-Identifier: BSD-3-Clause
"""Files of other programs as traces: the numbers of the program itself, and exports that come back."""
import collections
import json
import re

import export_fixture
import harness

CALLS = """
import os, sys
folder = os.fsencode(sys.argv[1])
file = os.open(os.path.join(folder, b"a b<1>"), os.O_RDWR | os.O_CREAT)
for n in range(50):
    os.write(file, b"x" * (n + 1))
os.lseek(file, 0, 0)
while os.read(file, 100):
    pass
os.pwrite(file, b"yy", 10)
os.writev(file, [b"ab", b"cde"])
os.fsync(file)
os.rename(os.path.join(folder, b"a b<1>"), os.path.join(folder, b"c"))
"""


class Import(export_fixture.ExportTest):
    def imported(self, *files, name="i", options=()):
        path = self.folder / f"{name}.iotrail"
        process = harness.run(harness.IOTRAIL, "import", *files, "-o", path, *options)
        self.assertEqual(process.returncode, 0, process.stderr)
        verified = harness.run(harness.IOTRAIL, "verify", path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        for verb in ("report", "findings", "info"):
            shown = harness.run(harness.IOTRAIL, verb, path)
            self.assertEqual(shown.returncode, 0, shown.stderr)
        recording = harness.Recording(path, process)
        (source,) = recording.manifest["sources"]
        self.assertEqual((source["source"], source["produced"]), ("import", source["written"] + source["lost"]))
        self.assert_has_what_was_written(recording)
        return recording

    @harness.long
    def test_strace_itself(self):
        self.require_program("strace")
        text = self.folder / "s.txt"
        straced = harness.run("strace", "-f", "-ttt", "-T", "-yy", "-o", text, "python3", "-c", CALLS, self.folder)
        if straced.returncode:
            self.skipTest(f"strace may not trace here: {straced.stderr}")
        recording = self.imported(text)
        self.assertNotIn("malformed", recording.process.stderr)
        calls, moved = collections.Counter(), collections.Counter()
        for line in text.read_text(errors="replace").splitlines():
            if found := re.match(r"\d+ +[\d.]+ (?:<\.\.\. )?(\w+)(?:\(| resumed>)(?!.*<unfinished).*\) += (-?\w+)", line):
                calls[found[1]] += 1
                if found[1] in ("read", "write", "pread64", "pwrite64", "writev") and int(found[2]) > 0:
                    moved[found[1]] += int(found[2])
        found = recording.query("SELECT call, count(*) AS n, sum(CASE WHEN error = 0 THEN bytes END) AS bytes FROM operations "
                                "WHERE layer = 'syscall' GROUP BY call")
        self.assertEqual({row["call"]: row["n"] for row in found}, {call: calls[call] for call in calls if call in {row["call"] for row in found}})
        for call, size in moved.items():
            self.assertEqual([int(row["bytes"]) for row in found if row["call"] == call], [size], call)
        reads = recording.query("SELECT position, bytes FROM file_accesses WHERE is_read AND file IN "
                                "(SELECT file FROM files WHERE path LIKE '%a b<1>') ORDER BY ts_ns")
        self.assertEqual([(int(row["position"]), int(row["bytes"])) for row in reads], [(100 * n, min(100, 1275 - 100 * n)) for n in range(13)])

    def test_strace_comes_back(self):
        recording = self.imported(self.export("t.strace"))
        sql = "SELECT call, count(*) AS n, sum(CASE WHEN error = 0 THEN bytes END) AS bytes, sum(CASE WHEN error <> 0 THEN 1 END) AS failed " \
              "FROM operations WHERE layer = 'syscall' AND NOT is_unfinished(error) GROUP BY call ORDER BY call"
        self.assertEqual(recording.query(sql), self.recording.query(sql))
        sql = "SELECT count(*) AS n, sum(duration_ns) AS ns FROM operations WHERE layer = 'syscall' AND NOT is_unfinished(error)"
        (mine,), (theirs,) = recording.query(sql), self.recording.query(sql)
        self.assertEqual(mine["n"], theirs["n"])
        self.assertLessEqual(abs(int(theirs["ns"]) - int(mine["ns"])), 1000 * int(mine["n"]), "strace prints microseconds")

    def test_blktrace_comes_back(self):
        recording = self.imported(self.export("blk", to="blktrace"))
        for sql in ("SELECT count(*) AS n, sum(bytes) AS bytes, sum(duration_ns) AS ns FROM block_complete",
                    "SELECT class, count(*) AS n, sum(bytes) AS bytes FROM events WHERE layer = 'block' AND "
                    "event NOT IN ('block_split', 'block_remap') GROUP BY ALL ORDER BY ALL",
                    "SELECT name, count(*) AS n FROM block_complete JOIN devices USING (device) GROUP BY name ORDER BY name"):
            self.assertEqual(recording.query(sql), self.recording.query(sql), sql)
        # Again out: the same text of blkparse, but for a disk's name.
        again = self.folder / "again.blkparse"
        exported = harness.run(harness.IOTRAIL, "export", recording.path, "-o", again)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertEqual(len(again.read_text().splitlines()), len(self.export("t.blkparse").read_text().splitlines()))

    @harness.long
    def test_fio_itself(self):
        self.require_program("fio")
        ran = harness.run("fio", "--name=j", "--filename=data", "--size=1m", "--rw=randrw", "--bs=4k", "--ioengine=psync", "--write_lat_log=j",
                          "--log_offset=1", "--write_iolog=j.iolog", "--output-format=json", cwd=self.folder)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        (job,) = json.loads(ran.stdout[ran.stdout.index("{"):])["jobs"]
        expected = [{"class": kind, "n": job[kind]["total_ios"], "bytes": str(job[kind]["io_bytes"])} for kind in ("read", "write")]
        sql = "SELECT class, count(*) AS n, sum(bytes) AS bytes FROM operations WHERE class IN ('read', 'write') GROUP BY class ORDER BY class"
        found = {}
        for name in ("j.iolog", "j_lat.1.log"):
            recording = self.imported(self.folder / name, name=name)
            found[name] = recording.query(sql)
            for row in found[name]:
                row["bytes"] = str(row["bytes"])
            self.assertEqual(found[name], expected, name)
        durations = int(recording.value("SELECT sum(duration_ns) FROM operations"))
        self.assertEqual(durations, sum(int(line.split(",")[1]) for line in (self.folder / "j_lat.1.log").read_text().splitlines()))
        positions = "SELECT position FROM file_accesses ORDER BY position"
        self.assertEqual(recording.query(positions), harness.Recording(self.folder / "j.iolog.iotrail", None).query(positions))

    def test_requests_of_caches_come_back(self):
        shown = []
        for name, to in (("t.oracleGeneral", None), ("t.oracle.csv", "oracle-csv")):
            recording = self.imported(self.export(name, to=to), name=name)
            answer = harness.run(harness.IOTRAIL, "cache", recording.path, "--json")
            self.assertEqual(answer.returncode, 0, answer.stderr)
            shown.append(recording.query("SELECT count(*) AS n, count(DISTINCT first_page) AS pages, sum(bytes) AS bytes FROM page_accesses"))
        self.assertEqual(shown[0], shown[1])
        pages = self.recording.value("SELECT sum(pages) FROM page_accesses")
        distinct = self.recording.value("SELECT count(*) FROM (SELECT DISTINCT file, unnest(range(CAST(first_page AS BIGINT), "
                                        "CAST(first_page + pages AS BIGINT))) AS page FROM page_accesses)")
        self.assertEqual((int(shown[0][0]["n"]), int(shown[0][0]["pages"])), (int(pages), int(distinct)))

    def test_mistakes(self):
        def refused(*words):
            process = harness.run(harness.IOTRAIL, "import", *words, "-o", self.folder / "x.iotrail")
            self.assertNotEqual(process.returncode, 0)
            self.assertFalse((self.folder / "x.iotrail").exists())
            return process.stderr
        text = self.folder / "text"
        text.write_text("\x1b[31mno trace\n")
        self.assertIn("none of the known formats", refused(text))
        self.assertNotIn("\x1b", refused(text, "--from", "strace"))
        self.assertIn("Did you mean 'strace'?", refused(text, "--from", "strase"))
        self.assertIn("No such file", refused(self.folder / "missing"))
        self.assertIn("has no files", refused(self.imports_nothing()))
        good = self.folder / "s"
        good.write_text("1 1700000000.000001 fsync(3</a>) = 0 <0.000001>\n")
        self.imported(good, name="taken")
        taken = harness.run(harness.IOTRAIL, "import", good, "-o", self.folder / "taken.iotrail")
        self.assertEqual(taken.returncode, 1)
        self.assertTrue((self.folder / "taken.iotrail").exists())
        full = harness.run("sh", "-c", f"ulimit -f 0; exec {harness.IOTRAIL} import {good} -o {self.folder}/full.iotrail")
        self.assertNotEqual(full.returncode, 0)
        self.assertFalse((self.folder / "full.iotrail").exists(), full.stderr)

    def imports_nothing(self):
        empty = self.folder / "empty"
        empty.mkdir()
        return empty

    def test_malformed_lines_are_counted_and_located(self):
        text = self.folder / "m.txt"
        good = "1 1700000000.000001 fsync(3</a>) = 0 <0.000001>\n"
        text.write_text(good + "noise\n" * 12 + good)
        recording = self.imported(text)
        self.assertIn(f"{text}:2: ", recording.process.stderr)
        self.assertIn("2 more malformed", recording.process.stderr)
        self.assertEqual(recording.manifest["counters"], {"import_malformed": 12})
        (source,) = recording.manifest["sources"]
        self.assertEqual(source["lost"], 12)


if __name__ == "__main__":
    harness.main()
