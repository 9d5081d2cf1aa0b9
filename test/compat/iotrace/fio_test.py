# SPDX-License-Identifier: BSD-3-Clause
"""Statistics and the latency histogram beside what fio reports of the same I/O, as tests/trace_fio.py of Open CAS has them."""
import collections
import json

import iotrace
from iotrace import harness

SIDES = {"randread": "read", "randwrite": "write", "randtrim": "trim"}
OPERATIONS = {"read": "Read", "write": "Write", "trim": "Discard"}
BLOCK_BYTES = 4096


class Fio(iotrace.IotraceTest):
    def run_fio(self, device):
        """({side: fio's report}, {side: [(sector, sectors)]}). No block lies beside another one, so that none are merged."""
        jobs = [word for rw in SIDES for word in (f"--name={rw}", f"--rw={rw}", "--stonewall", f"--write_iolog={self.folder}/{rw}")]
        done = harness.run("fio", f"--filename={device}", "--direct=1", "--ioengine=libaio", "--iodepth=16", f"--bs={BLOCK_BYTES}",
                           f"--blockalign={2 * BLOCK_BYTES}", "--io_size=4m", "--norandommap", "--clocksource=clock_gettime",
                           "--output-format=json", *jobs)
        self.assertEqual(done.returncode, 0, done.stderr)
        jobs = json.loads(done.stdout[done.stdout.index("{"):])["jobs"]
        return ({side: job[side] for side, job in zip(SIDES.values(), jobs, strict=True)},
                {side: self.read_log(rw, side) for rw, side in SIDES.items()})

    def read_log(self, rw, side):
        lines = [line.split() for line in (self.folder / rw).read_text().splitlines()]
        return [(int(words[-2]) // 512, int(words[-1]) // 512) for words in lines if words[-3:-2] == [side]]

    def test_as_fio_reports(self):
        self.require_program("fio")
        device = self.disk()
        tracer = self.start("--start-tracing", "--devices", device)
        reports, logs = self.run_fio(device)
        path = self.stop(tracer)["tracePath"]
        events = [event["io"] for event in self.lines(path)]
        (statistics,) = self.answer("--trace-parser", "--statistics", "--path", path)["statistics"]
        (histogram,) = self.answer("--trace-parser", "--latency-histogram", "--path", path)["histogram"]
        for side, operation in OPERATIONS.items():
            with self.subTest(side=side):
                traced = collections.Counter((int(event["lba"]), event["len"]) for event in events if event["operation"] == operation and event["len"])
                self.assertEqual(traced, collections.Counter(logs[side]))
                group = statistics[operation.lower()]
                self.check_group(group, reports[side], logs[side])
                counted = sum(int(one["count"]) for one in histogram[operation.lower()]["range"])
                self.assertEqual(counted, reports[side]["total_ios"])

    def check_group(self, group, report, log):
        self.assertEqual((int(group["count"]), int(group["errors"])), (report["total_ios"], 0))
        self.assertEqual(int(group["size"]["total"]) * 512, report["io_bytes"])
        written = {sector for first, sectors in log for sector in range(first, first + sectors)}
        self.assertEqual(group["metrics"]["workset"]["value"], len(written))
        # fio's latencies contain the device's.
        for trace, fio in (("min", "min"), ("average", "mean"), ("max", "max")):
            self.assertLessEqual(float(group["latency"][trace]), report["lat_ns"][fio], trace)


if __name__ == "__main__":
    harness.main()
