# SPDX-License-Identifier: BSD-3-Clause
"""Many processes and many kinds of I/O at once: the kernel part frees its entries of operations in
flight when they end.
IOTRAIL_STRESS_SECONDS: the duration; the default is short, so that ./check can afford it."""
import faulthandler
import json
import os
import pathlib
import subprocess
import sys
import time

import harness

SECONDS = int(os.environ.get("IOTRAIL_STRESS_SECONDS", "5"))
if "IOTRAIL_STRESS_SECONDS" in os.environ:
    faulthandler.cancel_dump_traceback_later()  # of the harness: for suites of usual length
PROCESSES = 2000
CLOSED_MOST = 200  # calls with a descriptor that is closed meanwhile

# Maps of objects in flight: empty when nothing is in flight. The sets are variables of the
# programs. A disk has places for waiters, each taken or free; a disk with earlier waiters stays
# known.
IN_FLIGHT = {"bios", "requests", "asyncs", "journal_handles", "taken_places", "flush_bios", "flushes", "write_backs",
             "read_aheads"}
UNCHANGED_MOST = 6  # looks in turn, a second apart: what stays so long has no reported end
SETS = {"bio_sets", "request_sets"}
WAITERS = "sync_waiters"

# Two thousand processes at once, each with its own file; every tenth syncs it.
MANY = """
import os, sys
count, gate = int(sys.argv[1]), os.pipe()
for number in range(count):
    if os.fork() == 0:
        os.close(gate[1])
        with open(f"many.{number}", "wb") as file:
            file.write(b"x" * 8192)
            if number % 10 == 0:
                os.fsync(file.fileno())
        os.read(gate[0], 1)
        os.unlink(f"many.{number}")
        os._exit(0)
os.close(gate[1])
for _ in range(count):
    os.wait()
"""

# The workload, then silence until the test ends it.
SCRIPT = """
set -e
"$PYTHON" -c "$MANY" {processes} &
for engine in libaio io_uring psync mmap posixaio; do
  fio --name=$engine --filename=$engine --rw=randrw --bs=4k --size=16m --ioengine=$engine --iodepth=16 --fsync=32 \\
    --direct={direct} --time_based --runtime={seconds} --output-format=terse >/dev/null &
done
if command -v stress-ng >/dev/null; then
  stress-ng --temp-path . --hdd 2 --hdd-bytes 8m --iomix 1 --aio 2 --fork 2 --dentry 1 --dentries 100 --timeout {seconds} --quiet &
fi
wait
rm -f libaio io_uring psync mmap posixaio
sync -f .
touch quiet
while [ ! -e go ]; do sleep 0.1; done
"""


def maps_of(pid):
    """Ids of the BPF maps that a process holds."""
    ids = set()
    for info in pathlib.Path(f"/proc/{pid}/fdinfo").iterdir():
        for line in info.read_text().splitlines():
            if line.startswith("map_id:"):
                ids.add(int(line.split()[1]))
    return ids


def bpftool(*arguments):
    answer = harness.run("bpftool", "-j", *arguments)
    assert answer.returncode == 0, answer.stdout + answer.stderr
    return json.loads(answer.stdout)


def occupied(value):
    """Occupied places of a set, anywhere in its value."""
    if isinstance(value, list):
        return sum(map(occupied, value))
    if not isinstance(value, dict):
        return 0
    if "key" in value and "value" in value:
        return int(value["key"] != 0)
    return sum(map(occupied, value.values()))


def waiting(disks):
    """Waiting operations, in the map of all disks."""
    return sum(waiter["tid"] != 0 for disk in disks for waiter in disk["formatted"]["value"]["waiter"])


def in_flight(maps):
    """name: entries, for maps and sets with any."""
    found = {}
    for number in maps:
        name = bpftool("map", "show", "id", str(number)).get("name", "")
        if name in IN_FLIGHT:
            found[name] = len(bpftool("map", "dump", "id", str(number)))
        elif name == WAITERS:
            disks = bpftool("map", "dump", "id", str(number))
            assert disks, "no disk was waited for"
            found[name] = waiting(disks)
        elif name.endswith(".bss"):
            (row,) = bpftool("map", "dump", "id", str(number))
            for variables in row.get("formatted", row)["value"].values():
                for variable in variables:
                    for key in SETS & variable.keys():
                        found[key] = occupied(variable[key])
    return found


