# SPDX-License-Identifier: BSD-3-Clause
"""Traces may come from an attacker. Whatever is in a trace, no verb crashes, hangs, writes outside
its output, or controls the terminal. None shows other numbers without reporting damage."""
import concurrent.futures
import ctypes
import ctypes.util
import hashlib
import json
import os
import pathlib
import pty
import random
import shutil
import struct
import subprocess

import harness

FAILED = 1
CORRUPTIONS, ALL_CORRUPTIONS = 6, 300
SEGMENT_HEADER = 48
TOTALS = "SELECT event, count(*) AS n, sum(bytes) AS bytes, sum(duration_ns) AS ns, count(path) FROM operations GROUP BY event ORDER BY event"
READERS = {
    "info": ["info"],
    "script": ["script"],
    "export": ["export", "--to", "jsonl"],
    "query": ["query", "--json", TOTALS],
    "report": ["report", "--full"],
}
WORKLOAD = "ls -lR /usr/include/linux > list; sort list > sorted; sync sorted; mv list moved"


def seal(manifest):
    """The text of a manifest, with the checksum that a recorder would compute."""
    manifest.pop("checksum", None)
    body = json.dumps(manifest)[:-1].encode()
    xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    xxhash.XXH3_64bits.restype = ctypes.c_uint64
    return body + b',\n "checksum": "%016x"\n}\n' % xxhash.XXH3_64bits(body, ctypes.c_size_t(len(body)))


BLOCK_HEADER = 64


def xxh3(data, seed):
    xxhash = ctypes.CDLL(ctypes.util.find_library("xxhash"))
    xxhash.XXH3_64bits_withSeed.restype = ctypes.c_uint64
    return xxhash.XXH3_64bits_withSeed(bytes(data), ctypes.c_size_t(len(data)), ctypes.c_uint64(seed))


def blocks_of(segment):
    """Begin and payload size of each block (docs/format.md)."""
    at = SEGMENT_HEADER
    while at + BLOCK_HEADER <= len(segment):
        (payload,) = struct.unpack_from("<I", segment, at + 12)
        yield at, payload
        at += BLOCK_HEADER + payload


def with_byte(segment, block, payload, place, byte, trace_id):
    """The segment with a changed byte in a block's payload, and with matching checksums."""
    changed = bytearray(segment)
    changed[block + BLOCK_HEADER + place] = byte
    (seed,) = struct.unpack("<Q", bytes.fromhex(trace_id)[:8])
    begin = block + BLOCK_HEADER
    struct.pack_into("<Q", changed, block + 48, xxh3(changed[begin:begin + payload], seed))
    struct.pack_into("<Q", changed, block + 56, xxh3(changed[block:block + 56], seed))
    return bytes(changed)


def corrupted(chance, data):
    """`data` with one fault of disks, transfers or people; never unchanged."""
    at = chance.randrange(len(data))
    size = chance.choice((1, 1, 7, 64, 500))
    changed = chance.choice((
        lambda: data[:at] + bytes([data[at] ^ (1 << chance.randrange(8))]) + data[at + 1:],
        lambda: data[:at] + bytes([chance.randrange(256)]) + data[at + 1:],
        lambda: data[:at],
        lambda: data[:at] + chance.randbytes(size) + data[at:],
        lambda: data[:at] + data[at + size:],
        lambda: data[:at] + data[at:at + size] + data[at:],
        lambda: data[:at] + bytes(size) + data[at + size:],
    ))()
    return changed if changed != data else corrupted(chance, data)


def contents(folder):
    """Everything below `folder`: path, kind, bytes."""
    return {str(path.relative_to(folder)): os.readlink(path) if path.is_symlink() else
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "" for path in folder.rglob("*")}


