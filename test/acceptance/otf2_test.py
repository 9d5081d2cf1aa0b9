# SPDX-License-Identifier: BSD-3-Clause
"""`export --to otf2`: its own library's programs read what the trace has."""
import collections
import json
import re

import export_fixture
import harness

PYTHON = "/usr/bin/python3" # the one that Debian's packages are for

# Counts and sums of an archive, by the Python bindings.
READER = """
import collections, json, otf2, sys
counts, sums, ops, causes = collections.Counter(), collections.Counter(), collections.defaultdict(set), 0
open_handles, regions, depth, kinds = set(), set(), collections.Counter(), collections.Counter()
with otf2.reader.open(sys.argv[1]) as trace:
    modes = {}
    places = collections.Counter(location.name for location in trace.definitions.locations)
    for location, event in trace.events:
        attributes = {key.name: value for key, value in (event.attributes or {}).items()}
        kind = type(event).__name__
        kinds[kind] += 1
        if kind == "Enter":
            counts[attributes["layer"]] += 1
            depth[location] += 1
            if location.name.endswith(" kernel"):
                ops["kernel"].add(attributes.get("op"))
            else:
                ops["calls"].add(attributes.get("op"))
        elif kind == "Leave":
            depth[location] -= 1
            assert depth[location] >= 0
        elif kind == "IoCreateHandle":
            assert event.handle not in open_handles
            open_handles.add(event.handle)
        elif kind == "IoDestroyHandle":
            open_handles.discard(event.handle)
        elif kind == "IoOperationBegin":
            is_device = event.handle.io_paradigm.identification == "BLOCK"
            flags = str(event.handle.io_handle_flags)
            assert is_device or event.handle in open_handles or "PRE_CREATED" in flags, (event, flags)
            modes[event.handle, location, event.matching_id] = (is_device, str(event.mode).rpartition(".")[2], event.handle.file.name)
            sums["requested", is_device, str(event.mode).rpartition(".")[2]] += event.bytes_request
            causes += "cause" in attributes
        elif kind == "IoOperationComplete":
            is_device, mode, _ = modes.pop((event.handle, location, event.matching_id))
            counts["device" if is_device else "call", mode] += 1
            sums["device" if is_device else "call", mode] += event.bytes_result
assert not modes and not any(depth.values())
flat = lambda some: {" ".join(map(str, key)) if isinstance(key, tuple) else key: value for key, value in some.items()}
print(json.dumps({"counts": flat(counts), "sums": flat(sums), "causes": causes, "kinds": kinds, "places": places,
                  "shared": len((ops["kernel"] & ops["calls"]) - {None})}))
"""


class Otf2(export_fixture.ExportTest):
    def setUp(self):
        super().setUp()
        if harness.run(PYTHON, "-c", "import otf2").returncode:
            self.skipTest("python3-otf2 is not installed: tools/setup --check installs it")

    def test_its_own_library_reads_all_that_is_there(self):
        archive = self.export("t.otf2")
        read = harness.run(PYTHON, "-c", READER, archive / "trace.otf2")
        self.assertEqual((read.returncode, read.stderr), (0, ""))
        found = json.loads(read.stdout)
        counts, sums = found["counts"], found["sums"]
        spans = self.recording.query("SELECT layer, count(*) AS n FROM timeline_spans WHERE track = 'thread' GROUP BY layer")
        self.assertEqual({layer: n for layer, n in counts.items() if " " not in layer}, {row["layer"]: int(row["n"]) for row in spans})
        calls = "is_asked(layer) AND layer <> layer_at('later')"
        for mode, condition in (("READ", "reads(class) AND file <> 0"), ("WRITE", "writes(class) AND NOT reads(class) AND file <> 0"),
                                ("FLUSH", "is_sync(class)")):
            number, moved = self.sum_of("1", "operations", f"{calls} AND {condition}"), self.sum_of("bytes", "operations", f"{calls} AND {condition}")
            self.assertEqual((counts.get(f"call {mode}", 0), sums.get(f"call {mode}", 0)), (number, moved), mode)
        self.assertGreaterEqual(counts["call WRITE"], 65)
        for mode, name in (("READ", "read"), ("WRITE", "write"), ("FLUSH", "flush")):
            requests = f"choice_text('block', flags) = '{name}'"
            self.assertEqual((counts.get(f"device {mode}", 0), sums.get(f"device {mode}", 0)),
                             (self.sum_of("1", "requests", requests), self.sum_of("bytes", "requests", requests)), mode)
        self.assertGreaterEqual(found["kinds"]["IoCreateHandle"], self.sum_of("1", "operations", "is_asked(layer) AND opens(class) AND error = 0 AND file <> 0"))
        self.assertEqual(found["kinds"]["IoDestroyHandle"], self.sum_of("1", "operations", "is_asked(layer) AND closes(class) AND error = 0"))
        self.assertGreater(found["shared"], 0, "no operation is in calls and in the kernel's locations")
        self.assertGreater(found["causes"], 0)
        # 50 reads ask for 1000, 1008, ... bytes.
        self.assertGreaterEqual(sums["requested False READ"], sum(1000 + 8 * n for n in range(50)))

    def test_otf2_print_reads_it(self):
        self.require_program("otf2-print")
        archive = self.export("t.otf2")
        printed = harness.run("otf2-print", archive / "trace.otf2")
        self.assertEqual((printed.returncode, printed.stderr), (0, ""))
        names = {"ENTER", "LEAVE", "IO_OPERATION_BEGIN", "IO_OPERATION_COMPLETE"}
        counted = {name: len(re.findall(rf"^{name} ", printed.stdout, re.M)) for name in names}
        self.assertEqual(counted["ENTER"], self.sum_of("1", "timeline_spans", "track = 'thread'"))
        self.assertEqual(counted["ENTER"], counted["LEAVE"])
        self.assertEqual(counted["IO_OPERATION_BEGIN"], counted["IO_OPERATION_COMPLETE"])

    def test_nothing_is_replaced_and_no_half_archive_is_left(self):
        archive = self.export("t.otf2")
        again = harness.run(harness.IOTRAIL, "export", self.trace, "-o", archive)
        self.assertEqual(again.returncode, 1)
        self.assertIn("EEXIST", again.stderr)
        self.assertTrue((archive / "trace.otf2").exists())
        missing = harness.run(harness.IOTRAIL, "export", self.trace, "--to", "otf2", "-o", self.folder / "no/t.otf2")
        self.assertEqual(missing.returncode, 1)
        self.assertFalse((self.folder / "no").exists())