class Stress(harness.AcceptanceTest):
    def wait_for(self, condition, what, seconds):
        deadline = time.monotonic() + seconds
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.2)

    def start(self, device):
        script = SCRIPT.format(processes=PROCESSES, seconds=SECONDS, direct=int(device))
        return subprocess.Popen(
            [harness.IOTRAIL, "record", "-o", self.folder / "t.iotrail", "-l", "syscall,vfs,async,cache,fs,block,sched,process,memory",
             "--", "sh", "-c", script], cwd=self.point, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, env=os.environ | {"MANY": MANY, "PYTHON": sys.executable})

    @harness.long
    def test_ended_operations_leave_no_entries(self):
        self.require_program("fio", "bpftool")
        device, self.point = self.make_disk("ext4", 2 << 30)
        recorder = self.start(True)
        self.addCleanup(recorder.kill)
        self.wait_for(lambda: (self.point / "quiet").exists() or recorder.poll() is not None, "the workload does not end",
                      SECONDS * 10 + 200)
        self.assertIsNone(recorder.poll(), recorder.stderr.read() if recorder.poll() is not None else "")
        maps = maps_of(recorder.pid)
        self.assertTrue(maps, "the recorder holds no maps")
        left, same = {}, 0
        for _ in range(180):  # write-back of other programs may be in flight
            before, left = left, in_flight(maps)
            same = same + 1 if left == before else 0
            if not any(left.values()) or same == UNCHANGED_MOST:
                break
            time.sleep(1)
        (self.point / "go").touch()
        _, errors = recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, errors)
        self.assertLessEqual(SETS | {WAITERS}, left.keys(), "the sets were not looked at")
        recording = harness.Recording(self.folder / "t.iotrail", None)
        missed = recording.manifest["counters"].get("kernel_completion_missed", 0)
        self.check_account(recording, missed)
        # A request without a reported completion stays, with its bios, until the kernel reuses the
        # memory.
        for name, entries in left.items():
            self.assertLessEqual(entries, 0 if name == WAITERS else missed, f"{name}: {left}")
        self.check_completions(recording, missed)

    def check_account(self, recording, missed):
        manifest = recording.manifest
        for source in manifest["sources"]:
            self.assertEqual(source["produced"], source["written"] + source["lost"], source)
        unexplained = {name: count for name, count in manifest["counters"].items()
                       if name in ("kernel_task_untracked", "kernel_bio_untracked", "kernel_span_lost",
                                   "kernel_request_untracked", "kernel_async_untracked", "kernel_journal_untracked") and count}
        self.assertEqual(unexplained, {})
        # Some threads close a descriptor while another one uses it. A full table would make
        # thousands of such calls.
        self.assertLess(manifest["counters"].get("kernel_file_unknown", 0), CLOSED_MOST)
        forks = int(recording.value("SELECT count(*) FROM process_fork"))
        lost = sum(source["lost"] for source in manifest["sources"])
        # On a busy machine the rings lose some, and count them.
        self.assertGreater(forks + lost, PROCESSES)
        print(f"{sum(manifest['counts'].values()):,} events, {forks:,} forks, counters {manifest['counters']}")

    def check_completions(self, recording, missed):
        """Each request that was issued and not requeued is completed, or counted."""
        unmatched = int(recording.value("""
            WITH ends AS (
              SELECT device, request, ts_ns, event, lead(event) OVER (PARTITION BY device, request ORDER BY ts_ns, event DESC) AS next
              FROM (SELECT device, request, ts_ns, 'issue' AS event FROM block_issue
                    UNION ALL SELECT device, request, ts_ns + duration_ns, 'end' FROM block_complete
                    UNION ALL SELECT device, request, ts_ns, 'end' FROM block_requeue))
            SELECT count(*) FROM ends WHERE event = 'issue' AND next IS DISTINCT FROM 'end'"""))
        lost = sum(source["lost"] for source in recording.manifest["sources"])
        self.assertLessEqual(unmatched, max(missed, lost))


if __name__ == "__main__":
    harness.main()