class Adversary(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.trace = self.recorded_once("sh", "-c", WORKLOAD, cwd=self.folder)
        self.manifest = json.loads((self.trace / "manifest.json").read_text())
        self.cases = self.folder / "cases"
        self.cases.mkdir()

    def copy(self, name):
        """A copy to damage, in its own directory, so that stray writes show."""
        folder = self.cases / name
        folder.mkdir()
        return pathlib.Path(shutil.copytree(self.trace, folder / "t.iotrail"))

    def read(self, verb, trace, *more):
        """Runs a verb and checks that it neither crashes nor hangs."""
        words = [verb, trace, *(more or READERS.get(verb, [verb])[1:])]
        process = harness.run(harness.IOTRAIL, *words, timeout=harness.PATIENCE_S)
        errors = process.stderr[-2000:]
        self.assertIn(process.returncode, (0, FAILED), f"{words}: {errors}")
        for word in ("bug:", "terminate called", "AddressSanitizer"):
            self.assertNotIn(word, process.stderr, words)
        return process

    def shown(self, process, trace):
        return process.stdout.replace(str(trace), "TRACE")

    def read_damaged(self, verb, trace, expected, what):
        """The output either equals that for the good trace, or reports damage."""
        process = self.read(verb, trace)
        if process.returncode == 0 and self.shown(process, trace) != expected:
            self.assertTrue("damaged" in (process.stderr + process.stdout).lower(), f"{verb} of {what}: silently different")
        if process.returncode != 0:
            self.assertTrue(process.stderr.startswith("iotrail: "), f"{verb} of {what}: {process.stderr}")

    def corrupt_and_read(self, number, expected):
        chance = random.Random(number)
        trace = self.copy(str(number))
        file = sorted(trace.iterdir())[number % 3]
        file.write_bytes(corrupted(chance, file.read_bytes()))
        before = contents(trace.parent)
        every = {"info": 1, "script": 1, "export": 3, "query": 12, "report": 25}
        for verb, share in every.items():
            if number // 3 % share == 0:
                self.read_damaged(verb, trace, expected[verb], f"corruption {number} of {file.name}")
        self.assertEqual(contents(trace.parent), before, f"corruption {number}: a reader has written")
        self.read("tag", trace, "a=b")
        self.read("remove", trace)
        self.assertFalse(trace.exists() and any(trace.iterdir()), f"corruption {number}: not removed")

    def test_random_corruptions(self):
        self.read_corruptions(range(CORRUPTIONS))

    @harness.long
    def test_more_random_corruptions(self):
        self.read_corruptions(range(CORRUPTIONS, ALL_CORRUPTIONS))

    def read_corruptions(self, numbers):
        good = self.copy("good")
        expected = {verb: self.shown(self.read(verb, good), good) for verb in READERS}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in [pool.submit(self.corrupt_and_read, number, expected) for number in numbers]:
                done.result()

    def read_lies(self, block, payload):
        """Changes a byte at the begin of the block, with matching checksums: some columns cannot be
        decoded, others can."""
        trace = self.copy(f"block{block}")
        file = trace / "dictionary.seg"
        segment = file.read_bytes()
        for place in range(min(payload, 16)):
            file.write_bytes(with_byte(segment, block, payload, place, 0x3f, self.manifest["trace_id"]))
            for verb in ("script", "verify") if place % 8 == 2 else ("script",):
                self.assertNotIn("Invalid Error", self.read(verb, trace).stderr, f"{verb}: byte {place} of block {block}")

    @harness.long
    def test_blocks_that_lie_with_good_checksums(self):
        segment = (self.trace / "dictionary.seg").read_bytes()
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for done in [pool.submit(self.read_lies, *block) for block in blocks_of(segment)]:
                done.result()

    def read_crafted(self, name, manifest, verbs=("info", "script", "export")):
        trace = self.copy(name)
        (trace / "manifest.json").write_bytes(seal(manifest))
        before = contents(trace.parent)
        results = [self.read(verb, trace) for verb in verbs]
        self.assertEqual(contents(trace.parent), before)
        return trace, results

    @harness.long
    def test_crafted_manifests_with_a_good_checksum(self):
        """Changes numbers, texts and structure at random: an attacker can compute the checksum."""
        chance = random.Random(7)

        def places(value):
            for key in list(value) if isinstance(value, dict) else range(len(value)):
                yield value, key
                if isinstance(value[key], (dict, list)):
                    yield from places(value[key])

        odd = (0, -1, 2**63, 2**64 - 1, 10**30, 0.5, "", "x", "../x", "\0", "\x1b[31m", None, True, [], {}, [[]], {"a": 1})
        for number in range(60):
            manifest = json.loads(json.dumps(self.manifest))
            where = [place for place in places(manifest) if place[1] != "format_version"]
            for _ in range(chance.choice((1, 1, 5))):
                owner, key = chance.choice(where)
                if isinstance(owner, dict) or key < len(owner):
                    owner[key] = chance.choice(odd) if chance.random() < 0.7 else chance.choice(where)[0]
            try:
                text = json.loads(json.dumps(manifest))
            except (ValueError, RecursionError):
                continue  # it contains itself
            with self.subTest(number=number):
                self.read_crafted(f"odd{number}", text, ("info", "script") + (("report",) if number % 10 == 0 else ()))

    def test_tables_and_columns_of_a_crafted_schema(self):
        for name, manifest in self.crafted_schemas().items():
            with self.subTest(name):
                self.read_crafted(name, manifest, ("info", "query"))

    @harness.long
    def test_all_readers_of_crafted_schemas(self):
        for name, manifest in self.crafted_schemas().items():
            with self.subTest(name):
                self.read_crafted(name, manifest, ("script", "export", "report"))

    def crafted_schemas(self):
        def with_table(**changes):
            manifest = json.loads(json.dumps(self.manifest))
            manifest["schema"][0].update(changes)
            return manifest

        columns = self.manifest["schema"][0]["columns"]
        second = self.manifest["schema"][1]
        deep = json.loads("[" * 500 + "]" * 500)
        return {
            "kind_of_another": with_table(kind=second["kind"]),
            "name_of_another": with_table(name=second["name"]),
            "no_columns": with_table(columns=[]),
            "many_columns": with_table(columns=[f"c{n} u64 number" for n in range(60000)]),
            "view": with_table(name="top_files"),
            "engine_table": with_table(name="events"),
            "text_for_numbers": with_table(columns=[column.split()[0] + " text text" for column in columns]),
            "deep": dict(self.manifest, x=deep),
            "many_hooks": dict(self.manifest, hooks=[{}] * 300000),
        }
    def test_export_stays_in_its_directory(self):
        for number, name in enumerate(("../../../evil", "/tmp/iotrail-evil", "a/b", "..", "")):
            manifest = json.loads(json.dumps(self.manifest))
            for table in manifest["schema"]:
                if table["name"] == "app_write":
                    table["name"] = name
            trace, _ = self.read_crafted(f"name{number}", manifest, ())
            out = trace.parent / "deep" / "deeper" / "out"
            out.parent.mkdir(parents=True)
            self.read("export", trace, "--to", "csv", "-o", out)
            strangers = [path for path in contents(trace.parent) if path.endswith(".csv") and not path.startswith("deep/deeper/out/")]
            self.assertEqual(strangers, [])
            self.assertFalse(pathlib.Path("/tmp/iotrail-evil.csv").exists())

    def assert_harmless(self, text, where):
        for bad in ("\x1b", "\x9b", "\x00", "\x07", "\u202e", "\u2066"):
            self.assertNotIn(bad, text, f"{where} lets {bad!r} through")

    def on_terminal(self, *words):
        """The bytes that reach a terminal."""
        ours, theirs = pty.openpty()
        with subprocess.Popen([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
            os.close(theirs)
            shown = b""
            while True:
                try:
                    part = os.read(ours, 65536)
                except OSError:
                    break
                if not part:
                    break
                shown += part
            process.wait(timeout=harness.PATIENCE_S)
        os.close(ours)
        return shown.decode(errors="replace").replace("\r\n", "\n")

    def test_nothing_in_a_trace_gives_orders_to_the_terminal(self):
        evil = "evil\x1b[31m\u202e\u2066\x9b0m\x07\x00end"
        manifest = json.loads(json.dumps(self.manifest))
        for member in ("host", "kernel", "machine", "stop_reason", "iotrail_version"):
            manifest[member] = evil
        manifest.update(command=[evil], filters=[evil], limits=[evil], layers=[evil, "app"], tags={evil: evil})
        manifest["counters"][evil] = 1
        manifest["counts"][evil] = 1
        manifest["sources"].append({"name": evil, "produced": 1, "written": 1, "lost": 0})
        manifest["hooks"] += [{name: evil for name in ("event", "source", "tier", "reason", "remedy", "hook")},
                              {"event": evil, "reason": evil, "remedy": evil, "hook": ""}]
        trace, _ = self.read_crafted("evil", manifest, ())
        named = trace.rename(trace.parent / "evil\x1b[31m\u202e.iotrail")
        everything = ("SELECT * FROM manifest", "SELECT * FROM hooks", 'SELECT 1 AS "evil\x1b[31m"')
        commands = [("info", named), ("info", named, "--json"), ("report", named), ("list",), ("list", "--json"),
                    ("report", str(named) + "x"), ("query", named, "SELECT \x1b[31m"), ("tag", named, "\x1b"), ("script", named, "-e", "\x1b")]
        commands += [("query", named, sql, "--format", form) for sql in everything for form in ("text", "csv", "json")]
        for words in commands:
            with self.subTest(words=words[0]):
                shown = self.on_terminal("env", f"IOTRAIL_REPOSITORY={trace.parent}", harness.IOTRAIL, *words)
                self.assert_harmless(shown, words)
        self.assertIn("evil", self.read("info", named).stdout)

    def test_recorded_names_give_no_orders_to_the_terminal(self):
        evil = self.folder / "evil\x1b[31m\u202e\u2066\x07"
        recording = self.record("sh", "-c", 'echo x > "$1"', "sh", evil, name="names")
        self.assert_harmless(recording.process.stderr, "record")
        for verb in ("info", "report", "script", "query"):
            self.assert_harmless(self.on_terminal(harness.IOTRAIL, verb, recording.path, *(["SELECT * FROM files"] if verb == "query" else [])), verb)
        self.assertEqual(recording.value(f"SELECT count(*) > 0 FROM files WHERE path = '{evil}'"), True)

    @harness.in_both
    def test_links_fifos_and_devices(self):
        target = self.folder / "target"
        target.write_text("precious")
        makers = {
            "link": lambda path: path.symlink_to(target),
            "hard": lambda path: os.link(target, path),
            "fifo": os.mkfifo,
            "directory": pathlib.Path.mkdir,
            "device": lambda path: path.symlink_to("/dev/zero"),
            "loop": lambda path: path.symlink_to(path),
        }
        for kind, make in makers.items():
            for name in harness.first(2, ("manifest.json", "events-0001.seg", "manifest.json.next", "dictionary.seg", "events-0002.seg")):
                with self.subTest(kind=kind, name=name):
                    trace = self.copy(f"{kind}-{name}")
                    (trace / name).unlink(missing_ok=True)
                    make(trace / name)
                    for verb in ("info", "script", "export"):
                        self.read(verb, trace)
                    self.read("tag", trace, "a=b")
                    self.read("remove", trace)
                    self.assertEqual(target.read_text(), "precious")

    def test_remove_removes_traces_only(self):
        project = self.folder / "project"
        (project / "src").mkdir(parents=True)
        (project / "src" / "x.js").write_text("mine")
        link = self.folder / "link.iotrail"
        link.symlink_to(self.trace)
        for manifest in ("{}", '{"format_version": 1}', '{"format_version": 2}', "x"):
            (project / "manifest.json").write_text(manifest)
            before = contents(self.folder)
            for path in (project, link, f"{link}/", self.folder):
                self.assertEqual(self.read("remove", path, "--force").returncode, FAILED)
            self.assertEqual(contents(self.folder), before)
        trace = self.copy("mine")
        (trace / "notes").write_text("mine")
        process = self.read("remove", trace)
        self.assertEqual(process.returncode, FAILED)
        self.assertIn("notes", process.stderr)
        self.assertEqual(contents(trace), contents(trace) | {"notes": hashlib.sha256(b"mine").hexdigest()})
        self.assertEqual([path.name for path in trace.iterdir()], ["notes"])

    def test_a_query_reaches_nothing_else(self):
        out = self.folder / "out"
        for sql in (f"COPY (SELECT 1) TO '{out}'", f"EXPORT DATABASE '{out}'", f"ATTACH '{out}'", "SELECT * FROM read_csv('/etc/passwd')",
                    "SELECT * FROM glob('/*')", "INSTALL httpfs", "SET enable_external_access = true"):
            process = harness.run(harness.IOTRAIL, "query", self.trace, sql)
            self.assertEqual(process.returncode, FAILED, sql)
            self.assertFalse(out.exists(), sql)
        spill = self.folder / "spill"
        spill.mkdir()
        for sql in (f"CALL enable_logging(storage='file', storage_path='{out}'); SELECT 1", f"FROM enable_logging(storage='file', storage_path='{out}')",
                    f"EXPLAIN ANALYZE CALL enable_logging(storage='file', storage_path='{out}')"):
            process = harness.run(harness.IOTRAIL, "query", self.trace, sql, env=dict(os.environ, TMPDIR=str(spill)))
            self.assertIn(process.returncode, (0, FAILED), sql)
            self.assertFalse(out.exists(), sql)
            self.assertEqual(list(spill.iterdir()), [], sql)
        process = harness.run(harness.IOTRAIL, "query", self.trace, "SELECT 1 AS one", "--format", "csv", "--output", out)
        self.assertEqual((process.returncode, process.stdout, out.read_text()), (0, "", "one\n1\n"))
        process = harness.run(harness.IOTRAIL, "query", self.trace, "SELECT 2", "--output", out)
        self.assertEqual(process.returncode, FAILED)
        self.assertEqual(out.read_text(), "one\n1\n")
        process = harness.run(harness.IOTRAIL, "query", self.trace, "--unsafe-external-access", f"COPY (SELECT 1) TO '{out}2'")
        self.assertEqual(process.returncode, 0, process.stderr)


if __name__ == "__main__":
    harness.main()
