# SPDX-License-Identifier: BSD-3-Clause
"""Limits, the repository, the guard of devices and mistakes, as the tests of Open CAS iotrace have them."""
import json
import os
import pathlib
import stat
import threading

import iotrace
from iotrace import harness

CYCLES = 50
FIRST_SECTOR = 2048


class Limits(iotrace.IotraceTest):
    def test_the_time_limit_stops(self):
        device = self.disk()
        tracer = self.start("--start-tracing", "--devices", device, "--time", "2", "--size", "20480")
        summary = self.end(tracer)
        self.assertEqual(summary["state"], "COMPLETE")
        self.assertIn(int(summary["traceDuration"]), (2, 3))

    def trace_under_load(self, seconds, mib):
        """The summary, and the bytes of events."""
        device = self.disk(f"{seconds} {mib}")
        tracer = self.start("--start-tracing", "-d", device, "-t", seconds, "-s", mib)
        with self.load(device):
            summary = self.end(tracer)
        self.assertEqual(summary["state"], "COMPLETE")
        trace = max(self.traces.glob("*.iotrail"), key=lambda path: path.stat().st_ctime_ns)
        return summary, sum(file.stat().st_size for file in trace.glob("*.seg"))

    def test_the_size_limit_stops(self):
        _, size = self.trace_under_load(7200, 1)
        self.assertGreater(size, (1 << 20) * 0.9)
        self.assertLess(size, (1 << 20) * 1.5)  # what the rings held still comes

    @harness.long
    def test_the_first_limit_stops(self):
        summary, _ = self.trace_under_load(20, 20480)
        self.assertIn(int(summary["traceDuration"]), (20, 21))
        summary, size = self.trace_under_load(7200, 64)
        self.assertAlmostEqual(size / (64 << 20), 1, delta=0.1)
        self.assertEqual(summary["traceSize"], -(-size >> 20))


class Readme(iotrace.IotraceTest):
    def test_two_devices_with_limits(self):
        """The example of the first README: a disk and a partition of another, the list, and the events as JSON."""
        whole, other = self.disk("sda"), self.disk("sdb")
        partition = self.make_partition(other, FIRST_SECTOR, 8192)
        tracer = self.start("--start-trace", "--devices", f"{whole},{partition}", "--time", "3600", "--size", "1024")
        self.assertIn(f"its disk {other} is traced", " ".join(tracer.said.split()))
        self.write(whole, 4)
        self.write(partition, 2)
        self.stop(tracer)
        (trace,) = self.answer("--list-traces")["trace"]
        self.assertEqual(trace["state"], "COMPLETE")
        printed = self.iotrace("--parse-trace", "--path", trace["tracePath"], "--format", "json").stdout
        events = [json.loads(line) for line in printed.splitlines()]
        written = {(event["device"]["name"], event["io"]["lba"]) for event in events if event["io"]["operation"] == "Write"}
        self.assertEqual(written, {(os.path.basename(whole), str(4 * iotrace.SECTORS)),
                                   (os.path.basename(other), str(FIRST_SECTOR + 2 * iotrace.SECTORS))})


class Guard(iotrace.IotraceTest):
    def test_a_second_tracer_of_a_device_is_refused(self):
        device = self.disk()
        other = self.disk("other")
        tracer = self.start("-S", "-d", device)
        refused = self.iotrace("--start-tracing", "--devices", device, "--time", "1", expect=1)
        self.assertIn(f"process {tracer.pid}", refused.stderr)
        beside = self.start("-S", "-d", other)
        self.assertEqual(self.stop(beside)["state"], "COMPLETE")
        self.assertEqual(self.stop(tracer)["state"], "COMPLETE")
        self.assertEqual(len(self.answer("-M", "-L")["trace"]), 2, "the refused tracer left a trace")

    @harness.long
    def test_cycles(self):
        device = self.disk()
        for _ in range(CYCLES):
            tracer = self.start("--start-trace", "--devices", device)
            self.write(device, 0)
            summary = self.stop(tracer)
            self.assertEqual((summary["state"], summary["droppedEvents"]), ("COMPLETE", "0"))
        self.assertEqual(len(self.answer("--list-traces")["trace"]), CYCLES)

    @harness.long
    def test_data_stays_whole(self):
        """fio verifies what it has written while tracers begin and end."""
        self.require_program("fio")
        device = self.disk()
        is_over, statuses = threading.Event(), []
        def verify():
            while not is_over.is_set():
                statuses.append(harness.run("fio", "--name=j", f"--filename={device}", "--rw=randwrite", "--bs=4k", "--size=8m", "--direct=1",
                                            "--ioengine=libaio", "--iodepth=16", "--verify=crc32c", "--verify_fatal=1").returncode)
        load = threading.Thread(target=verify)
        load.start()
        try:
            for _ in range(10):
                self.assertEqual(self.stop(self.start("-S", "-d", device))["state"], "COMPLETE")
        finally:
            is_over.set()
            load.join()
        self.assertEqual({*statuses}, {0})


