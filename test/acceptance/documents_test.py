# SPDX-License-Identifier: BSD-3-Clause
"""The JSON of a verb fits its schema in docs/schemas/. Text and JSON of one trace have the same
numbers."""
import json
import math
import pathlib
import re

import harness

SCHEMAS = pathlib.Path(__file__).resolve().parent.parent.parent / "docs" / "schemas"
ROWS = 3
FOR_PROGRAMS = ("run", "manifest", "sources")  # sections of the report that its text does not have
ANSWER = ("verdict", "noticed")  # of the first screen, and not of all tables
SCRIPT = "for i in 1 2; do dd if=/dev/zero of=f$i bs=64k count=20 conv=fsync; cat f$i; done; cat /no/file"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "integer": int, "number": (int, float),
         "null": type(None)}
SIZES = ("KiB", "MiB", "GiB")
UNITS_OF_TIME = ((999.5e3, 1e3, "us"), (999.5e6, 1e6, "ms"), (99.95e9, 1e9, "s"))


def load(name):
    return json.loads((SCHEMAS / name).read_text())


def is_a(value, kind):
    return isinstance(value, TYPES[kind]) and not (isinstance(value, bool) and kind in ("integer", "number"))


class Validator:
    """Knows the words that docs/schemas/ uses, and refuses others."""
    KNOWN = {"$schema", "$defs", "$ref", "title", "type", "enum", "required", "properties", "additionalProperties",
             "propertyNames", "items"}

    def __init__(self, name):
        self.errors = []
        self.root = load(name)

    def check(self, value, schema, root, place):
        if unknown := set(schema) - self.KNOWN:
            raise AssertionError(f"the schema has words that this test does not know: {unknown}")
        if "$ref" in schema:
            file, path = schema["$ref"].split("#/$defs/")
            root = load(file) if file else root
            self.check(value, root["$defs"][path], root, place)
            return
        kinds = schema.get("type", [])
        kinds = [kinds] if isinstance(kinds, str) else kinds
        if kinds and not any(is_a(value, kind) for kind in kinds):
            self.errors.append(f"{place}: {value!r} is no {' or '.join(kinds)}")
        if value not in schema.get("enum", [value]):
            self.errors.append(f"{place}: {value!r} is not in {schema['enum']}")
        if isinstance(value, dict):
            self.check_object(value, schema, root, place)
        if isinstance(value, list) and "items" in schema:
            for number, item in enumerate(value):
                self.check(item, schema["items"], root, f"{place}[{number}]")

    def check_object(self, value, schema, root, place):
        known = schema.get("properties", {})
        self.errors += [f"{place}: no {key}" for key in schema.get("required", []) if key not in value]
        for key, member in value.items():
            if not re.search(schema.get("propertyNames", {}).get("pattern", ""), key):
                self.errors.append(f"{place}: the name {key}")
            if key in known:
                self.check(member, known[key], root, f"{place}.{key}")
            elif (others := schema.get("additionalProperties", True)) is False:
                self.errors.append(f"{place}: {key} is not in the schema")
            elif others is not True:
                self.check(member, others, root, f"{place}.{key}")


def problems(document, schema):
    validator = Validator(schema)
    validator.check(document, validator.root, validator.root, "")
    return validator.errors


def three_digits(value):
    return f"{value:.{2 if value < 9.995 else 1 if value < 99.95 else 0}f}"


def bytes_text(value):
    if value < 1024:
        return f"{value} B"
    for unit in SIZES:
        value /= 1024
        if value < 1023.5:
            break
    return f"{three_digits(value)} {unit}"


def ns_text(value):
    if value < 1000:
        return f"{value} ns"
    below, divisor, unit = next(row for row in UNITS_OF_TIME if value < row[0])
    return f"{three_digits(value / divisor)} {unit}"


def share_text(value):
    if 0 < value < 0.0005:
        return "< 0.1 %"
    return "> 99.9 %" if 0.9995 <= value < 1 else f"{100 * value:.1f} %"


