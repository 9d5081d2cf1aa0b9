# SPDX-License-Identifier: BSD-3-Clause
"""Crafted traces are read within a gigabyte of memory and a minute of CPU. They have what no recorder writes:
much in few bytes, or all of it at one time."""
import os
import resource
import subprocess

import harness

CRAFTED = os.environ["IOTRAIL_CRAFTED"]
MEMORY_KIB = 1 << 20
# Of a processor, not of the clock: the test does not fail because others work beside it.
CPU_SECONDS = 60
SEGMENTS_BYTES = 10 << 20
FAILED = 1

CALL = "ts_ns=+1 op_id=+1 pid=7 tid=7"
TRACES = {
    "equal names of files": ("files 800 60000", f"syscall_read 1000 {CALL} file=+1 result=1 duration_ns=9"),
    "equal names of programs": ("processes 2000 60000", "syscall_read 2000 ts_ns=+1 op_id=+1 pid=+1 tid=+1 result=1 duration_ns=9"),
    "texts": ("strings 700 60000", f"syscall_open 700 {CALL} path=+1 result=3 duration_ns=9"),
    "constant rows": ("files 1 10", "syscall_read 1040000 pid=7 tid=7 file=1 result=4096 duration_ns=9"),
    "writes in flight": (
        "files 1000 20",
        f"syscall_write 60000 {CALL} file=?1000 result=4096 duration_ns=9000000000 fd=3",
        "cache_dirty 60000 ts_ns=+1 op_id=+1 pid=7 tid=7 file=?1000 index=? pages=1",
        "block_queue 60000 ts_ns=+2 op_id=+1 pid=7 tid=7 bio=+1 sector=+8 bytes=4096 device=8388609 file=?1000 flags=1 offset=+4096"),
    "requests in flight": (
        "block_queue 80000 ts_ns=+1 pid=7 tid=7 bio=+1 sector=?1000000 bytes=4096 device=8388609 flags=1 offset=?",
        "block_issue 80000 ts_ns=+2 request=+1 sector=?1000000 bytes=4096 device=8388609 flags=1 bios=1",
        "block_complete 80000 ts_ns=+3 duration_ns=8000000000 request=?80000 sector=?1000000 bytes=4096 device=8388609 flags=1"),
    "calls that all overlap": (
        "files 100 20",
        "syscall_read 150000 ts_ns=+1 op_id=+1 pid=?1000 tid=?5000 file=?100 result=4096 duration_ns=9000000000",
        "vfs_read 150000 ts_ns=+1 op_id=+1 pid=?1000 tid=?5000 file=?100 result=4096 duration_ns=9000000000"),
    "names that change": (
        "strings 2000 300", "files 2000 300",
        f"syscall_open 60000 {CALL} path=?2000 file=?2000 result=3 duration_ns=9",
        f"syscall_rename 60000 ts_ns=+2 op_id=+1 pid=7 tid=7 path=?2000 new_path=?2000 duration_ns=9 fd=?100 new_fd=?100",
        "syscall_chdir 20000 ts_ns=+3 op_id=+1 pid=?100 tid=7 path=?2000 duration_ns=9"),
    "waits": (
        "strings 3000 400",
        f"syscall_read 100000 {CALL} file=1 result=1 duration_ns=9000000000",
        "sched_wait 200000 ts_ns=+1 op_id=?100000 pid=7 tid=7 duration_ns=8000000000 stack=?3000"),
    "calls of one operation": (
        "strings 100 40", "files 100 20",
        "syscall_read 60000 ts_ns=+20 op_id=5 pid=7 tid=7 file=?100 result=4096 duration_ns=9",
        "syscall_write 60000 ts_ns=+21 op_id=5 pid=7 tid=7 file=?100 result=4096 duration_ns=9",
        "sched_wait 60000 ts_ns=+22 op_id=5 pid=7 tid=7 duration_ns=8 stack=?100",
        "block_queue 60000 ts_ns=+23 op_id=5 pid=7 tid=7 bio=+1 sector=+8 bytes=4096 device=8388609 file=?100 offset=?",
        "block_complete 60000 ts_ns=+24 op_id=5 pid=7 tid=7 duration_ns=5 sector=+8 bytes=4096 device=8388609"),
    "library calls of one operation": (
        "files 100 20",
        "app_read 60000 ts_ns=+20 op_id=6 pid=7 tid=7 file=?100 result=4096 duration_ns=900000",
        "syscall_read 60000 ts_ns=+21 op_id=5 pid=7 tid=7 file=?100 result=4096 duration_ns=9"),
    "syncs of one operation": (
        "files 2 20",
        "syscall_write 30000 ts_ns=+20 op_id=5 pid=7 tid=7 file=1 result=4096 duration_ns=9 offset=+4096",
        "syscall_sync 30000 ts_ns=+21 op_id=5 pid=7 tid=7 file=1 duration_ns=900000",
        "cache_dirty 30000 ts_ns=+20 op_id=5 pid=7 tid=7 file=1 index=+1 pages=1",
        "block_queue 30000 ts_ns=+23 op_id=5 pid=7 tid=7 bio=+1 sector=+8 bytes=4096 device=8388609 file=1 flags=1 offset=+4096 is_contiguous=1",
        "block_complete 30000 ts_ns=+24 op_id=5 pid=7 tid=7 duration_ns=5 sector=+8 bytes=4096 device=8388609 flags=1"),
    "asynchronous operations of one number": (
        "async_operation 60000 ts_ns=+20 op_id=5 pid=7 tid=7 result=4096 duration_ns=900000",
        "block_queue 60000 ts_ns=+21 op_id=5 pid=7 tid=7 bio=+1 sector=+8 bytes=4096 device=8388609",
        "block_complete 60000 ts_ns=+24 op_id=5 pid=7 tid=7 duration_ns=5 sector=+8 bytes=4096 device=8388609"),
    "pages": (
        "files 50 20", "cache_add 200000 ts_ns=+1 op_id=+1 pid=7 tid=7 file=?50 index=? pages=1",
        "cache_delete 200000 ts_ns=+2 op_id=+1 pid=7 tid=7 file=?50 index=? pages=1 reason=?6",
        "cache_hit 200000 ts_ns=+3 op_id=+1 pid=7 tid=7 file=?50 index=? pages=?100000"),
}
FIRST_TRACES = ("equal names of files", "writes in flight")  # a dictionary, the trails
# The one that reads all of a trace, by SQL and by the trails.
FIRST_READERS = {"report": ("report", "{}", "--full")}
OTHER_READERS = {
    "verify": ("verify", "{}"),
    "info": ("info", "{}"), "script": ("script", "{}"), "export": ("export", "{}", "--to", "jsonl"), "findings": ("findings", "{}"),
    "explain": ("explain", "{}", "--slowest", "10"), "cache": ("cache", "{}"), "diff": ("diff", "{}", "{}"),
}


