# SPDX-License-Identifier: BSD-3-Clause
"""Traces in the formats of other programs, opened by those programs where Debian has them."""
import collections
import csv
import gzip
import json
import pathlib
import re
import shutil
import sqlite3
import struct
import tempfile

import harness
import protobuf

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


def distance(one, other):
    """Of two distributions: the largest difference of a share, as counts by key."""
    shares = [{key: count / sum(counts.values()) for key, count in counts.items()} for counts in (one, other)]
    return max(abs(shares[0].get(key, 0) - shares[1].get(key, 0)) for key in {*one, *other})


class Export(harness.AcceptanceTest):
    trace = None

    def setUp(self):
        super().setUp()
        if Export.trace is None:
            _, point = self.make_disk("ext4", 64 << 20)
            recording = self.record("python3", "-c", PROGRAM, point, NAME.hex())
            shared = pathlib.Path(tempfile.mkdtemp(dir=harness.SCRATCH))
            self.addClassCleanup(shutil.rmtree, shared, ignore_errors=True)
            Export.trace = shared / "t.iotrail"
            shutil.copytree(recording.path, Export.trace)
        self.recording = harness.Recording(Export.trace, None)

    def export(self, name, *options, to=None):
        path = self.folder / name
        exported = harness.run(harness.IOTRAIL, "export", Export.trace, "-o", path, *(("--to", to) if to else ()), *options)
        self.assertEqual(exported.returncode, 0, exported.stderr)
        self.assertRegex(exported.stderr, r"^iotrail: [\w-]+ leaves out .")
        return path

    def sum_of(self, column, relation, condition="true"):
        return int(self.recording.value(f"SELECT coalesce(sum({column}), 0) FROM {relation} WHERE {condition}"))

    def weights(self):
        """The sums that stacks have: of time and of bytes."""
        return {"time": self.sum_of("duration_ns", "file_calls"),
                "bytes": self.sum_of("bytes", "links", "completed_ns IS NOT NULL")}

    def test_folded_stacks_add_up(self):
        for weight, whole in self.weights().items():
            text = self.export(f"{weight}.folded", "--weight", weight).read_text()
            frames = 4 if weight == "time" else 5
            total = 0
            for line in text.splitlines():
                stack, _, number = line.rpartition(" ")
                self.assertEqual(len(stack.split(";")), frames, line)
                self.assertTrue(stack.isprintable(), line)
                total += int(number)
            self.assertEqual(total, whole)
            self.assertGreater(total, 0)
            self.assertIn("a:b \"c\" <d>", text)

    def test_speedscope_has_the_same_stacks(self):
        for weight, whole in self.weights().items():
            profile = json.loads(self.export(f"{weight}.speedscope.json", "--weight", weight).read_text())
            self.assertEqual(profile["$schema"], "https://www.speedscope.app/file-format-schema.json")
            (sampled,) = profile["profiles"]
            self.assertEqual(sampled["type"], "sampled")
            self.assertEqual(sampled["endValue"], whole)
            self.assertEqual(sum(sampled["weights"]), whole)
            self.assertEqual(len(sampled["samples"]), len(sampled["weights"]))
            names = [frame["name"] for frame in profile["shared"]["frames"]]
            self.assertEqual(len(set(names)), len(names))
            self.assertEqual({number for sample in sampled["samples"] for number in sample}, set(range(len(names))))
            self.assertTrue(any(name.startswith("python3") for name in names), names)

    def test_pprof_has_the_same_stacks(self):
        for weight, whole in self.weights().items():
            profile = protobuf.message(gzip.decompress(self.export(f"{weight}.pb.gz", "--weight", weight).read_bytes()))
            strings = [text.decode() for text in profile[6]]
            self.assertEqual(strings[0], "")
            types = [protobuf.message(each) for each in profile[1]]
            units = [strings[each[2][0]] for each in types]
            self.assertEqual(units, ["count", {"time": "nanoseconds", "bytes": "bytes"}[weight]])
            functions = {protobuf.message(each)[1][0]: strings[protobuf.message(each)[2][0]] for each in profile[5]}
            locations = {}
            for each in profile[4]:
                location = protobuf.message(each)
                (line,) = location[4]
                locations[location[1][0]] = functions[protobuf.message(line)[1][0]]
            samples = [protobuf.message(each) for each in profile[2]]
            self.assertEqual(sum(sample[2][1] for sample in samples), whole)
            stacks = {";".join(locations[number].replace(";", ":") for number in reversed(sample[1])): sample[2][1] for sample in samples}
            folded = self.export(f"{weight}.folded", "--weight", weight).read_text().splitlines()
            self.assertEqual(stacks, {line.rpartition(" ")[0]: int(line.rpartition(" ")[2]) for line in folded})

    def assert_nested(self, spans):
        """Spans of one track, as (begin, end): each ends before the next begins, or surrounds it."""
        open_ends = []
        for begin, end in sorted(spans, key=lambda span: (span[0], -span[1])):
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            if open_ends:
                self.assertLessEqual(end, open_ends[-1])
            open_ends.append(end)

    def test_chrome_json_has_each_span(self):
        events = json.loads(self.export("t.chrome.json").read_text())
        spans = [event for event in events if event["ph"] == "X"]
        self.assertEqual(len(spans), self.sum_of("1", "operations"))
        self.assertEqual(round(sum(span["dur"] for span in spans) * 1000), self.sum_of("duration_ns", "operations"))
        self.assertEqual(sum(span["args"].get("bytes", 0) for span in spans), self.sum_of("bytes", "operations"))
        tracks = collections.defaultdict(list)
        for span in spans:
            begin = round(span["ts"] * 1000)
            tracks[span["pid"], span["tid"]].append((begin, begin + round(span["dur"] * 1000)))
        for track in tracks.values():
            self.assert_nested(track)
        named = {(event["pid"], event["tid"]) for event in events if event["name"] == "thread_name"}
        self.assertEqual(named, set(tracks))

    def test_perfetto_has_each_span(self):
        packets = [protobuf.message(packet) for number, packet in protobuf.fields(self.export("t.pftrace").read_bytes()) if number == 1]
        tracks, open_spans, spans, flows = {}, collections.defaultdict(list), [], collections.Counter()
        names, counters = {}, collections.defaultdict(list)
        events = []
        for packet in packets:
            for interned in packet.get(12, []):
                for entry in protobuf.message(interned).get(2, []):
                    text = protobuf.message(entry)
                    names[text[1][0]] = text[2][0].decode()
            for descriptor in packet.get(60, []):
                track = protobuf.message(descriptor)
                tracks[track[1][0]] = track
            for event in packet.get(11, []):
                events.append((packet[8][0], protobuf.message(event)))
        events.sort(key=lambda event: event[0])  # stable, as trace_processor sorts
        for ts_ns, event in events:
            kind, track = event[9][0], event[11][0]
            self.assertIn(track, tracks)
            if kind == 1:
                self.assertIn(event[10][0], names)
                open_spans[track].append(ts_ns)
                flows.update(event.get(47, []))
            elif kind == 2:
                spans.append(ts_ns - open_spans[track].pop())
            else:
                counters[track].append(event[30][0])
        self.assertFalse(any(open_spans.values()))
        self.assertEqual(len(spans), self.sum_of("1", "operations"))
        self.assertEqual(sum(spans), self.sum_of("duration_ns", "operations"))
        self.assertTrue(any(count > 1 for count in flows.values()), "no flow has two ends")
        self.assertEqual({values[-1] for values in counters.values()}, {0}, "requests are in flight at the end")

    def test_babeltrace_reads_ctf(self):
        self.require_program("babeltrace2")
        folder = self.export("out", to="ctf")
        read = harness.run("babeltrace2", folder)
        self.assertEqual(read.returncode, 0, read.stderr)
        lines = read.stdout.splitlines()
        self.assertEqual(len(lines), self.sum_of("row_count", "tables", "layer <> 'dictionary'"))
        counts = collections.Counter(re.search(r"\) (?:\S+ )?(\w+): \{", line)[1] for line in lines)
        recorded = {row["name"]: row["row_count"] for row in self.recording.query("SELECT name, row_count FROM tables WHERE layer <> 'dictionary' AND row_count > 0")}
        self.assertEqual(counts, recorded)
        written = sum(int(re.search(r" result = (-?\d+)", line)[1]) for line in lines if " syscall_write: " in line)
        self.assertEqual(written, self.sum_of("result", "syscall_write"))

    def test_blkparse_and_btt_read_blktrace(self):
        self.require_program("blkparse")
        self.require_program("btt")
        folder = self.export("out", to="blktrace")
        text = self.export("t.blkparse").read_text().splitlines()
        devices = sorted({path.name.partition(".")[0] for path in folder.iterdir()})
        read = []
        for device in devices:
            parsed = harness.run("blkparse", "-q", "-i", device, "-D", folder, "-d", folder / f"{device}.bin")
            self.assertEqual(parsed.returncode, 0, parsed.stderr)
            read += [line for line in parsed.stdout.splitlines() if re.match(r" *\d+,\d+ ", line)]
            totals = harness.run("btt", "-i", folder / f"{device}.bin")
            self.assertEqual(totals.returncode, 0, totals.stderr)
            self.assertIn("Q2C", totals.stdout)

        def facts(line):  # without the sequence and the time, which count from the first event of a device
            words = line.split()
            return (words[0], words[1], *words[4:])
        self.assertEqual(sorted(map(facts, read)), sorted(map(facts, text)))
        completed = sum(int(line.split()[9]) * 512 for line in read if line.split()[5] == "C" and "+" in line)
        self.assertEqual(completed, self.sum_of("bytes", "block_complete"))
        sectors = collections.Counter(int(line.split()[7]) for line in read if line.split()[5] == "D" and "+" in line)
        recorded = self.recording.query("SELECT sector, count(*) AS n FROM block_issue WHERE bytes > 0 GROUP BY sector")
        self.assertEqual(sectors, {row["sector"]: row["n"] for row in recorded})

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
            self.assertRegex(line, r"^\d+ \d+\.\d{6} \w+\(.*\) = (-1 E\w+ \(.*\)|-?\d+(<.*>)?|\?) (<\d+\.\d{6}>|<unfinished \.\.\.>)$")

    def test_prometheus_reads_the_text(self):
        try:
            from prometheus_client.parser import text_string_to_metric_families
        except ImportError:
            self.skipTest("python3-prometheus-client is missing")
        families = {family.name: family for family in text_string_to_metric_families(self.export("t.prom").read_text())}
        operations = {(sample.labels["layer"], sample.labels["operation"]): int(sample.value) for sample in families["iotrail_operations"].samples}
        recorded = {(row["layer"], row["operation"]): int(row["operations"]) for row in self.recording.query("SELECT layer, operation, operations FROM layers")}
        self.assertEqual(operations, recorded)
        caused = sum(int(sample.value) for sample in families["iotrail_caused_bytes"].samples)
        self.assertEqual(caused, self.weights()["bytes"])
        durations = families["iotrail_operation_duration_nanoseconds"].samples
        spans = self.sum_of("1", "operations")
        self.assertEqual(sum(int(sample.value) for sample in durations if sample.name.endswith("_count")), spans)
        self.assertEqual(sum(int(sample.value) for sample in durations if sample.labels.get("le") == "+Inf"), spans)
        self.assertEqual(sum(int(sample.value) for sample in durations if sample.name.endswith("_sum")), self.sum_of("duration_ns", "operations"))

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

    def outside(self, sql):
        """A query that may open other files."""
        asked = harness.run(harness.IOTRAIL, "query", Export.trace, sql, "--json", "--raw", "--unsafe-external-access")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        return json.loads(asked.stdout)

    def test_duckdb_and_parquet_have_the_tables(self):
        database = self.export("t.duckdb")
        folder = self.export("out", to="parquet")
        for name, rows in self.counts().items():
            self.assertEqual(self.outside(f"SELECT count(*) AS n FROM read_parquet('{folder}/{name}.parquet')"), [{"n": rows}], name)
            self.assertEqual(self.outside(f"ATTACH '{database}' AS d (READ_ONLY); SELECT count(*) AS n FROM d.{name}"), [{"n": rows}], name)
        moved = self.outside(f"SELECT sum(bytes)::BIGINT AS n FROM read_parquet('{folder}/links.parquet') WHERE completed_ns IS NOT NULL")
        self.assertEqual(moved, [{"n": self.weights()["bytes"]}])
        views = (folder / "views.sql").read_text()
        self.assertEqual(views.count("CREATE OR REPLACE VIEW"), len(list(folder.glob("*.parquet"))))
        self.assertFalse(list(self.folder.glob("*.wal")))

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

    def test_otlp_has_the_slowest_calls(self):
        document = json.loads(self.export("t.otlp.json").read_text())
        (resource,) = document["resourceSpans"]
        (scope,) = resource["scopeSpans"]
        spans = {span["spanId"]: span for span in scope["spans"]}
        self.assertEqual(len(spans), len(scope["spans"]))
        roots = [span for span in spans.values() if "parentSpanId" not in span]
        slowest = self.recording.query("SELECT duration_ns, bytes FROM file_calls WHERE op_id <> 0 ORDER BY duration_ns DESC LIMIT 100")
        self.assertEqual(sorted(int(span["endTimeUnixNano"]) - int(span["startTimeUnixNano"]) for span in roots),
                         sorted(row["duration_ns"] for row in slowest))
        moved = [int(field["value"]["intValue"]) for span in roots for field in span["attributes"] if field["key"] == "bytes"]
        self.assertEqual(sum(moved), sum(int(row["bytes"] or 0) for row in slowest))
        for span in spans.values():
            self.assertRegex(span["traceId"], "^[0-9a-f]{32}$")
            self.assertRegex(span["spanId"], "^[0-9a-f]{16}$")
            if "parentSpanId" in span:
                self.assertEqual(spans[span["parentSpanId"]]["traceId"], span["traceId"])
        self.assertTrue(any("write" in span["name"] and "parentSpanId" in span for span in spans.values()))

    def test_graphviz_draws_a_trail(self):
        self.require_program("dot")
        drawn = harness.run("dot", "-Tplain", self.export("t.dot"))
        self.assertEqual((drawn.returncode, drawn.stderr), (0, ""))
        self.assertRegex(drawn.stdout, r"(?m)^node n1 .*(fsync|fdatasync)")
        text = self.export("t.mmd").read_text()
        self.assertTrue(text.startswith("flowchart TD\n"))
        for line in text.splitlines()[1:]:
            self.assertRegex(line, r'^  n\d+(\["[^"\[\]{}<>|;]*(#\d+;[^"\[\]{}<>|;]*)*"\]| -->\|"[^"|<>]*"\| n\d+)$')

    def formats(self):
        refused = harness.run(harness.IOTRAIL, "export", Export.trace, "--to", "nosuch")
        return re.search(r"the formats are (.*)", refused.stderr)[1].split(", ")

    def test_a_full_disk_leaves_nothing(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if harness.run("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk).returncode:
            self.skipTest("needs root to mount a tmpfs")
        self.addCleanup(harness.run, "umount", disk)
        small = {"dot", "mermaid"}  # fit
        for name in self.formats():
            if name in small:
                continue
            with self.subTest(format=name):
                process = harness.run(harness.IOTRAIL, "export", Export.trace, "--to", name, "-o", disk / "out")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, f"^iotrail: cannot (write|create) {disk}/out")
                self.assertEqual(process.stderr.count("\niotrail:"), 0, process.stderr)
                self.assertEqual(list(disk.iterdir()), [])

    def test_nothing_is_written_over(self):
        for name in self.formats():
            with self.subTest(format=name):
                file = self.folder / "there"
                file.write_text("mine")
                process = harness.run(harness.IOTRAIL, "export", Export.trace, "--to", name, "-o", file)
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertEqual(file.read_text(), "mine")
                nowhere = harness.run(harness.IOTRAIL, "export", Export.trace, "--to", name, "-o", self.folder / "no" / "out")
                self.assertEqual(nowhere.returncode, 1, nowhere.stderr)
                self.assertIn("ENOENT", nowhere.stderr)

    def test_a_wrong_format_gets_its_nearest(self):
        refused = harness.run(harness.IOTRAIL, "export", Export.trace, "--to", "perfeto")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("Did you mean 'perfetto'?", refused.stderr)
        refused = harness.run(harness.IOTRAIL, "export", Export.trace, "-o", self.folder / "a.xyz")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no format has the suffix '.xyz'", refused.stderr)
        self.assertEqual(list(self.folder.glob("a.xyz")), [])

    def test_every_format_is_in_the_documents(self):
        text = (pathlib.Path(__file__).parents[2] / "docs/export.md").read_text()
        for name in self.formats():
            self.assertIn(f"| `{name}` |", text)


if __name__ == "__main__":
    harness.main()