TEXTS = {"bytes": bytes_text, "ns": ns_text, "share": share_text, "count": lambda value: f"{math.floor(value + 0.5):,}",
         "second": lambda value: f"{value:.6f}", "ratio": lambda value: f"x {value:.2f}", "id": str}


class Documents(harness.AcceptanceTest):
    def printed(self, *arguments):
        process = harness.run(harness.IOTRAIL, *arguments)
        self.assertIn(process.returncode, (0, 1), process.stderr)
        return process.stdout

    def small_recording(self):
        return self.recorded_once("sh", "-c", SCRIPT, expect=None, cwd=self.folder)

    def table_below(self, text, title):
        lines = text.splitlines()
        self.assertIn(title, lines)
        begin = lines.index(title) + 2  # after the headings
        return lines[begin:begin + 200]

    def assert_same_numbers(self, text, document, for_programs=FOR_PROGRAMS):
        """Of each section every number above 0 is in the row's line, and every sentence is in the text."""
        compared = 0
        words = " ".join(text.split())
        sentences = [document["title"]] if "title" in document else []
        sentences += [fact["value"] for fact in document["facts"]] + document["notes"]
        for sentence in sentences:
            self.assertIn(" ".join(sentence["text"].split()), words)
        for warning in document["warnings"]:  # they end in where to read on
            self.assertIn(" ".join(warning.rpartition(": ")[0].split()) or warning, words)
        for section in document["sections"]:
            rows = document.get(section["id"])
            if section["id"] in ANSWER:
                continue
            self.assertTrue(all(note["text"] in text for note in section["notes"]), section["notes"])
            if not rows or not section["columns"] or section["id"] in for_programs:
                continue
            for line, row in zip(self.table_below(text, section["title"]["text"]), rows, strict=False):
                cells = re.split(r"\s{2,}", line.strip())
                for column in section["columns"]:
                    value = row[column["name"]]
                    if column["meaning"] not in TEXTS or not value or row.get("error_name"):
                        continue
                    if isinstance(value, bool) or (column["name"] == "inodes" and value == 1):
                        continue  # a column that is left out where every path had one inode
                    self.assertIn(TEXTS[column["meaning"]](abs(value)), cells, f"{section['id']}.{column['name']}: {row}")
                    compared += 1
        self.assertGreater(compared, 0)

    def test_report_as_text_and_as_json_has_the_same_numbers(self):
        trace = self.small_recording()
        document = json.loads(self.printed("report", trace, "--json", "--top", ROWS))
        self.assertEqual(problems(document, "report.json"), [])
        self.assert_same_numbers(self.printed("report", trace, "--full", "--wide", "--top", ROWS), document)

    def test_the_answer_is_the_same_as_text_and_as_json(self):
        trace = self.small_recording()
        document = json.loads(self.printed("report", trace, "--json"))
        screen = " ".join(self.printed("report", trace).split())
        answer = [section for section in document["sections"] if section["id"] in ANSWER]
        self.assertEqual([section["id"] for section in answer], ["verdict", "noticed"])
        for sentence in (answer[0]["title"], *answer[0]["notes"], *answer[1]["notes"]):
            self.assertIn(" ".join(sentence["text"].split()), screen)
        found = json.loads(self.printed("findings", trace, "--json"))["findings"]
        self.assertEqual(document["findings"], found)

    def test_report_of_aggregates_as_text_and_as_json_has_the_same_numbers(self):
        trace = self.folder / "stat.iotrail"
        process = harness.run(harness.IOTRAIL, "stat", "-o", trace, "--", "dd", "if=/dev/zero",
                              f"of={self.folder}/f", "bs=64k", "count=20")
        if not trace.exists():
            self.skipTest(process.stderr)
        document = json.loads(self.printed("report", trace, "--json", "--top", ROWS))
        self.assertEqual(problems(document, "stat.json"), [])
        self.assert_same_numbers(self.printed("report", trace, "--full", "--wide", "--top", ROWS), document)

    def test_info_as_text_and_as_json_has_the_same_numbers(self):
        trace = self.small_recording()
        document = json.loads(self.printed("info", trace, "--json"))
        self.assertEqual(problems(document, "info.json"), [])
        self.assert_same_numbers(self.printed("info", trace, "--wide"), document, ("manifest",))
        events = sum(row["events"] for row in document["events"])
        self.assertEqual(sum(row["events"] or 0 for row in document["layers"]), events)
        self.assertEqual(sum(row["written"] for row in document["sources"]), events)
        self.assertIn(f"{events:,}", self.printed("info", trace))

    def test_list_as_text_and_as_json_has_the_same_numbers(self):
        trace = self.small_recording()
        broken = self.record("true", name="broken").path
        (broken / "manifest.json").write_text("{}")
        document = json.loads(self.printed("list", self.folder, "--json"))
        self.assertEqual(problems(document, "list.json"), [])
        text = self.printed("list", self.folder, "--wide")
        rows = {row["name"]: row for row in document["traces"]}
        self.assertEqual(set(rows), {trace.stem, "broken"})
        whole = rows[trace.stem]
        line = next(line for line in text.splitlines() if line.split()[:1] == [trace.stem])
        cells = re.split(r"\s{2,}", line.strip())
        for cell in (whole["state"], f"{whole['events']:,}", str(whole["lost"]), bytes_text(whole["bytes"])):
            self.assertIn(cell, cells)
        self.assertEqual(whole["command"], ["sh", "-c", SCRIPT])
        self.assertIn(" ".join(rows["broken"]["problem"].split()), " ".join(text.split()))
        self.assertIsNone(rows["broken"]["events"])
        empty = self.folder / "empty"
        empty.mkdir()
        document = json.loads(self.printed("list", empty, "--json"))
        self.assertEqual((problems(document, "list.json"), document["traces"]), ([], []))

    def test_doctor_as_text_and_as_json_has_the_same_numbers(self):
        document = json.loads(self.printed("doctor", "--json"))
        self.assertEqual(problems(document, "doctor.json"), [])
        self.assert_same_numbers(self.printed("doctor", "--wide"), document, ("sources",))
        for source in document["sources"]:
            self.assertEqual(source["all_hooks"], len(source["hooks"]))

    def test_the_summary_of_a_recording_in_three_lines_in_full_and_as_json(self):
        name = self.folder / "named.json"
        process = harness.run(harness.IOTRAIL, "record", "--json", "--summary", name, "-o", self.folder / "s.iotrail", "--",
                              "sh", "-c", "echo out; echo err >&2", cwd=self.folder)
        self.assertEqual((process.returncode, process.stdout), (0, "out\n"))
        self.assertNotIn("recorded", process.stderr)
        document = json.loads(name.read_text())
        self.assertEqual(problems(document, "record.json"), [])
        events = sum(row["events"] or 0 for row in document["layers"])
        (recorded,) = [fact["value"] for fact in document["facts"] if fact["name"] == "recorded"]
        self.assertEqual(recorded["values"]["events"], events)
        self.assertEqual(sum(row["written"] for row in document["sources"]), events)
        self.assertEqual(events, harness.Recording(self.folder / "s.iotrail", None).value("SELECT count(*) FROM events"))
        trace = self.folder / "v.iotrail"
        full = harness.run(harness.IOTRAIL, "record", "--verbose", "-o", trace, "--", "true").stderr
        (shown,) = re.findall(r"(?m)^  recorded  ([\d,]+) events, ", full)
        whole = harness.Recording(trace, None)
        self.assertEqual(int(shown.replace(",", "")), sum(whole.manifest["counts"].values()))
        for source in whole.manifest["sources"]:
            self.assertRegex(full, rf"(?m)^  {source['source']} +{source['produced']:,} +{source['written']:,} +{source['lost']}$")
        brief = harness.run(harness.IOTRAIL, "record", "-l", "app", "-o", self.folder / "b.iotrail", "--", "true")
        lines = brief.stderr.splitlines()
        self.assertEqual(len(lines), 3, brief.stderr)
        self.assertRegex(lines[0], "^iotrail: command ended after ")
        self.assertRegex(lines[1], "^  recorded  [0-9,]+ events?, .*, none lost$")
        self.assertEqual(lines[2], f"  next      iotrail report {self.folder / 'b.iotrail'}")

    def test_a_summary_that_cannot_be_written_is_said(self):
        taken = self.folder / "taken"
        taken.write_text("mine")
        for verb in ("record", "stat", "snapshot"):
            command = [] if verb == "snapshot" else ["--", "true"]
            for path, says in ((taken, "EEXIST"), (self.folder / "no" / "such", "ENOENT"), ("/dev/full", "ENOSPC")):
                with self.subTest(verb=verb, path=path):
                    trace = self.folder / f"{verb}{says}.iotrail"
                    process = harness.run(harness.IOTRAIL, verb, *(["--of", "process"] if verb == "snapshot" else ["-l", "syscall"]),
                                          "-o", trace, "--summary", path, *command)
                    if "kernel source" in process.stderr:
                        continue
                    self.assertEqual(process.returncode, 1, process.stderr)
                    self.assertIn(f"cannot write {path}", process.stderr)
                    self.assertIn(says, process.stderr)
                    self.assertEqual(trace.exists(), says == "ENOSPC")
        self.assertEqual(taken.read_text(), "mine")

    def test_the_summary_of_a_snapshot(self):
        name = self.folder / "snapshot.json"
        process = harness.run(harness.IOTRAIL, "snapshot", "--of", "process", "--json", "--summary", name, "-o", self.folder / "s.iotrail")
        self.assertEqual((process.returncode, process.stderr), (0, ""))
        document = json.loads(name.read_text())
        self.assertEqual(problems(document, "snapshot.json"), [])
        processes = harness.Recording(self.folder / "s.iotrail", None).value("SELECT count(*) FROM snapshot_process")
        self.assertIn({"layer": "snapshot", "event": "snapshot_process", "events": processes}, document["events"])

    def test_stat_as_text_and_as_json_has_the_same_numbers(self):
        name, trace = self.folder / "stat.json", self.folder / "stat.iotrail"
        process = harness.run(harness.IOTRAIL, "stat", "--json", "--summary", name, "-o", trace, "--", "dd", "if=/dev/zero",
                              f"of={self.folder}/f", "bs=64k", "count=20")
        if not trace.exists():
            self.skipTest(process.stderr)
        document = json.loads(name.read_text())
        self.assertEqual(problems(document, "stat.json"), [])
        document["notes"] = []  # the command that shows them again, which a report lacks
        self.assert_same_numbers(self.printed("report", trace, "--full", "--wide"), document)

    def test_intervals_of_stat_are_lines_of_json(self):
        name = self.folder / "stat.jsonl"
        script = "import os, time\nfd = os.open('/dev/null', os.O_WRONLY)\nwhile time.process_time() < 1: os.write(fd, b'12345678')"
        process = harness.run(harness.IOTRAIL, "stat", "--interval", "200ms", "--layers", "syscall", "--json", "--summary", name,
                              "-o", self.folder / "s.iotrail", "--", "python3", "-c", script)
        if not name.exists():
            self.skipTest(process.stderr)
        *intervals, whole = [json.loads(line) for line in name.read_text().splitlines()]
        self.assertGreaterEqual(len(intervals), 3)
        self.assertEqual(problems(whole, "stat.json"), [])
        writes = 0
        for interval in intervals:
            self.assertEqual(problems(interval, "stat_interval.json"), [])
            seconds = interval["title"]["values"]["interval_ns"] / 1e9
            for row in interval["interval"]:
                for amount in ("operations", "bytes", "errors"):
                    self.assertAlmostEqual(row[f"{amount}_per_second"] * seconds, row[amount], delta=1e-6 * row[amount] + 1e-6)
                writes += row["operations"] if row["operation"] == "write" else 0
        (in_all,) = [row["operations"] for row in whole["operations"] if row["operation"] == "write"]
        self.assertEqual(writes, in_all, "each event is in one interval")

    def test_json_of_verify_and_explain_fits_its_schema(self):
        trace = self.small_recording()
        verified = json.loads(self.printed("verify", trace, "--json"))
        self.assertEqual(problems(verified, "verify.json"), [])
        explained = json.loads(self.printed("explain", trace, "--json"))
        self.assertEqual(problems(explained, "explain.json"), [])
        text = " ".join(self.printed("explain", trace).split())
        for operation in explained["operations"]:
            self.assertIn(" ".join(operation["title"]["text"].split()), text)
            self.assertIn(ns_text(operation["duration_ns"]), operation["title"]["text"])
            for note in operation["notes"]:
                self.assertIn(" ".join(note["text"].split()), text)

    def test_json_of_findings_fits_its_schema_and_its_text_has_the_same_sentences(self):
        script = "import os; fd = os.open('f', os.O_WRONLY | os.O_CREAT)\nfor _ in range(12000): os.write(fd, b'1234567')"
        trace = self.record("python3", "-c", script, cwd=self.folder).path
        document = json.loads(self.printed("findings", trace, "--all", "--json"))
        self.assertEqual(problems(document, "findings.json"), [])
        (tiny,) = [row for row in document["findings"] if row["id"] == "F01"]
        self.assertEqual(tiny["severity"], "warning")
        text = " ".join(self.printed("findings", trace, "--all").split())
        (section,) = [section for section in document["sections"] if section["id"] == "F01"]
        self.assertEqual(section["notes"][0]["values"]["calls"], 12000)
        for sentence in [document["title"], section["title"], *section["notes"]]:
            self.assertIn(" ".join(sentence["text"].split()), text)

    def test_json_of_diff_fits_its_schema_and_its_text_has_the_same_numbers(self):
        one, other = self.small_recording(), self.record("sh", "-c", "cat /etc/passwd > g; sync g", expect=None,
                                                         name="other", cwd=self.folder).path
        for by in ("call", "file", "process", "device"):
            document = json.loads(self.printed("diff", one, other, "--by", by, "--json", "--top", ROWS))
            self.assertEqual(problems(document, "diff.json"), [])
            text = " ".join(self.printed("diff", one, other, "--by", by, "--top", ROWS).split())
            for section in document["sections"]:
                for note in section["notes"]:
                    self.assertIn(" ".join(note["text"].split()), text)
            for row in document["changes"]:
                self.assertEqual(row["change_ns"], row["time_after_ns"] - row["time_before_ns"])
            self.assertEqual(len(document["runs"]), 2)

    def test_json_of_cache_fits_its_schema_and_its_text_has_the_same_numbers(self):
        trace = self.small_recording()
        for options in ((), ("--policy", "all"), ("--sample", 8)):
            document = json.loads(self.printed("cache", trace, "--json", *options))
            self.assertEqual(problems(document, "cache.json"), [])
            self.assert_same_numbers(self.printed("cache", trace, *options), document)

    def test_json_of_profile_fits_its_schema_and_its_text_has_the_same_numbers(self):
        trace = self.small_recording()
        for traces in ((trace,), (trace, trace)):
            document = json.loads(self.printed("profile", *traces, "--json"))
            self.assertEqual(problems(document, "profile.json"), [])
            self.assertEqual("calibration" in document, len(traces) > 1)
        document = json.loads(self.printed("profile", trace, "--json", "--top", ROWS))
        words = " ".join(self.printed("profile", trace, "--top", ROWS).split())
        for sentence in [document["title"], *(note for section in document["sections"] for note in section["notes"])]:
            self.assertIn(" ".join(sentence["text"].split()), words)
        self.assertTrue(document["files"] and document["sizes"])
        for row in document["files"]:
            self.assertIn(f"{row['accesses']:,} {bytes_text(row['bytes'])}", words)
        for row in document["sizes"]:
            self.assertIn(f"{bytes_text(row['bytes'])} {row['accesses']:,}", words)

    def test_a_document_that_does_not_fit_is_found(self):
        trace = self.small_recording()
        document = json.loads(self.printed("report", trace, "--json", "--by", "file"))
        self.assertEqual(problems(document, "report.json"), [])
        del document["files"][0]["bytes_read"]
        document["files"][0]["_name"] = "x"
        document["trace"] = 1
        document["unknown"] = "no table"
        self.assertEqual(len(problems(document, "report.json")), 4)


if __name__ == "__main__":
    harness.main()