def use_only_so_much():
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))


class Budget(harness.AcceptanceTest):
    def craft(self, name, statements):
        path = self.folder / f"{name}.iotrail"
        made = harness.run(CRAFTED, path, *statements)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertLessEqual(sum(file.stat().st_size for file in path.glob("*.seg")), SEGMENTS_BYTES)
        return path

    def read(self, path, words):
        """The reader's status, its messages and the most memory that it took."""
        command = [harness.IOTRAIL, *(str(path) if word == "{}" else word for word in words)]
        with open(self.folder / "messages", "w+", encoding="utf-8", errors="replace") as messages:
            with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=messages,
                                  preexec_fn=use_only_so_much) as process:
                _, status, used = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
            messages.seek(0)
            return process.returncode, messages.read(), used

    @harness.in_both
    def test_report_of_crafted_traces(self):
        self.check_readers(FIRST_READERS, harness.first(2, (*FIRST_TRACES, *(TRACES.keys() - set(FIRST_TRACES)))))

    @harness.long
    def test_other_readers_of_crafted_traces(self):
        self.check_readers(OTHER_READERS, TRACES)

    def check_readers(self, readers, traces):
        for name in sorted(traces):
            statements = TRACES[name]
            path = self.craft(name.replace(" ", "-"), statements)
            for reader, words in readers.items():
                with self.subTest(trace=name, reader=reader):
                    status, messages, used = self.read(path, words)
                    self.assertIn(status, (0, FAILED), messages[-1000:])
                    self.assertNotIn("bug", messages)
                    self.assertLessEqual(used.ru_maxrss, MEMORY_KIB)


if __name__ == "__main__":
    harness.main()