class Management(iotrace.IotraceTest):
    def record(self, device, *options, kill=False):
        tracer = self.start("--start-tracing", "--devices", device, *options)
        if not kill:
            return self.stop(tracer)
        tracer.kill()
        tracer.wait()
        return None

    def states(self, *options):
        return [(trace["state"], trace["tags"]) for trace in self.answer("--trace-management", "--list-traces", *options)["trace"]]

    def test_list(self):
        device = self.disk()
        for number in range(2):
            self.record(device, "--label", f"label {number}", "--tags", f" number = {number} ")
        tracer = self.start("--start-tracing", "--devices", device, "--label", "runs")
        self.assertEqual(self.states(), [("COMPLETE", {"label": "label 0", "number": "0"}), ("COMPLETE", {"label": "label 1", "number": "1"}),
                                         ("RUNNING", {"label": "runs"})])
        self.assertEqual(len(self.states("--prefix", "kernel*")), 3)
        self.assertEqual(self.states("--prefix", "velociraptor*"), [])
        path = self.answer("-M", "-L")["trace"][0]["tracePath"]
        self.assertRegex(path, r"^kernel/\d{4}-\d\d-\d\d_\d\d:\d\d:\d\d$")
        self.assertEqual(len(self.states("-p", path)), 1)
        self.stop(tracer)

    def test_remove(self):
        device = self.disk()
        self.record(device)
        self.record(device, kill=True)
        self.assertEqual([state for state, _ in self.states()], ["COMPLETE", "UNDEFINED"])
        removed = self.answer("--trace-management", "--remove-traces", "--prefix", "kernel*")
        self.assertEqual([trace["state"] for trace in removed["trace"]], ["COMPLETE"])
        refused = self.iotrace("-M", "-R", "-p", "kernel*", expect=1)
        self.assertIn("No traces removed.", refused.stderr)
        self.assertEqual(len(self.states()), 1)
        self.iotrace("--remove-traces", "--prefix", "*", "--force")
        self.assertEqual(self.states(), [])
        self.assertIn("No traces removed.", self.iotrace("-M", "-R", "-p", "*", expect=1).stderr)

    def test_the_summary_is_what_was_printed(self):
        device = self.disk()
        tracer = self.start("-S", "-d", device, "-l", "My cool first trace")
        self.write(device, 3, blocks=2)
        printed = self.stop(tracer)
        self.assertEqual(self.answer("--trace-management", "--get-trace-summary", "--path", printed["tracePath"]), printed)
        with_slash = printed["tracePath"] + "/"  # as the README of the newer version writes it
        self.assertEqual(self.answer("--get-trace-summary", "--path", with_slash), printed)
        self.assertEqual(printed["label"], "My cool first trace")
        self.assertEqual(printed["sourceNode"], {"node": [{"id": "kernel"}]})
        self.assertGreater(int(printed["tracedEvents"]), 0)
        self.assertEqual(printed["queueCount"], str(os.cpu_count()))
        self.assertIn("cache", self.iotrace("-M", "--help").stdout)
        self.iotrace("-M", "-C", "-p", printed["tracePath"])

    def test_a_trace_of_iotrail_is_listed(self):
        made = harness.run(harness.IOTRAIL, "record", "-q", "--layers", "app", "-o", "mine", "--", "true", env=self.environment)
        self.assertEqual(made.returncode, 0, made.stderr)
        (trace,) = self.answer("-M", "-L")["trace"]
        self.assertEqual(self.answer("-M", "-G", "-p", trace["tracePath"])["state"], "COMPLETE")
        self.assertEqual(self.answer("-M", "-G", "-p", "mine")["tracePath"], trace["tracePath"])

    def test_repository_path(self):
        self.assertEqual(self.answer("--trace-config", "--get-trace-repository-path"), {"path": str(self.traces)})
        for words in (("--trace-config", "--set-trace-repository-path", "--path"), ("-C", "-S", "-p")):
            new = self.folder / f"place {len(words[0])}"
            new.mkdir()
            self.assertEqual(self.answer(*words, new), {"path": str(new)})
            self.assertEqual(self.answer("-C", "-G"), {"path": str(new)})
        file = self.home / ".config/iotrail/iotrace.conf"
        self.assertEqual(json.loads(file.read_text()), {"paths": {"trace": str(new)}})
        self.assertEqual(stat.S_IMODE(file.stat().st_mode), 0o644)
        self.assertIn("No such file", self.iotrace("-C", "-S", "-p", self.folder / "none", expect=1).stderr)
        file.write_text("{")
        self.assertIn(str(file), self.iotrace("-M", "-L", expect=1).stderr)


