# SPDX-License-Identifier: BSD-3-Clause
"""The tables that are read most, on recordings of real programs: each number is computed once more,
here, from the rows of the events. The causes of device I/O are those of `links`. The JSON of the report
has the same numbers. No kernel thread has a row."""
import collections
import json
import os
import pathlib
import re
import shutil
import sys

import harness

DISK_BYTES = 600 << 20
UNFINISHED = -4095
KERNEL_THREADS = re.compile(r"kworker|jbd2/|kswapd|ksoftirqd|loop\d|btrfs-|xfs-|xfsaild|kthreadd|ext4lazyinit|iou-")
TAKES, GIVES = {"read", "receive", "copy"}, {"write", "send", "copy"}
DURABLE = {"sync", "fsync", "fdatasync", "syncfs", "msync"}
WAITS_FOR_OTHERS = {"poll", "wait"}
# Names of calls that are a class of their own in these tables, unlike the other calls of their event.
SYNC_CALLS = {"sync", "fsync", "fdatasync", "syncfs", "sync_file_range"}
MAPPED = """
import mmap, os, sys
fd = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 1 << 20)
memory = mmap.mmap(fd, 1 << 20)
for page in range(0, 256, 3):
    memory[4096 * page] = 1
memory.flush()
os.pread(fd, 100000, 0)
"""
SOCKETS = """
import os, socket, threading
server = socket.create_server(("127.0.0.1", 0))
def serve():
    other = server.accept()[0]
    while data := other.recv(65536):
        other.sendall(data[:100])
thread = threading.Thread(target=serve)
thread.start()
client = socket.create_connection(server.getsockname())
for _ in range(50):
    client.sendall(b"x" * 3000)
    client.recv(100)
client.close()
thread.join()
"""
LOG = """
import os, sys
for number in range(200):
    with open(sys.argv[1], "a") as log:
        log.write("line %d\\n" % number)
    if number % 50 == 49:
        os.rename(sys.argv[1], sys.argv[1] + ".1")
"""
SQL = "CREATE TABLE t(a, b); " + "INSERT INTO t VALUES (1, randomblob(3000)); " * 15 + "SELECT count(*) FROM t; DELETE FROM t WHERE rowid < 9;"
FIO = ["fio", "--name=job", "--size=2M", "--bs=16k", "--rw=randrw", "--end_fsync=1"]


def union_ns(spans):
    """Length of the time with at least one of (begin, end)."""
    length, reached = 0, 0
    for begin, end in sorted(spans):
        length += max(end - max(begin, reached), 0)
        reached = max(reached, end)
    return length


RELATIONS = {
    "files_without_device": "SELECT file FROM files_without_device",
    "file_names": "SELECT file, path FROM file_names",
    "renamed_files": "SELECT file FROM renamed_files",
    "processes": "SELECT pid, comm FROM processes ORDER BY since_ns",
    "devices": "SELECT device, name FROM devices",
    "requests": "SELECT device, bytes, error, duration_ns, choice_text('block', flags) AS operation FROM block_complete",
    "links": "SELECT device, direction, pid, file, cause, bytes, error, confidence FROM links WHERE completed_ns IS NOT NULL",
    "error_names": "SELECT DISTINCT error, errno_name(error) AS name FROM events WHERE error < 0 AND layer IN ('syscall', 'async')",
    "layers": "SELECT layer, CAST(sum(operations) AS BIGINT) AS operations, CAST(sum(errors) AS BIGINT) AS errors, "
              "CAST(sum(bytes) AS BIGINT) AS bytes, CAST(sum(total_ns) AS BIGINT) AS total_ns, max(max_ns) AS max_ns FROM layers "
              "WHERE layer IN ('syscall', 'async') GROUP BY layer",
    "file_call_totals": "SELECT call, calls, errors, bytes, total_ns, busy_ns FROM file_call_totals",
    "run_parts": "SELECT part, ns FROM run_parts",
    "file_time": "SELECT CAST(sum(ns) AS BIGINT) AS ns FROM file_time",
    "fault_reads": "SELECT bytes, device_ns FROM fault_reads",
    "program_io": "SELECT program, calls, errors, read, written, dev_read, dev_write FROM program_io",
    "top_processes": "FROM top_processes",
    "top_files": "FROM top_files",
    "top_devices": "FROM top_devices",
    "device_causes": "FROM device_causes",
    "errors": "SELECT call, error, CAST(sum(calls) AS BIGINT) AS calls FROM errors GROUP BY ALL",
    "slowest": "SELECT duration_ns FROM slowest WHERE layer = 'syscall' ORDER BY 1 DESC",
    "byte_balance": "SELECT direction, CAST(sum(bytes) AS BIGINT) AS bytes FROM byte_balance WHERE step = 1 GROUP BY direction",
}


