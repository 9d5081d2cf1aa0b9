# SPDX-License-Identifier: BSD-3-Clause
"""Events, histograms and statistics of a disk of the test's own, compared with what the test did, and with a recomputation
from the events."""
import collections
import csv
import io
import math
import os

import iotrace
from iotrace import SECTORS, harness

HISTOGRAM_BASE = 10240  # sectors
BUCKET_SECTORS = 256
BUCKETS = 32
SIZES = (5, 10, 15, 20, 50, 100)
COLUMNS = ("device.id,device.name,device.partition,file.eventType,file.id,file.offset,file.path,file.size,header.sid,header.timestamp,"
           "io.error,io.flush,io.fua,io.ioClass,io.latency,io.lba,io.len,io.operation,io.qd,io.writeHint")
PERCENTILES = {"90.000000th": 0.9, "99.000000th": 0.99, "99.900000th": 0.999, "99.990000th": 0.9999}


def group_of(event):
    work = event["io"]
    return "flush" if work["flush"] and work["len"] == 0 else work["operation"].lower()


def groups_of(events):
    groups = collections.defaultdict(list)
    for event in events:
        for name in (group_of(event), "total"):
            groups[name].append(event["io"])
    return groups


def weighted(values, share):
    """The value up to which the smallest values have this share of the sum."""
    so_far, total = 0, sum(values)
    for value in sorted(values):
        so_far += value
        if so_far >= share * total:
            return value
    return 0


