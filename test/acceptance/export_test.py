# SPDX-License-Identifier: BSD-3-Clause
"""Stacks, time lines and block devices in the formats of other programs, opened by those programs. And what all exports share."""
import collections
import gzip
import json
import pathlib
import re

import export_fixture
import harness
import protobuf


# Of rows, of a database, of spans, and of a directory: the others open their output in the same ways.
FORMS = {"jsonl", "sqlite", "perfetto"}


class Export(export_fixture.ExportTest):
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

    def test_trace_processor_reads_perfetto(self):
        self.require_program("node")
        engine = pathlib.Path(__file__).parents[2] / ".deps/perfetto"
        if not (engine / "trace_processor.wasm").exists():
            self.skipTest("tools/setup --check fetches trace_processor")
        questions = ("SELECT count(*) AS n, sum(dur) AS ns FROM slice",
                     "SELECT name, value FROM stats WHERE severity IN ('error', 'data_loss') AND value <> 0",
                     "SELECT count(*) AS n FROM flow",
                     "SELECT s.name AS name, count(*) AS n FROM slice AS s JOIN thread_track AS k ON s.track_id = k.id JOIN thread AS t USING (utid) "
                     "WHERE t.name = 'python3' AND s.category = 'syscall' GROUP BY 1 ORDER BY 1",
                     "SELECT sum(extract_arg(arg_set_id, 'debug.bytes')) AS bytes FROM slice",
                     "SELECT count(*) AS n FROM slice WHERE dur < 0")
        script = pathlib.Path(__file__).with_name("trace_processor.mjs")
        asked = harness.run("node", script, engine, self.export("t.pftrace"), *questions)
        self.assertEqual(asked.returncode, 0, asked.stderr)
        whole, errors, flows, calls, moved, unfinished = map(json.loads, asked.stdout.splitlines())
        self.assertEqual(whole, [{"n": self.sum_of("1", "operations"), "ns": self.sum_of("duration_ns", "operations")}])
        self.assertEqual((errors, unfinished), ([], [{"n": 0}]))
        self.assertGreater(flows[0]["n"], 0)
        recorded = self.recording.query("SELECT o.call AS name, count(*) AS n FROM operations AS o JOIN programs AS p ON o.pid = p.program_pid "
                                        "WHERE p.comm = 'python3' AND o.layer = 'syscall' GROUP BY 1 ORDER BY 1")
        self.assertEqual({row["name"]: row["n"] for row in calls}, {row["name"]: row["n"] for row in recorded})
        self.assertEqual(moved, [{"bytes": self.sum_of("bytes", "operations")}])

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
            totals = harness.run("btt", "-i", folder / f"{device}.bin", cwd=folder)  # it writes files where it runs
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
        slowest = self.recording.value("SELECT call FROM file_calls WHERE op_id <> 0 ORDER BY duration_ns DESC LIMIT 1")
        self.assertRegex(drawn.stdout, rf'(?m)^node n1 [^"]*"{slowest}\b')
        text = self.export("t.mmd").read_text()
        self.assertTrue(text.startswith("flowchart TD\n"))
        for line in text.splitlines()[1:]:
            self.assertRegex(line, r'^  n\d+(\["[^"\[\]{}<>|;]*(#\d+;[^"\[\]{}<>|;]*)*"\]| -->\|"[^"|<>]*"\| n\d+)$')

    def test_a_full_disk_leaves_nothing(self):
        self.check_full_disk(FORMS)

    @harness.long
    def test_a_full_disk_leaves_nothing_of_other_formats(self):
        self.check_full_disk(set(self.formats()) - FORMS)

    def check_full_disk(self, formats):
        disk = self.folder / "disk"
        disk.mkdir()
        if harness.run("mount", "-t", "tmpfs", "-o", "size=4k", "tmpfs", disk).returncode:
            self.skipTest("needs root to mount a tmpfs")
        self.addCleanup(harness.run, "umount", disk)
        small = {"dot", "mermaid"}  # fit
        for name in sorted(formats - small):
            with self.subTest(format=name):
                process = harness.run(harness.IOTRAIL, "export", export_fixture.ExportTest.trace, "--to", name, "-o", disk / "out")
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertRegex(process.stderr, f"^iotrail: cannot (write|create) {disk}/out")
                self.assertEqual(process.stderr.count("\niotrail:"), 0, process.stderr)
                self.assertEqual(list(disk.iterdir()), [])

    def test_nothing_is_written_over(self):
        self.check_present_files(FORMS)

    @harness.long
    def test_nothing_is_written_over_by_other_formats(self):
        self.check_present_files(set(self.formats()) - FORMS)

    def check_present_files(self, formats):
        for name in sorted(formats):
            with self.subTest(format=name):
                file = self.folder / "there"
                file.write_text("mine")
                process = harness.run(harness.IOTRAIL, "export", export_fixture.ExportTest.trace, "--to", name, "-o", file)
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertEqual(file.read_text(), "mine")
                nowhere = harness.run(harness.IOTRAIL, "export", export_fixture.ExportTest.trace, "--to", name, "-o", self.folder / "no" / "out")
                self.assertEqual(nowhere.returncode, 1, nowhere.stderr)
                self.assertIn("ENOENT", nowhere.stderr)

    def test_a_wrong_format_gets_its_nearest(self):
        refused = harness.run(harness.IOTRAIL, "export", export_fixture.ExportTest.trace, "--to", "perfeto")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("Did you mean 'perfetto'?", refused.stderr)
        refused = harness.run(harness.IOTRAIL, "export", export_fixture.ExportTest.trace, "-o", self.folder / "a.xyz")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("no format has the suffix '.xyz'", refused.stderr)
        self.assertEqual(list(self.folder.glob("a.xyz")), [])

    def test_every_format_is_in_the_documents(self):
        text = (pathlib.Path(__file__).parents[2] / "docs/export.md").read_text()
        for name in self.formats():
            self.assertIn(f"| `{name}` |", text)


if __name__ == "__main__":
    harness.main()
