# SPDX-License-Identifier: BSD-3-Clause
"""fio knows exactly what it did: every layer must have the same number of calls and bytes."""
import json
import os

import harness

SIZE_BYTES = int(os.environ.get("IOTRAIL_ORACLE_SIZE_BYTES", 64 << 20))
BLOCK_BYTES = 4096


class FioOracle(harness.AcceptanceTest):
    def fio(self, rw, engine, direct):
        """Records one fio job; returns the recording and fio's own (operations, bytes)."""
        self.require_program("fio")
        data = self.folder / "data"
        job = ["fio", "--name=oracle", f"--filename={data}", f"--rw={rw}", "--bs=4k", f"--size={SIZE_BYTES}",
               f"--ioengine={engine}", f"--direct={int(direct)}", "--output-format=json", "--randrepeat=1"]
        if "read" in rw:
            harness.run(*[word for word in job if not word.startswith("--rw")], "--rw=write", "--end_fsync=1")
        recording = self.record(*job, options=["--pseudo"])  # so that nothing is excluded
        side = "read" if "read" in rw else "write"
        report = json.loads(recording.process.stdout[recording.process.stdout.index("{"):])["jobs"][0][side]
        self.assertEqual(report["io_bytes"], SIZE_BYTES)
        return recording, report["total_ios"], report["io_bytes"], side, data

    def check(self, rw, engine, direct):
        recording, operations, size, side, data = self.fio(rw, engine, direct)
        self.assert_adds_up(recording, lost=None)
        self.assertLessEqual(set(recording.manifest["counters"]), set() if os.environ.get("IOTRAIL_VM") else harness.UNREPORTED)
        self.assertIn("app", recording.layers_recorded())
        if os.environ.get("IOTRAIL_VM"):
            self.assertIn("vfs", recording.layers_recorded())
        for layer in sorted(recording.layers_recorded() & {"app", "syscall", "vfs"}):
            with self.subTest(layer=layer):
                (row,) = recording.query(
                    f"SELECT count(*) AS operations, sum(result) AS bytes, sum(bytes_requested) AS requested "
                    f"FROM {layer}_{side} JOIN files USING (file) WHERE path = '{data}' AND bytes_requested = {BLOCK_BYTES}")
                self.assertEqual(int(row["operations"]), operations)
                self.assertEqual(int(row["bytes"]), size)
                self.assertEqual(int(row["requested"]), size)
        if direct and "block" in recording.layers_recorded():
            self.check_blocks(recording, side, size, data)

    def check_blocks(self, recording, side, size, data):
        """Every byte is queued, issued and completed under the call that asked for it."""
        def bytes_of(event):
            return int(recording.value(
                f"SELECT coalesce(sum(b.bytes), 0) FROM {event} b JOIN syscall_{side} s USING (op_id) "
                f"JOIN files f ON f.file = s.file WHERE f.path = '{data}'"))
        for event in ("block_queue", "block_issue", "block_complete"):
            moved = bytes_of(event)
            if event == "block_issue":
                # A busy device refused it, so that it was issued again.
                moved -= bytes_of("block_requeue")
            with self.subTest(event=event):
                self.assertLessEqual(moved, size)
                self.assertGreaterEqual(moved, size - self.bytes_unreported(recording, event))

    def bytes_unreported(self, recording, event):
        """The most bytes that may be missing: requests without a reported completion had one block
        each, or belonged to others."""
        missed = recording.manifest["counters"].get("kernel_completion_missed", 0)
        return BLOCK_BYTES * missed if event == "block_complete" else 0

    @harness.long
    def test_psync_direct_random_write(self):
        self.check("randwrite", "psync", direct=True)

    @harness.long
    def test_psync_buffered_random_write(self):
        self.check("randwrite", "psync", direct=False)

    def test_psync_direct_random_read(self):
        self.check("randread", "psync", direct=True)

    @harness.long
    def test_psync_buffered_read(self):
        self.check("read", "psync", direct=False)

    @harness.long
    def test_sync_direct_write(self):
        self.check("randwrite", "sync", direct=True)

    @harness.long
    def test_sync_buffered_read(self):
        self.check("randread", "sync", direct=False)

    @harness.long
    def test_pvsync_direct_write(self):
        self.check("randwrite", "pvsync", direct=True)

    def test_pvsync_buffered_read(self):
        self.check("randread", "pvsync", direct=False)


if __name__ == "__main__":
    harness.main()
