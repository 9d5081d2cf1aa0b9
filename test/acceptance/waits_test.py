# SPDX-License-Identifier: BSD-3-Clause
"""Waits of operations: as many as the kernel itself counts, inside their calls, each part with a
reason, with a correct sum."""
import re
import sys

import harness

WAITED_S = 0.3  # at least

# Prints how often, by the kernel's count, the process gave up its CPU during direct reads of a
# file.
DIRECT_READS = """
import mmap, os, resource, sys
fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECT)
page = mmap.mmap(-1, 4096)
def read(count):
    for i in range(count):
        os.preadv(fd, [page], i * 4096)
    return resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
before = read(50)
print(read(200) - before)
"""

# Touches pages of a mapped file that are not in memory: it makes no calls meanwhile. Prints the same
# count.
FAULTS = """
import mmap, os, resource, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
size = os.fstat(fd).st_size
memory = mmap.mmap(fd, size, prot=mmap.PROT_READ)
memory.madvise(mmap.MADV_RANDOM)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
before = resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw
for page in range(0, size, 4096):
    memory[page]
print(resource.getrusage(resource.RUSAGE_SELF).ru_nvcsw - before)
"""

WITHIN = """SELECT count(*) FROM all_waits AS w JOIN all_events AS c ON w.op_id = c.op_id
            WHERE c.layer = 'syscall' AND (w.ts_ns < c.ts_ns OR w.ts_ns + w.duration_ns > c.ts_ns + c.duration_ns)"""
OVERLAPPING = """SELECT count(*) FROM (SELECT ts_ns, lag(ts_ns + duration_ns) OVER (PARTITION BY tid ORDER BY ts_ns) AS before
                                       FROM all_waits) WHERE ts_ns < before"""


READS = "^0 0x0 "  # its standard input, in /proc/PID/syscall