def read_at_once(recording, relations):
    """The rows of these relations, by one query: each start of the program takes its time."""
    columns = ", ".join(f'(SELECT to_json(list(x)) FROM ({sql}) AS x) AS "{name}"' for name, sql in relations.items())
    (row,) = recording.query(f"SELECT {columns}")
    return {name: json.loads(row[name]) if row[name] else [] for name in relations}


class Events:
    """The calls, requests and links of a recording, as their tables have them; and the tables under test."""

    def __init__(self, recording):
        tables = recording.query("SELECT name FROM tables WHERE row_count > 0 AND layer IN ('syscall', 'async')")
        rows = read_at_once(recording, RELATIONS | {"raw_" + row["name"]: f"FROM {row['name']}" for row in tables})
        self.rows = rows
        self.manifest = recording.manifest
        self.silent = {row["file"] for row in rows["files_without_device"]}
        self.paths = {row["file"]: row["path"] for row in rows["file_names"]}
        self.comms = {row["pid"]: row["comm"] for row in rows["processes"]}
        self.calls = [self.call(name.removeprefix("raw_"), row) for name, found in rows.items() if name.startswith("raw_")
                      for row in found if "duration_ns" in row]
        self.requests, self.links = rows["requests"], rows["links"]

    def call(self, event, row):
        layer, _, kind = event.partition("_")
        result = row.get("result", row.get("error", 0)) or 0
        name = row["call"]
        if layer == "async":
            kind = next((kind for kind in ("read", "write", "fsync") if kind in name.lower()), name.lower())
        moves = kind in TAKES | GIVES
        return {"layer": layer, "kind": name if name in SYNC_CALLS else kind, "call": name, "pid": row["pid"], "op_id": row["op_id"],
                "begin": row["ts_ns"], "ns": row["duration_ns"], "bytes": max(result, 0) if moves else 0, "moves": moves,
                "error": result if result is not None and result < 0 else 0, "file": row.get("file", row.get("in_file", 0)) or 0,
                "to_file": row.get("out_file", 0) or 0, "has_path": bool(row.get("path"))}

    def on_files(self):
        return [call for call in self.calls if call["file"] not in self.silent and call["kind"] not in WAITS_FOR_OTHERS
                and not (call["error"] == UNFINISHED and not call["file"] and not call["has_path"])]


def is_failed(call):
    return call["error"] < 0 and call["error"] != UNFINISHED


def group(rows, key):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return groups


def total(rows, what):
    return sum(int(row[what] or 0) for row in rows)


