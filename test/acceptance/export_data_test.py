# SPDX-License-Identifier: BSD-3-Clause
"""Calls, sums and databases in the formats of other programs, opened by those programs."""
import collections
import csv
import gzip
import json
import pathlib
import re
import sqlite3
import struct

import export_fixture
import harness


PYTHON = "/usr/bin/python3"
READ_METRICS = """
import json, sys
from prometheus_client.parser import text_string_to_metric_families
with open(sys.argv[1]) as file:
    print(json.dumps([(sample.name, sample.labels, sample.value) for family in text_string_to_metric_families(file.read()) for sample in family.samples]))
"""


def distance(one, other):
    """Of two distributions: the largest difference of a share, as counts by key."""
    shares = [{key: count / sum(counts.values()) for key, count in counts.items()} for counts in (one, other)]
    return max(abs(shares[0].get(key, 0) - shares[1].get(key, 0)) for key in {*one, *other})


def values(rows):
    """Rows in an order of their own, with numbers as texts: JSON of other programs has no exact ones of 64 bits."""
    def text(value):
        if isinstance(value, float) and value.is_integer():
            return str(int(value))
        return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value
    return sorted(json.dumps({name: text(value) for name, value in row.items()}) for row in rows)


class ExportData(export_fixture.ExportTest):
    def transfers(self):
        """(kind, bytes) of the calls that fio can repeat."""
        rows = self.recording.query("SELECT reads(class) AS is_read, count(*) AS n, sum(bytes) AS bytes FROM file_transfers WHERE moves_bytes(class) "
                                    "AND bytes > 0 AND position IS NOT NULL AND NOT is_error(error) GROUP BY ALL")
        return {"read" if row["is_read"] else "write": (int(row["n"]), int(row["bytes"])) for row in rows}

    def replayed(self, *jobs, cwd):
        done = harness.run("fio", "--output-format=json", "--output=out.json", *jobs, cwd=cwd)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads((cwd / "out.json").read_text())["jobs"]

    def test_fio_replays_the_iolog(self):
        self.require_program("fio")
        for name, version in (("t.iolog", 3), ("t.iolog2", 2)):
            with self.subTest(version=version):
                iolog = self.export(name)
                lines = [line.split(" ") for line in iolog.read_text().splitlines()]
                self.assertEqual(" ".join(lines[0]), f"fio version {version} iolog")
                moved = collections.defaultdict(lambda: [0, 0])
                ends = collections.Counter()
                for line in lines[1:]:
                    words = line[version - 2:]
                    if words[1] in ("read", "write"):
                        moved[words[1]][0] += 1
                        moved[words[1]][1] += int(words[3])
                        ends[words[0]] = max(ends[words[0]], int(words[2]) + int(words[3]))
                self.assertEqual({kind: tuple(sums) for kind, sums in moved.items()}, self.transfers())
                folder = self.folder / f"version{version}"
                folder.mkdir()
                for file, end in ends.items():
                    (folder / file).write_bytes(b"z" * end)
                jobs = self.replayed("--name=replay", "--ioengine=psync", f"--read_iolog={iolog}", "--replay_no_stall=1", cwd=folder)
                for kind in ("read", "write"):
                    self.assertEqual((jobs[0][kind]["total_ios"], jobs[0][kind]["io_bytes"]), tuple(moved[kind]))

    def test_fio_replays_threads(self):
        self.require_program("fio")
        folder = self.export("out", to="fio")
        jobs = self.replayed("replay.fio", cwd=folder)
        for kind, sums in self.transfers().items():
            done = [job for job in jobs if job["jobname"].startswith("thread-")]
            self.assertEqual((sum(job[kind]["total_ios"] for job in done), sum(job[kind]["io_bytes"] for job in done)), sums)

    def test_mix_has_the_distributions(self):
        self.require_program("fio")
        folder = self.export("out", to="fio")
        jobs = dict(re.findall(r"\[[^\]]*a%3Bb[^\]]* (read|write)\]\n((?:[^\[\n]+\n)+)", (folder / "mix.fio").read_text()))
        self.assertEqual(set(jobs), {"read", "write"})
        for kind, job in jobs.items():
            recorded = self.recording.query(f"SELECT bytes, position FROM file_transfers WHERE {kind}s(class) AND bytes > 0 AND position IS NOT NULL "
                                            "AND path LIKE '%a;b%'")
            self.assertIn(f"number_ios={len(recorded)}\n", job)
            job = re.sub("rate_iops=.*\n", "", re.sub("io_size=.*", "io_size=1G", re.sub("number_ios=.*", "number_ios=3000", job)))
            (folder / "one.fio").write_text(f"[global]\nioengine=psync\nthread=1\n[one]\n{job}write_iolog={kind}.done\n")
            self.replayed("one.fio", cwd=folder)
            lines = [line.split()[2:] for line in (folder / f"{kind}.done").read_text().splitlines()[1:]]
            moved = [line for line in lines if line[0] == kind]
            self.assertEqual(len(moved), 3000)
            sizes = collections.Counter(int(row["bytes"]) for row in recorded)
            self.assertLess(distance(sizes, collections.Counter(int(line[2]) for line in moved)), 0.02, kind)
            whole = int(re.search("filesize=(.*)", job)[1])
            places = collections.Counter(int(row["position"]) * 10 // whole for row in recorded)
            self.assertLess(distance(places, collections.Counter(int(line[1]) * 10 // whole for line in moved)), 0.02, kind)
            syncs = sum(line[0] in ("sync", "datasync") for line in lines)
            self.assertAlmostEqual(syncs / len(moved), 9 / 64 if kind == "write" else 0, delta=0.02)

    def test_strace_prints_the_same_calls(self):
        self.require_program("strace")
        program = ("import os, sys\nf = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT, 0o600)\n"
                   "for n in range(20): os.write(f, b'x' * (100 + n))\n"
                   "os.lseek(f, 5, 0)\nos.pread(f, 10, 3)\nos.fsync(f)\nos.ftruncate(f, 7)\nos.close(f)\nos.unlink(sys.argv[1])\n")
        calls = ("pwrite64", "write", "pread64", "fsync", "unlink")
        file = self.folder / "strace me"
        seen = {}
        plain = self.folder / "plain"
        traced = harness.run("strace", "-f", "-ttt", "-T", "-y", "-o", plain, "-e", "trace=" + ",".join(calls), "python3", "-c", program, file)
        self.assertEqual(traced.returncode, 0, traced.stderr)
        seen["strace"] = plain.read_text()
        path = self.record("python3", "-c", program, file, name="s", options=("--layers", "syscall")).path
        exported = harness.run(harness.IOTRAIL, "export", path, "--to", "strace")
        self.assertEqual(exported.returncode, 0, exported.stderr)
        seen["iotrail"] = exported.stdout
        form = re.compile(r"^\d+ +\d+\.\d{6} (\w+)\((.*)\) += (-?\d+)(.*?) <\d+\.\d{6}>$")
        facts = {}
        for by, text in seen.items():
            facts[by] = []
            for line in text.splitlines():
                parts = form.match(line)
                if parts and parts[1] in calls and "strace me" in parts[2]:
                    numbers = re.sub(r'"[^"]*"\.{0,3}', "", parts[2])
                    facts[by].append((parts[1], re.findall(r"\b\d+\b", numbers.split(">", 1)[-1]), parts[3]))
        self.assertEqual(facts["iotrail"], facts["strace"])
        self.assertEqual(len(facts["iotrail"]), 23)
        for line in seen["iotrail"].splitlines():
            self.assertRegex(line, r"^\d+ \d+\.\d{6} \w+\(.*\) = (-1 E\w+ \(.*\)|-?\d+(<.*>)?|0x[0-9a-f]+|\?) (<\d+\.\d{6}>|<unfinished \.\.\.>)$")

    def test_nothing_is_added_to_a_trace(self):
        before = sorted(path.name for path in self.recording.path.iterdir())
        for option in (("--to", "csv", "--table", "files", "-o", self.recording.path / "files.csv"), ("--to", "csv", "-o", self.recording.path / "csv")):
            refused = harness.run(harness.IOTRAIL, "export", self.recording.path, *option)
            self.assertEqual(refused.returncode, 1, refused.stderr)
            self.assertIn("to which nothing is added", refused.stderr)
        self.assertEqual(sorted(path.name for path in self.recording.path.iterdir()), before)

    def test_prometheus_reads_the_text(self):
        # Debian's client is for Debian's Python.
        if harness.run(PYTHON, "-c", "import prometheus_client").returncode:
            self.skipTest("python3-prometheus-client is missing")
        read = harness.run(PYTHON, "-c", READ_METRICS, self.export("t.prom"))
        self.assertEqual(read.returncode, 0, read.stderr)
        samples = json.loads(read.stdout)
        operations = {(labels["layer"], labels["operation"]): int(value) for name, labels, value in samples if name == "iotrail_operations_total"}
        recorded = {(row["layer"], row["operation"]): int(row["operations"]) for row in self.recording.query("SELECT layer, operation, operations FROM layers")}
        self.assertEqual(operations, recorded)
        self.assertEqual(sum(value for name, _, value in samples if name == "iotrail_caused_bytes_total"), self.weights()["bytes"])
        durations = [(name.rpartition("_")[2], labels, value) for name, labels, value in samples if name.startswith("iotrail_operation_duration_nanoseconds_")]
        spans = self.sum_of("1", "operations")
        self.assertEqual(sum(value for part, _, value in durations if part == "count"), spans)
        self.assertEqual(sum(value for _, labels, value in durations if labels.get("le") == "+Inf"), spans)
        self.assertEqual(sum(value for part, _, value in durations if part == "sum"), self.sum_of("duration_ns", "operations"))

    def test_oracle_knows_the_next_request(self):
        data = self.export("t.oracleGeneral").read_bytes()
        requests = list(struct.iter_unpack("<IQIq", data))
        self.assertEqual(len(requests), self.sum_of("pages", "page_accesses"))
        self.assertEqual(len({request[1] for request in requests}),
                         int(self.recording.value("SELECT count(*) FROM (SELECT DISTINCT file, unnest(range(CAST(first_page AS BIGINT), "
                                                  "CAST(first_page + pages AS BIGINT))) FROM page_accesses)")))
        following = {}
        for number, request in reversed(list(enumerate(requests))):
            self.assertEqual(request[3], following.get(request[1], -1))
            self.assertEqual(request[2], 4096)
            following[request[1]] = number
        rows = list(csv.reader(self.export("t.oracle.csv").read_text().splitlines()))
        self.assertEqual([tuple(map(int, row)) for row in rows[1:]], requests)

    def counts(self):
        return {row["name"]: row["row_count"] for row in self.recording.query("SELECT name, row_count FROM tables WHERE row_count > 0")}

    def test_sqlite_has_the_tables(self):
        database = sqlite3.connect(self.export("t.sqlite"))
        self.addCleanup(database.close)
        self.assertEqual(database.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        for name, rows in self.counts().items():
            self.assertEqual(database.execute(f'SELECT count(*) FROM "{name}"').fetchone(), (rows,), name)
        (written,) = database.execute("SELECT sum(bytes) FROM operations WHERE class = 'write' AND layer = 'syscall'").fetchone()
        self.assertEqual(written, self.sum_of("bytes", "operations", "class = 'write' AND layer = 'syscall'"))
        self.assertEqual(database.execute("SELECT sum(bytes) FROM links WHERE completed_ns IS NOT NULL").fetchone(), (self.weights()["bytes"],))

    @harness.long
    def test_a_database_takes_its_name_as_it_is(self):
        self.check_names({"sqlite": ("file:x.sqlite",), "duckdb": (":memory:",)})

    @harness.long
    def test_a_database_takes_other_names_as_they_are(self):
        self.check_names({"sqlite": (":memory:", "plain.sqlite"), "duckdb": ("md:x", "plain.duckdb")})

    def check_names(self, names):
        """No name is an order to the library, and what stands beside the file stays."""
        for form, outputs in names.items():
            folder = self.folder / form
            folder.mkdir()
            beside = [folder / "plain.duckdb.wal", folder / "plain.sqlite-journal"]
            for other in beside:
                other.write_text("of others")
            for output in outputs:
                done = harness.run(harness.IOTRAIL, "export", self.recording.path, "--to", form, "-o", output, cwd=folder)
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual((folder / output).stat().st_mode & 0o777, 0o640)
                again = harness.run(harness.IOTRAIL, "export", self.recording.path, "--to", form, "-o", output, cwd=folder)
                self.assertEqual(again.returncode, 1)
                self.assertIn("EEXIST", again.stderr)
            self.assertEqual([other.read_text() for other in beside], ["of others"] * 2)
            self.assertEqual({each.name for each in folder.iterdir()}, {*outputs, *(other.name for other in beside)})

    def outside(self, sql):
        """A query that may open other files."""
        asked = harness.run(harness.IOTRAIL, "query", export_fixture.ExportTest.trace, sql, "--json", "--raw", "--unsafe-external-access")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return json.loads(asked.stdout)

    def assert_has_the_tables(self, place_of, before=""):
        counts = self.counts()
        each = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS n FROM {place_of(name)}" for name in counts)
        self.assertEqual({row["name"]: row["n"] for row in self.outside(before + each)}, counts)

    def test_duckdb_has_the_tables(self):
        database = self.export("t.duckdb")
        self.assert_has_the_tables("d.{}".format, f"ATTACH '{database}' AS d (READ_ONLY); ")
        self.assertFalse(list(self.folder.glob("*.wal")))

    @harness.long
    def test_parquet_has_the_tables(self):
        folder = self.export("out", to="parquet")
        self.assert_has_the_tables(lambda name: f"read_parquet('{folder}/{name}.parquet')")
        moved = self.outside(f"SELECT sum(bytes)::BIGINT AS n FROM read_parquet('{folder}/links.parquet') WHERE completed_ns IS NOT NULL")
        self.assertEqual(moved, [{"n": self.weights()["bytes"]}])
        views = (folder / "views.sql").read_text()
        self.assertEqual(views.count("CREATE OR REPLACE VIEW"), len(list(folder.glob("*.parquet"))))

    def read_arrow(self, *files):
        """Per file: types of columns, number of batches, rows, as Arrow's own library reads them."""
        self.require_program("node")
        library = pathlib.Path(__file__).parents[2] / ".deps/arrow/Arrow.es2015.min.js"
        if not library.exists():
            self.skipTest("tools/setup --check fetches apache-arrow")
        read = harness.run("node", pathlib.Path(__file__).with_name("read_arrow.cjs"), library, *files)
        self.assertEqual(read.returncode, 0, read.stderr)
        return [json.loads(line) for line in read.stdout.splitlines()]

    def answers(self, statements):
        """The rows of each, by one process."""
        asked = self.folder / "asked.sql"
        asked.write_text(";\n".join(statements) + ";\n")
        with asked.open() as stdin:
            answered = harness.run(harness.IOTRAIL, "query", export_fixture.ExportTest.trace, "-", "--json", "--raw", stdin=stdin)
        self.assertEqual(answered.returncode, 0, answered.stderr)
        rest, answers = answered.stdout, []
        while rest.strip():
            answer, end = json.JSONDecoder().raw_decode(rest)
            answers.append(answer)
            rest = rest[end:].lstrip()
        return answers

    @harness.in_both
    def test_arrow_has_the_rows_of_the_tables(self):
        folder = self.export("out", to="arrow")
        names = sorted(file.stem for file in folder.iterdir())
        self.assertEqual(set(self.counts()) - set(names), set())
        main = ["files", "links", "operations", "syscall_write", "file_paths"]
        chosen = harness.first(len(main), main + [name for name in names if name not in main])
        answers = self.answers([f"FROM {name}" for name in chosen])
        for name, read, answer in zip(chosen, self.read_arrow(*(folder / f"{name}.arrow" for name in chosen)), answers, strict=True):
            with self.subTest(table=name):
                self.assertEqual(values(read["rows"]), values(answer))
                self.assertEqual(self.counts().get(name, len(answer)), len(answer))

    def test_an_answer_in_arrow_has_the_types_of_sql(self):
        file = self.folder / "rows.arrow"
        sql = ("SELECT range AS n, CASE WHEN range % 3 > 0 THEN range || 'é' END AS t, range % 2 = 0 AS b, [range, NULL] AS l, {'x': range, 'y': NULL} AS s, "
               "-range::HUGEINT * 100000000000000000000 AS h, TIMESTAMP '2024-01-02 03:04:05.678' AS ts, '\\x00a'::BLOB AS z, 1.25 AS d, 0.5::FLOAT AS f, "
               "'w'::ENUM('v', 'w') AS e, range::UTINYINT AS u FROM range(200)")
        written = harness.run(harness.IOTRAIL, "query", export_fixture.ExportTest.trace, sql, "-o", file)
        self.assertEqual(written.returncode, 0, written.stderr)
        (read,) = self.read_arrow(file)
        self.assertEqual([read["types"][name] for name in "ntblszfeu"],
                         ["Int64", "Utf8", "Bool", "List<Int64>", "Struct<{x:Int64, y:Int32}>", "Binary", "Float32", "Utf8", "Uint8"])
        for n, row in enumerate(read["rows"]):
            self.assertEqual(row, {"n": str(n), "t": f"{n}é" if n % 3 else None, "b": n % 2 == 0, "l": [str(n), None], "s": {"x": str(n), "y": None},
                                   "h": f"-{n}{'0' * 20}" if n else "0", "ts": 1704164645678, "z": "0061", "d": "1.25", "f": 0.5, "e": "w", "u": n})
        again = harness.run(harness.IOTRAIL, "query", export_fixture.ExportTest.trace, sql, "-o", file)
        self.assertIn("nothing is written over", again.stderr)
        harness.run("bash", "-c", '"$0" "$@" | cat >piped', harness.IOTRAIL, "query", export_fixture.ExportTest.trace, sql, "--format", "arrow", cwd=self.folder)
        self.assertEqual((self.folder / "piped").read_bytes(), file.read_bytes())

    def test_a_type_that_arrow_does_not_get_leaves_no_file(self):
        refused = harness.run(harness.IOTRAIL, "query", export_fixture.ExportTest.trace, "SELECT ['w'::ENUM('w')] AS words", "-o", self.folder / "e.arrow")
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, "cannot write column 'words' as Arrow: .*\n  CAST")
        self.assertFalse((self.folder / "e.arrow").exists())

    def test_dftracer_has_each_call(self):
        with gzip.open(self.export("t.pfw.gz"), "rt") as file:
            lines = file.read().splitlines()
        self.assertEqual((lines[0], lines[-1]), ("[", "]"))
        events = [json.loads(line) for line in lines[1:-1]]
        self.assertEqual(len(events), self.sum_of("1", "operations", "layer IN ('app', 'syscall', 'async')"))
        self.assertEqual([event["id"] for event in events], list(range(len(events))))
        written = sum(event["args"]["ret"] for event in events if event["cat"] == "POSIX" and event["name"] == "write")
        self.assertEqual(written, self.sum_of("result", "syscall_write", "call = 'write'"))

    def test_darshan_counters_add_up(self):
        rows = list(csv.DictReader(self.export("t.darshan.csv").read_text().splitlines()))
        sums = collections.Counter()
        for row in rows:
            sums[row["counter"]] += float(row["value"])
        self.assertEqual((sums["POSIX_READS"], sums["POSIX_BYTES_READ"]),
                         (self.sum_of("1", "file_calls", "reads(class) AND file <> 0 AND NOT is_error(error)"),
                          self.sum_of("bytes", "file_calls", "reads(class) AND file <> 0 AND NOT is_error(error)")))
        hostile = {row["counter"]: float(row["value"]) for row in rows if "a;b" in row["file"]}
        self.assertEqual((hostile["POSIX_WRITES"], hostile["POSIX_BYTES_WRITTEN"], hostile["POSIX_CONSEC_WRITES"]), (64, 64 * 4096, 63))
        self.assertEqual((hostile["POSIX_READS"], hostile["POSIX_SIZE_READ_100_1K"], hostile["POSIX_SIZE_READ_1K_10K"]), (50, 3, 47))
        self.assertEqual((hostile["POSIX_FDSYNCS"], hostile["POSIX_FSYNCS"], hostile["POSIX_MAX_BYTE_WRITTEN"]), (8, 1, 64 * 4096 - 1))


if __name__ == "__main__":
    harness.main()
