# SPDX-License-Identifier: BSD-3-Clause
"""A writer that the kernel holds back at the limit of its disk, however little is unwritten on the machine."""
import pathlib

import harness

DISK_BYTES = 400 << 20


class DirtyLimit(harness.AcceptanceTest):
    def test_the_limit_of_a_disk(self):
        device, point = self.make_disk("ext4", DISK_BYTES)
        number = pathlib.Path(f"/sys/block/{pathlib.Path(device).name}/dev").read_text().strip()
        limits = pathlib.Path("/sys/class/bdi") / number
        if not (limits / "strict_limit").exists():
            self.skipTest("this kernel has no strict limits of disks")
        for name, value in (("max_ratio", "0"), ("strict_limit", "1")):
            # The loop device keeps its settings.
            self.addCleanup((limits / name).write_text, (limits / name).read_text())
            (limits / name).write_text(value)
        recording = self.record("dd", "if=/dev/zero", f"of={point}/file", "bs=1M", "count=20")
        self.require(recording, "syscall", "sched")
        major, minor = map(int, number.split(":"))
        rows = recording.query(f"SELECT max_percent FROM dirty_limits WHERE device = {major << 20 | minor}")
        self.assertEqual([int(row["max_percent"]) for row in rows], [0])
        self.assertGreater(int(recording.value("SELECT count(*) FROM waits WHERE reason = 'throttle'")), 0)
        found = harness.run(harness.IOTRAIL, "findings", recording.path, "--only", "F12", "--limit", "F12.share=0.000001", "--limit", "F12.longest_ns=1")
        said = " ".join(found.stdout.split())
        self.assertIn("held dd back", said)
        self.assertIn("by the limit of its file system", said)
        self.assertIn("This limit is strict: 0 % of vm.dirty_ratio", said)


if __name__ == "__main__":
    harness.main()