class Tables(harness.AcceptanceTest):
    def check(self, *command, options=(), **process_options):
        """Records the command, and compares."""
        recording = self.record(*command, options=options, name=f"t{len(list(self.folder.glob('*.iotrail')))}", **process_options)
        self.require(recording, "syscall", "block")
        self.compare(recording)
        return recording

    def compare(self, recording):
        events = Events(recording)
        self.assertTrue(events.calls)
        self.compare_layers(events)
        self.compare_call_totals(events)
        self.compare_run(events)
        self.compare_programs(events)
        self.compare_processes(events)
        self.compare_files(events)
        self.compare_devices(events)
        self.compare_causes(events)
        self.compare_errors(events)
        self.compare_slowest(events)
        self.compare_bytes(events)
        self.compare_faults(events)
        self.compare_json(recording, events)
        self.assert_no_kernel_thread(events)

    def assert_rows(self, table, found, right):
        self.assertEqual(found, right, table)

    def compare_layers(self, events):
        right = {layer: (len(rows), sum(map(is_failed, rows)), total(rows, "bytes"), total(rows, "ns"), max(row["ns"] for row in rows))
                 for layer, rows in group(events.calls, lambda call: call["layer"]).items()}
        found = {row["layer"]: tuple(int(row[key] or 0) for key in ("operations", "errors", "bytes", "total_ns", "max_ns")) for row in events.rows["layers"]}
        self.assert_rows("layers", found, right)

    def compare_call_totals(self, events):
        right = {name: (len(rows), sum(map(is_failed, rows)), total(rows, "bytes"), total(rows, "ns"),
                        union_ns((row["begin"], row["begin"] + row["ns"]) for row in rows))
                 for name, rows in group(events.on_files(), lambda call: call["call"]).items()}
        found = {row["call"]: tuple(int(row[key] or 0) for key in ("calls", "errors", "bytes", "total_ns", "busy_ns"))
                 for row in events.rows["file_call_totals"]}
        self.assert_rows("file_call_totals", found, right)

    def compare_run(self, events):
        begin, end = events.manifest["begin_ns"], events.manifest["end_ns"]

        def busy(calls):
            return union_ns((max(call["begin"], begin), min(call["begin"] + call["ns"], end)) for call in calls)
        parts = {row["part"]: int(row["ns"]) for row in events.rows["run_parts"]}
        self.assertEqual(parts["calls on files"], busy(events.on_files()))
        self.assertEqual(parts["outside I/O"], end - begin - busy(events.calls))
        self.assertEqual(sum(parts.values()), end - begin)
        (row,) = events.rows["file_time"]
        self.assertEqual(int(row["ns"]), total(events.on_files(), "ns"), "file_time")

    def caused(self, links, direction):
        return sum(int(link["bytes"]) for link in links if link["direction"] == direction)

    def compare_programs(self, events):
        def name(pid):
            return events.comms.get(pid) or f"pid {pid}"
        calls = group(events.on_files(), lambda call: name(call["pid"]))
        links = group((link for link in events.links if link["pid"] and not link["error"]), lambda link: name(link["pid"]))
        right = {program: (len(calls[program]), sum(map(is_failed, calls[program])),
                           sum(call["bytes"] for call in calls[program] if call["kind"] in ("read", "copy")),
                           sum(call["bytes"] for call in calls[program] if call["kind"] in ("write", "copy")),
                           self.caused(links[program], "read"), self.caused(links[program], "write"))
                 for program in sorted({*calls, *links})}
        found = {row["program"]: tuple(int(row[key]) for key in ("calls", "errors", "read", "written", "dev_read", "dev_write"))
                 for row in events.rows["program_io"]}
        self.assert_rows("program_io", found, right)

    def compare_processes(self, events):
        calls, links = group(events.calls, lambda call: call["pid"]), group(events.links, lambda link: link["pid"])
        pids = {*calls} | {pid if pid in events.comms else 0 for pid in links}
        lost = [link for pid in links if pid not in events.comms for link in links[pid]]
        right = {pid: (len(calls[pid]), sum(map(is_failed, calls[pid])),
                       sum(call["bytes"] for call in calls[pid] if call["kind"] in TAKES),
                       sum(call["bytes"] for call in calls[pid] if call["kind"] in GIVES),
                       sum(call["kind"] in DURABLE for call in calls[pid]), total(calls[pid], "ns"),
                       self.caused(links[pid] if pid else lost, "read"), self.caused(links[pid] if pid else lost, "write"))
                 for pid in pids}
        found = {row["pid"]: tuple(int(row[key] or 0) for key in ("operations", "errors", "bytes_read", "bytes_written", "syncs", "total_ns",
                                                                    "device_bytes_read", "device_bytes_written"))
                 for row in events.rows["top_processes"]}
        self.assert_rows("top_processes", {pid: row for pid, row in found.items() if any(row)},
                         {pid: row for pid, row in right.items() if any(row)})

    def compare_files(self, events):
        """All rows together; and each file that has one name, by its name."""
        rows = events.rows["top_files"]
        calls = [call for call in events.calls if call["file"] or call["has_path"] or call["to_file"] or not call["file"]]
        sound = [link for link in events.links if not link["error"]]
        self.assertEqual((total(rows, "device_bytes_read"), total(rows, "device_bytes_written")),
                         (self.caused(sound, "read"), self.caused(sound, "write")), "top_files")
        self.assertEqual(total(rows, "bytes_read"), sum(call["bytes"] for call in calls if call["kind"] in TAKES), "top_files")
        self.assertEqual(total(rows, "bytes_written"), sum(call["bytes"] for call in calls if call["kind"] in GIVES), "top_files")
        renamed = {row["file"] for row in events.rows["renamed_files"]}
        files = group((file for file in events.paths if file not in renamed), lambda file: events.paths[file])
        shared = {events.paths[file] for file in renamed}
        for row in rows:
            if row["kind"] != "file" or row["path"] not in files or row["path"] in shared:
                continue
            keys = set(files[row["path"]])
            if row["inodes"] != len(keys):
                continue  # others had the path before a rename
            right = (sum(call["bytes"] for call in events.calls if call["file"] in keys and call["kind"] in TAKES),
                     sum(call["bytes"] for call in events.calls if call["kind"] in GIVES and (call["to_file"] if call["kind"] == "copy" else call["file"]) in keys),
                     self.caused((link for link in sound if link["file"] in keys), "write"))
            found = tuple(int(row[key] or 0) for key in ("bytes_read", "bytes_written", "device_bytes_written"))
            self.assertEqual(found, right, row)

    def compare_devices(self, events):
        right = {key: (len(rows), total(rows, "bytes"), sum(row["error"] != 0 for row in rows), max(int(row["duration_ns"]) for row in rows))
                 for key, rows in group(events.requests, lambda row: (row["device"], row["operation"])).items()}
        found = {(row["device"], row["operation"]): tuple(int(row[key] or 0) for key in ("requests", "bytes", "errors", "device_max_ns"))
                 for row in events.rows["top_devices"]}
        self.assert_rows("top_devices", found, right)

    def compare_causes(self, events):
        """Each cause as in links; and what they have together is what the devices completed."""
        names = {row["device"]: row["name"] for row in events.rows["devices"]}
        right = {key: (total(rows, "bytes"), sum(int(row["bytes"]) for row in rows if row["confidence"] == "exact"), len(rows))
                 for key, rows in group(events.links, lambda link: (names.get(link["device"]), link["direction"], link["pid"],
                                                                   events.paths.get(link["file"]), link["cause"])).items()}
        found = collections.defaultdict(lambda: (0, 0, 0))
        for row in events.rows["device_causes"]:
            key = (row["device_name"], row["direction"], row["pid"], row["path"], row["cause"])
            found[key] = tuple(a + int(b) for a, b in zip(found[key], (row["bytes"], row["exact_bytes"], row["requests"])))
        self.assert_rows("device_causes", dict(found), right)
        if events.manifest["counters"].get("kernel_completion_missed", 0) == 0:
            completed = {key: total(rows, "bytes") for key, rows in group(events.requests, lambda row: (names.get(row["device"]), row["operation"])).items()}
            linked = {key: total(rows, "bytes") for key, rows in group(events.links, lambda link: (names.get(link["device"]), link["direction"])).items()}
            self.assertEqual({key: size for key, size in linked.items() if size}, {key: size for key, size in completed.items() if size}, "links")

    def compare_errors(self, events):
        names = {row["error"]: row["name"] for row in events.rows["error_names"]}
        right = {key: len(rows) for key, rows in group(filter(is_failed, events.calls), lambda call: (call["call"], names[call["error"]])).items()}
        found = {(row["call"], row["error"]): int(row["calls"]) for row in events.rows["errors"]}
        self.assert_rows("errors", found, right)

    def compare_slowest(self, events):
        right = sorted((call["ns"] for call in events.calls if call["layer"] == "syscall" and call["file"] not in events.silent
                        and call["kind"] not in WAITS_FOR_OTHERS and call["ns"]), reverse=True)[:20]
        found = [int(row["duration_ns"]) for row in events.rows["slowest"]]
        self.assertEqual(found, right, "slowest")

    def compare_bytes(self, events):
        """What calls on files of devices read and wrote is the first part of the balance."""
        found = {row["direction"]: int(row["bytes"]) for row in events.rows["byte_balance"]}
        moved = {"read": 0, "write": 0}
        for call in events.calls:
            if call["bytes"] and call["kind"] in ("read", "copy") and call["file"] not in events.silent:
                moved["read"] += call["bytes"]
            target = call["to_file"] if call["kind"] == "copy" else call["file"]
            if call["bytes"] and call["kind"] in ("write", "copy") and target not in events.silent:
                moved["write"] += call["bytes"]
        if events.requests:
            self.assertEqual({key: size for key, size in found.items() if size}, {key: size for key, size in moved.items() if size}, "byte_balance")

    def compare_faults(self, events):
        """What was read for page faults, and that a device took some time for it."""
        (row,) = events.rows["fault_reads"]
        bytes_read = sum(int(link["bytes"]) for link in events.links if link["cause"] == "mapped_read")
        self.assertEqual((int(row["bytes"]), int(row["device_ns"]) > 0), (bytes_read, bytes_read > 0), "fault_reads")

    def compare_json(self, recording, events):
        """Each row of these sections is one of the view, with the same numbers."""
        done = harness.run(harness.IOTRAIL, "report", recording.path, "--full", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        report = json.loads(done.stdout)
        for section, view in (("processes", "top_processes"), ("files", "top_files"), ("devices", "top_devices"), ("device_causes", "device_causes")):
            rows = events.rows[view]
            for shown in report[section]:
                self.assertTrue(any(all(row.get(key, value) == value or isinstance(value, float) for key, value in shown.items()) for row in rows),
                                (section, shown))

    def assert_no_kernel_thread(self, events):
        """What a kernel thread did for a program is the program's."""
        threads = {pid for pid, comm in events.comms.items() if KERNEL_THREADS.match(comm)}
        for view in ("top_processes", "device_causes"):
            rows = [row for row in events.rows[view] if row["pid"] in threads
                    and (row.get("bytes") or row.get("device_bytes_read") or row.get("device_bytes_written"))]
            self.assertEqual(rows, [], view)
        self.assertEqual([row for row in events.rows["program_io"] if KERNEL_THREADS.match(row["program"])], [])

    # The programs: each is recorded on a disk of the test.

    def use(self, file_system):
        self.device, self.point = self.make_disk(file_system, DISK_BYTES)
        return self.point

    @harness.long
    def test_databases(self):
        self.require_program("sqlite3")
        point = self.use("ext4")
        self.check("sqlite3", point / "journal.db", SQL)
        self.check("sqlite3", point / "wal.db", "PRAGMA journal_mode=WAL; " + SQL)

    @harness.long
    def test_git(self):
        self.require_program("git")
        point = self.use("ext4")
        script = ("git init -q r; cd r; for n in $(seq 30); do echo $n >f$n; done; git add .; "
                  "git -c user.name=a -c user.email=a@b commit -qm x; git gc -q; git clone -q . ../c")
        self.check("sh", "-c", script, cwd=point)

    @harness.long
    def test_engines_of_fio(self):
        self.require_program("fio")
        point = self.use("ext4")
        for engine, *options in (("psync",), ("psync", "--direct=1"), ("libaio", "--direct=1", "--iodepth=8"),
                                 ("io_uring", "--direct=1", "--iodepth=8"), ("io_uring", "--iodepth=4"), ("mmap",)):
            with self.subTest(engine=engine, options=options):
                self.check(*FIO, f"--ioengine={engine}", f"--filename={point}/data", *options, cwd=point)

    @harness.long
    def test_copies_and_archives(self):
        point = self.use("xfs")
        shutil.copytree(pathlib.Path(__file__).parent, point / "from")
        harness.sync_file_system(point)
        self.check("cp", "-r", point / "from", point / "to")
        self.check("sh", "-c", "tar cf t.tar from; sync -f .", cwd=point)
        self.check("sh", "-c", "mkdir x; tar xf t.tar -C x; rm -r to; mv x y", cwd=point)
        self.check("find", point, "-type", "f", "-size", "+100k")

    def test_mapped_memory(self):
        point = self.use("ext4")
        self.check(sys.executable, "-S", "-c", MAPPED, point / "mapped")

    def test_a_log_that_is_rotated(self):
        point = self.use("ext4")
        self.check(sys.executable, "-S", "-c", LOG, point / "log")

    @harness.long
    def test_btrfs(self):
        point = self.use("btrfs")
        self.check("dd", "if=/dev/zero", f"of={point}/d", "bs=64k", "count=40", "conv=fsync")
        self.check("sh", "-c", "cp --reflink=always d e; cat e >/dev/null; for n in $(seq 20); do echo $n >s$n; done; sync -f .", cwd=point)

    @harness.long
    def test_a_disk_on_a_file(self):
        """The loop device's thread is none of the programs."""
        point = self.use("ext4")
        (point / "inner").touch()
        os.truncate(point / "inner", 300 << 20)
        inner = self.attach_loop(point / "inner")
        self.make_file_system(inner, "ext4", self.folder / "upper")
        harness.sync_file_system(point)
        self.check("dd", "if=/dev/zero", f"of={self.folder}/upper/d", "bs=64k", "count=40", "conv=fsync")

    @harness.long
    def test_pipes_and_sockets(self):
        point = self.use("ext4")
        self.check("sh", "-c", "seq 20000 >n; sort -r n | head -5000 | tee m | wc -l", cwd=point)
        self.check(sys.executable, "-S", "-c", SOCKETS)


if __name__ == "__main__":
    harness.main()