class Mistakes(iotrace.IotraceTest):
    def test_messages(self):
        for words, message in (
                ((), "no command given"),
                (("--start-tracng",), "Did you mean '--start-tracing'?"),
                (("-M",), "no command given"),
                (("-M", "-X"), "unknown command '-X'"),
                (("-S",), "--devices is required"),
                (("-S", "-d", "/dev/null"), "not a block device"),
                (("-S", "-d", "/dev/nothing"), "No such file"),
                (("-S", "-d", self.folder), "not a block device"),
                (("-S", "-d", "/dev/loop0", "-t", "0"), "not a number from 1 to 4294967295"),
                (("-S", "-d", "/dev/loop0", "-b", "1025"), "not a number from 1 to 1024"),
                (("-S", "-d", "/dev/loop0", "-s", "1e3"), "not a number from 1 to 100000000"),
                (("-S", "-d", "/dev/loop0", "--what"), "--what"),
                (("-S", "-d", ",".join(["/dev/loop0"] * 33)), "at most 32"),
                (("-M", "-G", "-p", "kernel/none"), "there is no trace kernel/none"),
                (("-P", "-P", "-p", "none", "-f", "xml"), "'xml' is no format"),
                (("-P", "-B", "-p", "none", "-s", "5", "-e", "5"), "Invalid values given for subrange"),
                (("-P", "-X", "-p", "none", "-t", "arc"), "there is no extension 'arc'")):
            with self.subTest(words=words):
                said = self.iotrace(*words, expect=1)
                self.assertIn(message, said.stderr.replace("\n  ", " "))
                self.assertTrue(said.stderr.startswith("iotrace: "), said.stderr)
                self.assertEqual(said.stdout, "")
        self.assertEqual([*self.traces.iterdir()], [])

    def test_full_disk(self):
        """The summary says how much is missing."""
        device = self.disk()
        self.make_small_disk(self.traces, "1m")
        tracer = self.start("-S", "-d", device)
        with self.load(device):
            out, err = tracer.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(tracer.returncode, 1)
        self.assertEqual(err.count("No space left on device"), 1, err)
        summary = json.loads(out)
        self.assertEqual(summary["state"], "ERROR")
        self.assertGreater(int(summary["tracedEvents"]), 0)
        self.assertGreater(int(summary["droppedEvents"]), 0)
        self.assertEqual(self.answer("-M", "-G", "-p", summary["tracePath"]), summary)

    def test_tags(self):
        device = self.disk()
        for tag, message in (("=b", "Missing tag name"), ("a", "Missing tag value"), (" =b", "Tag name empty"), ("a= ", "Tag value empty")):
            self.assertIn(message, self.iotrace("-S", "-d", device, "-t", "1", "-g", tag, expect=1).stderr)

    def test_help_and_version(self):
        for words in (("-H",), ("--help",), ("-M", "-H"), ("-P", "--help"), ("-S", "-H"), ("-P", "-B", "--help"), ("--list-traces", "--help")):
            shown = self.iotrace(*words).stdout
            self.assertTrue(shown.startswith(("Usage: iotrace", "Trace the", "Print", "List")), shown)
            self.assertLessEqual(max(map(len, shown.splitlines())), 80)
        self.assertEqual([json.loads(line)["name"] for line in self.iotrace("-V").stdout.splitlines()], ["iotrace", "octf"])
        through = harness.run(harness.IOTRAIL, "as", "iotrace", "--help", env=self.environment)
        self.assertEqual(through.stdout, self.iotrace("--help").stdout)
        self.assertIn("there is no program", harness.run(harness.IOTRAIL, "as", "iotrce").stderr)


if __name__ == "__main__":
    harness.main()
