# SPDX-License-Identifier: BSD-3-Clause
"""Under load what is not lost is there, and what is lost, with small rings and a halted recorder, is counted exactly."""
import json
import os
import signal
import subprocess

import harness

LOAD = os.environ["IOTRAIL_LOAD"]
THREADS = 2
CALLS = 500_000
FEW_CALLS = 1000  # no ring overflows
ENDLESS = 10 ** 15
SECONDS_TO_FILL_RINGS = 0.1  # of CPU: a hundred thousand calls and more
FILES = 5000
BLOCK_BYTES = 4096 * 12  # rows of a block, each with the most bytes that the paced recordings allow
PART_ON_DISK = 1 / 16  # maximum part of a record's bytes in a ring: 2 of 64 bytes are left
WRITES = "SELECT count(*) FROM {layer}_write WHERE bytes_requested = 7"


class Load(harness.AcceptanceTest):
    def paced(self, layer, calls_per_second):
        """What is not lost is there, in few bytes and with little memory. Whether anything is lost, bench/keeps_up measures."""
        recording = self.record(LOAD, calls_per_second, CALLS, THREADS, options=("--layers", layer))
        self.require(recording, layer)
        self.assert_adds_up(recording, lost=None)
        manifest = recording.manifest
        lost = sum(source["lost"] for source in manifest["sources"])
        rows = recording.value(WRITES.format(layer=layer))
        self.assertLessEqual(rows, CALLS)
        self.assertGreaterEqual(rows + lost, CALLS)  # other calls of the load may be lost, too
        self.assertLessEqual(manifest["events_bytes"] / sum(manifest["counts"].values()), 12)
        self.assertLessEqual(manifest["recorder_memory_bytes"], 64 << 20)

    def test_a_million_app_calls_a_second(self):
        self.paced("app", 1_000_000)

    def test_three_hundred_thousand_system_calls_a_second(self):
        self.paced("syscall", 300_000)

    def test_thousands_of_new_files_have_their_names(self):
        """No name is dropped, though each is new and rather long. The ring has room for all of them, should the recorder be late."""
        place = self.folder / "many"
        place.mkdir()
        program = ("import os, sys\n"
                   f"for number in range({FILES}):\n"
                   "    fd = os.open(f'{sys.argv[1]}/{number:0200}', os.O_CREAT | os.O_WRONLY, 0o600)\n"
                   "    os.write(fd, b'x')\n"
                   "    os.close(fd)\n")
        recording = self.record("python3", "-c", program, place, options=("--layers", "syscall", "--buffer", "64M"))
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        self.assertEqual(recording.manifest["counters"].get("kernel_text_full", 0), 0)
        names = {row["path"] for row in recording.query(
            f"SELECT path FROM syscall_write JOIN file_names USING (file) WHERE result = 1 AND starts_with(path, '{place}')")}
        self.assertEqual(names, {f"{place}/{number:0200}" for number in range(FILES)})
        given = {row["text"] for row in recording.query(
            f"SELECT s.text FROM syscall_open AS o JOIN strings AS s ON o.path = s.string WHERE starts_with(s.text, '{place}/')")}
        self.assertEqual(given, names)

    def halted(self, *layers, threads=THREADS):
        """The recorder is stopped while the load runs, so that its rings of 1 MiB must overflow."""
        path = self.folder / "halted.iotrail"
        recorder = subprocess.Popen(
            [harness.IOTRAIL, "record", "-o", path, "--layers", ",".join(layers), "--buffer", "1M", "--", LOAD, "0", str(CALLS), str(threads)],
            stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        load = harness.wait_for(lambda: harness.children(recorder.pid, "acceptance_load"), "the load")[0]
        recorder.send_signal(signal.SIGSTOP)
        recorder.stdin.close()
        harness.wait_for(lambda: harness.has_ended(load) or harness.cpu_seconds(load) > SECONDS_TO_FILL_RINGS, "calls that fill the rings")
        recorder.send_signal(signal.SIGCONT)
        error = recorder.stderr.read()
        recorder.stderr.close()
        recorder.wait(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, error)
        recording = harness.Recording(path, None)
        self.require(recording, *(layers if len(layers) == 1 else ("app", "syscall")))
        self.assert_adds_up(recording, lost=None)
        lost = {source["source"]: source["lost"] for source in recording.manifest["sources"]}
        for source, events in lost.items():
            self.assertGreater(events, 0, source)
        self.assertEqual(int(recording.value("SELECT sum(events) FROM losses WHERE severity = 'loss'")), sum(lost.values()))
        self.assertIn("lost", harness.run(harness.IOTRAIL, "report", "--full", path).stdout.lower())
        return recording, lost

    def losses_are_exact(self, layer):
        """Each call of the load is in the trace or counted as lost, its other calls too: a calm recording has their number."""
        rows = f"SELECT count(*) FROM events WHERE starts_with(event, '{layer}_')"
        calm = self.record(LOAD, 0, FEW_CALLS, 1, options=("--layers", layer))
        self.require(calm, layer)
        self.assert_adds_up(calm)
        self.assertEqual(calm.value(WRITES.format(layer=layer)), FEW_CALLS)
        recording, lost = self.halted(layer, threads=1)
        self.assertEqual(recording.value(rows) + sum(lost.values()), calm.value(rows) - FEW_CALLS + CALLS)

    @harness.long
    def test_losses_of_the_app_layer_are_exact(self):
        self.losses_are_exact("app")

    def test_losses_of_the_syscall_layer_are_exact(self):
        self.losses_are_exact("syscall")

    @harness.long
    def test_losses_of_all_layers_at_once_are_exact(self):
        """Two sources lose at the same time. Of each, what was not lost is there; the load has its calls in both."""
        recording, lost = self.halted("app", "syscall", "async", "vfs", "cache", "fs", "block", "device", "fault", "memory", "net", "sched", "process")
        self.assertEqual(recording.value(WRITES.format(layer="app")) + lost["preload"], CALLS)
        recorded = recording.value(WRITES.format(layer="syscall"))
        self.assertLess(recorded, CALLS)
        self.assertGreaterEqual(recorded + lost["kernel"], CALLS)

    def test_a_size_limit_is_kept(self):
        """All reported sizes equal the limit, give or take a block and the content of the rings at
        that time."""
        for limit in (65536, 1 << 20):
            with self.subTest(limit=limit):
                path = self.folder / f"{limit}.iotrail"
                recorder = subprocess.Popen(
                    [harness.IOTRAIL, "record", "-q", "-o", path, "-l", "app", "--size", str(limit), "--buffer", "256K", "--", LOAD, "0",
                     str(ENDLESS), str(THREADS)], stdin=subprocess.DEVNULL)
                load = harness.wait_for(lambda: harness.children(recorder.pid, "acceptance_load"), "the load")
                self.addCleanup(harness.kill_all, load)  # it keeps running
                harness.wait_for(lambda: harness.state(path) == "COMPLETE", "the end of the recording")
                harness.kill_all(load)
                recorder.wait(timeout=harness.PATIENCE_S)
                recording = harness.Recording(path, None)
                self.assert_adds_up(recording, lost=None)
                self.assertEqual(recording.manifest["stop_reason"], "size limit")
                size = recording.manifest["events_bytes"]
                self.assertEqual(size, sum(file.stat().st_size for file in path.glob("*.seg")))
                listed = harness.run(harness.IOTRAIL, "list", "--json", env=dict(os.environ, IOTRAIL_REPOSITORY=str(self.folder)))
                self.assertIn(size, [trace["bytes"] for trace in json.loads(listed.stdout)["traces"]])
                self.assertGreater(size, 0.9 * limit)
                self.assertLess(size, limit + BLOCK_BYTES + recording.manifest["ring_memory_bytes"] * PART_ON_DISK)


if __name__ == "__main__":
    harness.main()
