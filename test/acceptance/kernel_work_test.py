# SPDX-License-Identifier: BSD-3-Clause
"""I/O that is for no call in the trace: what kernel threads do for themselves, and programs on a
disk's own node in a recording of the disk."""
import re
import signal
import subprocess

import harness

DISK_BYTES = 300 << 20
BLOCK_BYTES = 65536


def has_all_tables(device):
    """Whether the tables of inodes of all block groups are initialised."""
    groups = re.findall(r"^Group \d+:.*", harness.run("dumpe2fs", device).stdout, re.MULTILINE)
    return groups and all("ITABLE_ZEROED" in group for group in groups)


class KernelWork(harness.AcceptanceTest):
    def record_disk_while(self, device, work):
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", path, "--device", device], stderr=subprocess.PIPE, text=True)
        try:
            harness.wait_until_running(path)
            work()
        finally:
            recorder.send_signal(signal.SIGINT)
            _, err = recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, err)
        recording = harness.Recording(path, subprocess.CompletedProcess([], 0, "", err))
        self.require(recording, "block")
        return recording

    def causes(self, recording):
        return recording.query("SELECT cause, comm, CAST(sum(bytes) AS BIGINT) AS bytes FROM device_causes GROUP BY ALL ORDER BY ALL")

    def test_ext4_initialises_its_tables_later(self):
        self.require_program("mkfs.ext4", "dumpe2fs")
        device = self.make_bare_disk(DISK_BYTES)
        made = harness.run("mkfs.ext4", "-q", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard", device)
        self.assertEqual(made.returncode, 0, made.stderr)
        point = self.folder / "point"
        point.mkdir()

        def work():
            self.assertEqual(harness.run("mount", "-o", "init_itable=0", device, point).returncode, 0)
            self.addCleanup(harness.run, "umount", point)
            harness.wait_for(lambda: has_all_tables(device), "the tables that ext4lazyinit initialises")
        recording = self.record_disk_while(device, work)
        rows = self.causes(recording)
        own = sum(row["bytes"] for row in rows if (row["cause"], row["comm"]) == ("kernel_thread", "ext4lazyinit"))
        self.assertGreater(own, 1 << 20, rows)
        self.assertEqual([row for row in rows if row["cause"] == "unknown"], [])
        zeroed = recording.value("SELECT coalesce(sum(bytes), 0) FROM block_queue WHERE pid IN (SELECT pid FROM processes WHERE comm = 'ext4lazyinit') "
                                 "AND choice_text('block', flags) = 'write_zeroes'")
        self.assertLessEqual(zeroed, own)

    def test_a_program_on_the_disks_own_node(self):
        device = self.make_bare_disk(DISK_BYTES)
        write = ["dd", "if=/dev/zero", f"of={device}", f"bs={BLOCK_BYTES}", "count=20", "oflag=direct"]

        def work():
            written = harness.run(*write)
            self.assertEqual(written.returncode, 0, written.stderr)
        recording = self.record_disk_while(device, work)
        rows = [row for row in self.causes(recording) if row["comm"] == "dd"]
        self.assertEqual([(row["cause"], row["bytes"]) for row in rows if row["cause"] != "read"], [("direct", 20 * BLOCK_BYTES)], rows)


if __name__ == "__main__":
    harness.main()