HANDLES = """
import fcntl, os, sys
os.chdir(sys.argv[1])
for n in range(40):
    file = os.open(f"f{n}", os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_DSYNC, 0o600)
    os.write(file, b"x" * 100)
    os.lseek(file, n, os.SEEK_SET)
    os.lseek(file, -10, os.SEEK_END)
    other = os.dup(file)
    os.dup2(other, 100)
    os.dup2(other, 100)
    fcntl.fcntl(file, fcntl.F_SETFL, os.O_APPEND | os.O_NONBLOCK)
    fcntl.fcntl(file, fcntl.F_SETFD, fcntl.FD_CLOEXEC)
    fcntl.flock(file, fcntl.LOCK_EX)
    rival = os.open(f"f{n}", os.O_RDONLY)
    try:
        fcntl.flock(rival, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        pass
    fcntl.flock(file, fcntl.LOCK_UN)
    fcntl.lockf(file, fcntl.LOCK_EX, 10)
    fcntl.lockf(file, fcntl.LOCK_UN, 10)
    for one in (other, 100, rival, file):
        os.close(one)
    for one in os.pipe():
        os.close(one)
    os.unlink(f"f{n}")
"""


class Handles(harness.AcceptanceTest):
    def test_what_a_program_does_to_its_descriptors(self):
        self.require_program("otf2-print")
        recording = self.record("python3", "-c", HANDLES, self.folder)
        self.require(recording, "syscall")
        archive = self.folder / "h.otf2"
        done = harness.run(harness.IOTRAIL, "export", recording.path, "--to", "otf2", "-o", archive)
        self.assertEqual(done.returncode, 0, done.stderr)
        definitions = harness.run("otf2-print", "--show-global-defs", archive / "trace.otf2").stdout
        printed = harness.run("otf2-print", archive / "trace.otf2").stdout
        ours_only = rf'^IO_HANDLE +(\d+) +Name: "[^"]*" <\d+>, File: "file://(?:{re.escape(str(self.folder))}/f|pipe:)'
        handles = set(re.findall(ours_only, definitions, re.M))
        ours, results, modes = collections.Counter(), [], collections.Counter()
        for kind, text in re.findall(r"^(IO_\w+) +\d+ +\d+ +(.*)$", printed, re.M):
            named = re.match(r'(?:Old )?Handle: ".*?" <(\d+)>', text)
            if (named and named[1] in handles) or (kind == "IO_DELETE_FILE" and f"{self.folder}/f" in text):
                ours[kind] += 1
                results += map(int, re.findall(r"Offset Result: (\d+)", text))
                modes.update(re.findall(r"Access Mode: (\w+)", text))
        self.assertEqual(ours["IO_SEEK"], 80)
        self.assertEqual(ours["IO_CREATE_HANDLE"], 40 + 40 + 80, "files twice, and both ends of a pipe")
        self.assertEqual(ours["IO_DUPLICATE_HANDLE"], 120)
        self.assertEqual(ours["IO_DESTROY_HANDLE"], 40 * (4 + 2 + 1), "a dup2 ends the handle that had the number")
        self.assertEqual(ours["IO_CHANGE_FLAGS"], 80)
        self.assertEqual(ours["IO_DELETE_FILE"], 40)
        self.assertEqual((ours["IO_ACQUIRE_LOCK"], ours["IO_RELEASE_LOCK"], ours["IO_TRY_LOCK"]), (80, 80, 40))
        self.assertEqual(sorted(results), sorted([*range(40), *[90] * 40]))
        self.assertEqual(modes, {"READ_WRITE": 40, "READ_ONLY": 40 + 40, "WRITE_ONLY": 40})


if __name__ == "__main__":
    harness.main()
