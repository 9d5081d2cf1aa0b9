# SPDX-License-Identifier: BSD-3-Clause
"""b-com's tests/profile_ident_tests.py: fio's engines, sequential and random, write and read. Its own report is the oracle of
the logs and of `iotrail profile`: sizes at both levels, and the order of the calls."""
import collections
import json
import os

import iotracer
from iotracer import harness

ENGINES = ("libaio", "posixaio", "sync", "psync", "vsync", "pvsync", "io_uring")
if os.environ.get("IOTRAIL_VM"):  # ten minutes there
    ENGINES = ("libaio", "posixaio", "sync", "pvsync")
ORDERS = ("sequential", "random")
STEPS = [(engine, order, side) for engine in ENGINES for side in ("write", "read") for order in ORDERS]
BLOCK_BYTES = 4096
DISK_BYTES = 32 << 20


class Engines(iotracer.IotracerTest):
    def setUp(self):
        super().setUp()
        self.require_program("fio", "filefrag")
        _, self.disk = self.make_disk("ext4", DISK_BYTES)
        self.files = {(engine, order): self.disk / f"{engine} {order}" for engine in ENGINES for order in ORDERS}
        free = os.statvfs(self.disk)
        # All files together, as the original's: 40 % of the free space for each order.
        self.blocks = free.f_bavail * free.f_frsize * 4 // 5 // len(self.files) // BLOCK_BYTES
        for file in self.files.values():
            with open(file, "wb") as created:
                os.posix_fallocate(created.fileno(), 0, self.blocks * BLOCK_BYTES)  # fio would replace a smaller one

    def run_steps(self, *options):
        """fio's report of each step, and the recording."""
        jobs = []
        for engine, order, side in STEPS:
            jobs += [f"--name={engine} {order} {side}", f"--filename={engine} {order}", f"--ioengine={engine}",
                     f"--rw={'rand' if order == 'random' else ''}{side}", "--stonewall"]
        recording = self.record("fio", "--thread", f"--directory={self.disk}", f"--bs={BLOCK_BYTES}", f"--size={self.blocks * BLOCK_BYTES}",
                                "--output-format=json", *options, *jobs, options=["--layers", "syscall,async,vfs,cache,block"])
        self.require(recording, "syscall", "block")
        text = recording.process.stdout
        reports = json.loads(text[text.index("{"):])["jobs"]
        return {step: report[step[2]] for step, report in zip(STEPS, reports, strict=True)}, recording

    def profile(self, recording):
        """{(file, side): {layer: row}}, by the base name of the file."""
        done = harness.run(harness.IOTRAIL, "profile", recording.path, "--file", f"{self.disk}/*", "--json")
        self.assertEqual(done.returncode, 0, done.stderr)
        rows = collections.defaultdict(dict)
        for row in json.loads(done.stdout)["files"]:
            rows[os.path.basename(row["path"]), row["direction"]][row["layer"]] = row
        return rows

    def check(self, *options):
        self.begin("watch", "--mount", self.point, "--max", 6 * self.blocks, *self.files.values())
        reports, recording = self.run_steps(*options)
        profile = self.profile(recording)
        for key, file in self.files.items():
            log = self.events(self.directory(file))
            for side in ("write", "read"):
                with self.subTest(engine=key[0], order=key[1], side=side):
                    events = [event for event in log if event.type == side[0].upper()]
                    calls = self.check_log(file, events, reports[*key, side])
                    self.check_profile(profile[file.name, side], calls, events)
                    self.check_order(key[1], calls, profile[file.name, side])

    def check_log(self, file, events, report):
        """Returns the calls."""
        self.assertEqual(report["io_bytes"], self.blocks * BLOCK_BYTES)
        self.assertEqual(({event.name for event in events}, len({event.pid for event in events})), ({"fio"}, 1))
        calls, bios = ([event for event in events if event.level == level] for level in ("VFS", "BLK"))
        self.assertEqual(len(calls), report["total_ios"])
        self.assertEqual(sum(event.size for event in calls), report["io_bytes"])
        self.assertEqual(sorted(event.address for event in calls), [*range(0, report["io_bytes"], BLOCK_BYTES)])
        self.assertEqual(sum(event.size for event in bios), report["io_bytes"])
        self.assert_where_the_file_is(file, bios)
        return calls

    def check_profile(self, layers, calls, events):
        """All layers that have calls are as the log; the steps of the calls are counted anew."""
        self.assertEqual(len(layers.keys() & {"syscall", "async"}), 1, layers.keys())
        in_order = sum(after.address == before.address + before.size for before, after in zip(calls, calls[1:]))
        for layer, row in layers.items():
            size = sum(event.size for event in events if (event.level == "BLK") == (layer == "block"))
            self.assertEqual(row["bytes"], size, layer)
            if layer != "block":
                self.assertEqual(row["accesses"], len(calls), layer)
                self.assertAlmostEqual(row["in_order_share"], in_order / (len(calls) - 1), msg=layer)

    def check_order(self, order, calls, layers):
        for layer, row in layers.items():
            if layer == "block":
                continue
            if order == "sequential":
                self.assertEqual([event.address for event in calls], sorted(event.address for event in calls))
                self.assertEqual((row["sequential_share"], row["random_share"]), (1, 0), layer)
            else:
                self.assertGreater(row["random_share"], row["sequential_share"], layer)

    def test_direct(self):
        self.check("--direct=1")

    @harness.long
    def test_through_the_page_cache(self):
        self.check("--end_fsync=1")


if __name__ == "__main__":
    harness.main()