class Waits(harness.AcceptanceTest):
    def check(self, recording):
        self.require(recording, "sched", "syscall")
        self.assert_adds_up(recording)
        self.assertEqual(recording.value(WITHIN), 0)
        self.assertEqual(recording.value(OVERLAPPING), 0)
        (sums,) = recording.query("SELECT CAST(sum(duration_ns) AS BIGINT) AS whole FROM sched_wait")
        (parts,) = recording.query("SELECT CAST(sum(wait_ns) AS BIGINT) AS parts FROM wait_causes")
        self.assertEqual(parts["parts"], sums["whole"])

    def direct_reads(self, data, name):
        """How often the process gave up its CPU, by the kernel's count; and the waits of its last
        200 reads, by reason."""
        recording = self.record(sys.executable, "-c", DIRECT_READS, data, options=("--layers", "syscall,sched"), name=name)
        self.check(recording)
        waits = recording.query(
            "SELECT reason, count(*) AS n FROM all_waits WHERE reason IS NOT NULL AND op_id IN"
            " (SELECT op_id FROM syscall_read WHERE bytes_requested = 4096 AND call = 'preadv2' ORDER BY ts_ns DESC LIMIT 200)"
            " GROUP BY reason")
        return int(recording.process.stdout), {row["reason"]: row["n"] for row in waits}

    def test_as_many_as_the_kernel_counts(self):
        _, mount_point = self.make_disk("ext4", 64 << 20)
        data = mount_point / "data"
        data.write_bytes(bytes(1 << 20))
        # A page of the interpreter that must be read again also causes a wait, outside any call.
        for attempt in range(3):
            counted, waits = self.direct_reads(data, f"t{attempt}")
            self.assertGreater(counted, 100, "direct reads wait")
            self.assertIn("block_io", waits)
            self.assertLessEqual(sum(waits.values()), counted)
            if sum(waits.values()) == counted:
                return
        self.fail(f"{counted} counted by the kernel, {waits} in the trace")

    def test_page_faults_outside_of_calls(self):
        _, mount_point = self.make_disk("ext4", 64 << 20)
        data = mount_point / "data"
        data.write_bytes(bytes(2 << 20))
        harness.sync_file_system(mount_point)
        for attempt in range(3):
            recording = self.record(sys.executable, "-c", FAULTS, data, options=("--layers", "syscall,sched,block"), name=f"f{attempt}")
            self.check(recording)
            counted = int(recording.process.stdout)
            self.assertGreater(counted, 200, "a wait for each page")
            waits = recording.value("SELECT coalesce(sum(waits), 0) FROM wait_causes WHERE call = 'fault' AND reason <> 'cpu'")
            self.assertGreaterEqual(waits, 0.9 * counted)
            if waits == counted:
                break
        self.assertLessEqual(waits - counted, 20, "pages of the interpreter")
        (faults,) = recording.query("SELECT wait_ns, bytes FROM fault_reads")
        waited = recording.value("SELECT sum(blocked_ns) FROM waits WHERE op_id = 0")
        self.assertGreaterEqual(faults["wait_ns"], waited)
        # In a long run their share is small, and the bytes are named instead.
        self.assertRegex(" ".join(harness.run(harness.IOTRAIL, "report", recording.path).stdout.split()), "(in|for) page faults")

    def test_programs(self):
        self.require_program("sqlite3")
        _, mount_point = self.make_disk("ext4", 64 << 20)
        sql = "CREATE TABLE t(v);" + "INSERT INTO t VALUES(randomblob(3000));" * 20
        recording = self.record("sqlite3", mount_point / "db", sql)
        self.check(recording)
        self.assertGreater(recording.value("SELECT count(*) FROM waits WHERE reason = 'journal_commit'"), 0)
        others = recording.query("SELECT stack FROM waits WHERE reason = 'other'")
        waits = recording.value("SELECT count(*) FROM waits WHERE reason IS NOT NULL")
        self.assertLess(len(others), 0.1 * waits, others)

    def test_explanation_adds_up(self):
        _, mount_point = self.make_disk("ext4", 64 << 20)
        recording = self.record("dd", "if=/dev/zero", f"of={mount_point}/f", "bs=1M", "count=8", "conv=fsync")
        self.check(recording)
        op = recording.value("SELECT op_text(op_id) FROM syscall_sync")
        text = " ".join(harness.run(harness.IOTRAIL, "explain", recording.path, "--op", op).stdout.split())
        self.assertIn("work of the kernel", text)
        shares = [float(share) for share in re.findall(r"\((\d+\.\d) %[;)]", text[text.index(" Of "):])]
        self.assertGreater(len(shares), 1)
        self.assertAlmostEqual(sum(shares), 100, delta=0.1 * len(shares))

    def test_one_that_does_not_end(self):
        recording = self.record("sh", "-c", f"sleep 1000 2>/dev/null | cat >/dev/null 2>&1 & until grep -q '{READS}' /proc/$!/syscall; do sleep 0.1; done; sleep {WAITED_S}", options=("--layers", "syscall,sched"))
        harness.kill_all(name.split()[0] for name in recording.manifest["still_running"])
        self.require(recording, "sched")
        (wait,) = recording.query("SELECT reason, errno_name(error) AS error, duration_ns FROM waits"
                                  " WHERE errno_name(error) <> '' AND op_id IN (SELECT op_id FROM syscall_read)")
        self.assertEqual((wait["reason"], wait["error"]), ("pipe", "unfinished"))
        self.assertGreaterEqual(wait["duration_ns"], WAITED_S * 1e9)

    def test_a_filter_by_file_says_that_they_are_missing(self):
        data = self.folder / "data"
        data.write_bytes(bytes(4096))
        recording = self.record("cat", data, options=("--file", data))
        self.assertRegex(recording.process.stderr, r"sched +not recorded")
        hooks = {hook["event"]: hook for hook in recording.manifest["hooks"]}
        self.assertIn("recordings of files", hooks["sched_wait"]["reason"])


if __name__ == "__main__":
    harness.main()