def class_of(value, classes):
    width = 1 if value < 2 * classes else 1 << int(math.log2(value // classes))
    return value // width * width, value // width * width + width - 1


def simulate_lru(accesses, size):
    """Whether each access of blocks finds all of them, one at a time, in a cache of that many blocks."""
    cache = collections.OrderedDict()
    for blocks in accesses:
        is_hit = True
        for block in blocks:
            is_hit = is_hit and block in cache
            cache[block] = None
            cache.move_to_end(block)
            if len(cache) > size:
                cache.popitem(last=False)
        yield is_hit


class Events(iotrace.IotraceTest):
    def traced(self, work, *options):
        """(trace path, device) of what `work(device)` did."""
        device = self.disk()
        self.write(device, 0, blocks=64)
        tracer = self.start("--start-tracing", "--devices", device, *options)
        work(device)
        return self.stop(tracer)["tracePath"], device

    def test_the_exact_events_of_a_write_a_read_and_a_discard(self):
        def work(device):
            self.write(device, 100, blocks=17)
            self.read(device, 200, blocks=19)
            self.discard(device, 300, blocks=21)
        path, device = self.traced(work)
        events = [event for event in self.lines(path) if "io" in event]
        found = {(event["io"]["operation"], event["io"]["lba"], event["io"]["len"]) for event in events}
        self.assertIn(("Write", str(100 * SECTORS), 17 * SECTORS), found)
        self.assertIn(("Read", str(200 * SECTORS), 19 * SECTORS), found)
        self.assertIn(("Discard", str(300 * SECTORS), 21 * SECTORS), found)
        for event in events:
            self.assertEqual(event["device"]["name"], os.path.basename(device))
            self.assertGreaterEqual(int(event["io"]["qd"]), 1)
            self.assertFalse(event["io"]["error"])
        self.assertEqual([int(event["header"]["sid"]) for event in events], [*range(1, len(events) + 1)])
        self.assertEqual(events[0]["header"]["timestamp"], "0")

    def test_csv_has_the_same(self):
        path, _ = self.traced(lambda device: self.write(device, 5, blocks=3))
        text = self.iotrace("-P", "-P", "-p", path, "-f", "csv").stdout
        self.assertEqual(text.splitlines()[0], COLUMNS)
        rows = [*csv.DictReader(io.StringIO(text))]
        events = self.lines(path)
        self.assertEqual(len(rows), len(events))
        for row, event in zip(rows, events):
            for member in ("lba", "len", "latency", "operation", "qd"):
                self.assertEqual(row[f"io.{member}"], str(event["io"][member]))
            self.assertEqual(row["io.error"], "false")

    def test_raw_events_are_those_of_the_parsed_ones(self):
        path, _ = self.traced(lambda device: [self.write(device, 9), self.read(device, 9)])
        raw = self.lines(path, "--raw")
        self.assertIn("deviceDescription", raw[0])
        submitted = {event["io"]["id"]: (event["io"]["lba"], int(event["header"]["timestamp"])) for event in raw if "io" in event}
        completed = {event["ioCompletion"]["refId"]: int(event["header"]["timestamp"]) for event in raw if "ioCompletion" in event}
        self.assertEqual(submitted.keys(), completed.keys())
        latencies = sorted(str(completed[one] - submitted[one][1]) for one in submitted)
        self.assertEqual(latencies, sorted(event["io"]["latency"] for event in self.lines(path)))
        times = [int(event["header"]["timestamp"]) for event in raw]
        self.assertEqual(times[1:], sorted(times[1:]))

    def test_lba_histogram(self):
        def work(device):
            with iotrace.Direct(device) as disk:
                for bucket in range(BUCKETS):
                    block = (HISTOGRAM_BASE + bucket * BUCKET_SECTORS) // SECTORS
                    for _ in range(bucket + 1):
                        disk.write(block)
                        disk.read(block)
                        disk.discard(block)
        path, _ = self.traced(work)
        (histogram,) = self.answer("--trace-parser", "--lba-histogram", "--path", path, "--bucket-size", BUCKET_SECTORS,
                                   "--subrange-start", HISTOGRAM_BASE, "--subrange-end",
                                   HISTOGRAM_BASE + BUCKETS * BUCKET_SECTORS)["histogram"]
        for operation, times in (("read", 1), ("write", 1), ("discard", 1), ("total", 3)):
            expected = [{"begin": str(HISTOGRAM_BASE + i * BUCKET_SECTORS), "end": str(HISTOGRAM_BASE + (i + 1) * BUCKET_SECTORS - 1),
                         "count": str(times * (i + 1))} for i in range(BUCKETS)]
            self.assertEqual(histogram[operation]["range"], expected, operation)

    def test_flushes_and_fua(self):
        def work(device):
            self.dd("if=/dev/zero", f"of={device}", "bs=4096", "count=4", "oflag=direct,sync", "conv=notrunc")
            harness.sync_file_system(device)
        path, _ = self.traced(work)
        self.assert_flushes(path)

    def assert_flushes(self, path):
        events = [event["io"] for event in self.lines(path) if "io" in event]
        self.assertTrue(any(event["flush"] for event in events), events)
        for event in events:
            if event["len"] == 0:
                self.assertEqual((event["lba"], event["flush"]), ("0", True))
        return events

    def test_forced_unit_access(self):
        """A journal's commit, on a disk that has it."""
        disk, point = self.make_null_disk("cache_size=64"), self.folder / "mount point"
        self.make_file_system(disk, "ext4", point)
        tracer = self.start("--start-tracing", "--devices", disk)
        (point / "file").write_bytes(b"x" * 4096)
        harness.sync_file_system(point)
        events = self.assert_flushes(self.stop(tracer)["tracePath"])
        self.assertTrue(any(event["fua"] and event["operation"] == "Write" and event["len"] for event in events), events)

    def test_statistics_equal_a_recomputation(self):
        def work(device):
            for block in (1, 2, 2, 3, 40):
                self.write(device, block, blocks=2)
            self.read(device, 2, blocks=8)
            self.discard(device, 3, blocks=2)
        path, device = self.traced(work)
        events = self.lines(path)
        (answer,) = self.answer("-P", "-S", "-p", path)["statistics"]
        self.assertEqual(answer["desc"]["device"]["size"], str(iotrace.DISK_BYTES // 512))
        groups = groups_of(events)
        for name in ("read", "write", "discard", "flush", "total"):
            with self.subTest(group=name):
                self.check_group(answer[name], groups.get(name, []), int(answer["duration"]))
        written = set()
        for event in groups["write"]:
            written |= set(range(int(event["lba"]), int(event["lba"]) + event["len"]))
        self.assertEqual(answer["write"]["metrics"]["workset"]["value"], len(written))
        self.check_histograms(path, groups)

    def check_group(self, answer, ios, duration_ns):
        lengths = [event["len"] for event in ios]
        latencies = [int(event["latency"]) for event in ios]
        self.assertEqual(answer["count"], str(len(ios)))
        self.assertEqual(answer["size"]["total"], str(sum(lengths)))
        self.assertEqual((answer["size"]["min"], answer["size"]["max"]), (str(min(lengths, default=0)), str(max(lengths, default=0))))
        self.assertEqual(answer["latency"]["total"], str(sum(latencies)))
        self.assertAlmostEqual(answer["metrics"]["throughput"]["value"], len(ios) * 1e9 / duration_ns, places=3)
        self.assertAlmostEqual(answer["metrics"]["bandwidth"]["value"], sum(lengths) * 512e9 / (1 << 20) / duration_ns, places=3)
        for key, share in PERCENTILES.items():
            self.assertEqual(answer["latency"]["percentiles"][key], str(weighted(latencies, share)))
            self.assertEqual(answer["size"]["percentiles"][key], str(weighted(lengths, share)))
            nth = max(math.ceil(share * len(ios)), 1) - 1
            self.assertEqual(answer["latency"]["truePercentiles"][key], str(sorted(latencies)[nth] if ios else 0))

    def check_histograms(self, path, groups):
        for option, member, classes, names in (("-L", "latency", 1, ("read", "write", "total")), ("-I", "len", 256, ("read", "write")),
                                               ("-Q", "qd", 128, ("read", "write", "total"))):
            (histogram,) = self.answer("-P", option, "-p", path)["histogram"]
            for name in names:
                expected = collections.Counter(class_of(int(event[member]), classes) if int(event[member]) else (0, 0)
                                               for event in groups.get(name, []) if member != "len" or event["len"])
                found = {(int(range_["begin"]), int(range_["end"])): int(range_["count"]) for range_ in histogram[name]["range"]}
                self.assertEqual(found, dict(expected), (option, name))
            rows = [*csv.DictReader(io.StringIO(self.iotrace("-P", option, "-p", path, "-f", "csv").stdout))]
            self.assertEqual(sum(int(row["write"]) for row in rows), sum(int(one["count"]) for one in histogram["write"]["range"]))

    def test_lru_caches(self):
        def work(device):
            with iotrace.Direct(device) as disk:
                for _ in range(3):
                    for block in range(2000, 2020):
                        disk.read(block, blocks=2)
                disk.write(2000)
        path, _ = self.traced(work)
        self.assertNotIn("extensions", self.lines(path)[0])
        answer = self.answer("--trace-parser", "--extensions", "--path", path, "--extension-type", "lru")
        self.assertEqual([one["name"] for one in answer["extension"]], [f"LRU {size}%" for size in SIZES])
        events = [event for event in self.lines(path) if event["io"]["operation"] != "Discard" and event["io"]["len"]]
        accesses = [range(int(event["io"]["lba"]) // SECTORS, (int(event["io"]["lba"]) + event["io"]["len"] + SECTORS - 1) // SECTORS)
                    for event in events]
        workset = len({block for blocks in accesses for block in blocks})
        for number, size in enumerate(SIZES):
            hits = [*simulate_lru(accesses, -(-workset * size // 100))]
            self.assertEqual([event["extensions"]["tags"][f"LRU {size}%"]["hit"] for event in events], hits, size)
            self.assertEqual(answer["extension"][number]["hits"], str(sum(hits)))
            self.assertAlmostEqual(answer["hitRatio"][number]["hitPercent"], 100 * sum(hits) / len(hits))
        self.assertTrue(any(hits) and not all(hits))

    def test_devices(self):
        path, device = self.traced(lambda disk: self.write(disk, 1))
        described = {one["name"]: one for one in self.answer("-P", "-D", "-p", path)["device"]}
        self.assertEqual(described[os.path.basename(device)]["size"], str(iotrace.DISK_BYTES // 512))


class Files(iotrace.IotraceTest):
    @harness.in_both
    def test_write_invalidation(self):
        for file_system in harness.first(1, ("ext4", "xfs")):
            with self.subTest(file_system=file_system):
                device, point = self.make_bare_disk(512 << 20, name=file_system), self.folder / f"mount point of {file_system}"
                self.make_file_system(device, file_system, point)
                self.check_write_invalidation(device, point)

    def check_write_invalidation(self, device, point):
        (point / "test_dir").mkdir()
        harness.sync_file_system(point)
        tracer = self.start("--start-tracing", "--devices", device)
        for name, kib, times in (("A.x", 3072, 2), ("test_dir/B.y", 16, 2), ("A.y", 2048, 5), ("B.x", 5120, 1)):
            file = point / name
            for _ in range(times):
                self.dd("if=/dev/zero", f"of={file}", "bs=16k", f"count={kib // 16}", "oflag=direct", "conv=notrunc")
        path = self.stop(tracer)["tracePath"]
        entries = self.answer("--trace-parser", "--fs-statistics", "--path", path)["entries"]
        found = {}
        for entry in entries:
            (kind,) = entry.keys() & {"directory", "fileNamePrefix", "fileExtension"}
            written = entry["statistics"]["write"]
            found[kind, entry[kind]] = (written["metrics"]["workset"]["value"] * 512 // 1024,
                                        round(written["metrics"]["write invalidation factor"]["value"], 4))
        kib = {"A": (5120, 3072 * 2 + 2048 * 5), "B": (5136, 5120 + 16 * 2)}
        for prefix, (workset, written) in kib.items():
            self.assertEqual(found["fileNamePrefix", prefix], (workset, round(written / workset, 4)))
        self.assertEqual(found["fileExtension", "x"], (8192, round((3072 * 2 + 5120) / 8192, 4)))
        self.assertEqual(found["fileExtension", "y"], (2064, round((2048 * 5 + 32) / 2064, 4)))
        self.assertEqual(found["directory", "/test_dir"], (16, 2.0))
        self.assertEqual(found["directory", "/"], (10240, round((3072 * 2 + 2048 * 5 + 5120) / 10240, 4)))

    def test_operations_name_the_inode(self):
        device, point = self.make_disk("ext4", 128 << 20)
        old, new = point / "file1", point / "file3"
        old.write_bytes(b"x" * 4096)
        harness.sync_file_system(point)
        tracer = self.start("--start-tracing", "--devices", device)
        made = point / "file2"
        made.write_bytes(b"y" * 8192)
        harness.sync_file_system(point)
        inodes = {"made": made.stat().st_ino, "old": old.stat().st_ino}
        old.rename(new)
        made.unlink()
        path = self.stop(tracer)["tracePath"]
        events = [event["file"] for event in self.lines(path) if "file" in event]
        found = {(event["eventType"], int(event["id"])): event for event in events}
        self.assertIn(("Access", inodes["made"]), found)
        self.assertIn(("Create", inodes["made"]), found)
        access = found["Access", inodes["made"]]
        self.assertEqual((access["path"], access["offset"], access["size"]), ("/file2", "0", "16"))
        recorded = harness.Recording(next(self.traces.glob("*.iotrail")), None)
        self.require(recorded, "vfs")
        self.assertEqual(found["Delete", inodes["made"]]["path"], "/file2")
        self.assertEqual(found["MoveFrom", inodes["old"]]["path"], "/file1")
        self.assertEqual(found["MoveTo", inodes["old"]]["path"], "/file3")


if __name__ == "__main__":
    harness.main()
