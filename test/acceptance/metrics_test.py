# SPDX-License-Identifier: BSD-3-Clause
"""`record --metrics` shows to Prometheus, while it records, the numbers that the trace has."""
import contextlib
import http.client
import re
import socket
import subprocess
import sys
import urllib.request

import harness

# Works until the file of its argument is there.
PROGRAM = """
import os, sys
end, data = sys.argv[1], sys.argv[2]
file = os.open(data, os.O_RDWR | os.O_CREAT)
while not os.path.exists(end):
    for size in (100, 512, 4096, 70000):
        os.pwrite(file, b"x" * size, 0)
        os.pread(file, size, 0)
    os.fsync(file)
    try:
        os.open(data + ".missing", os.O_RDONLY)
    except FileNotFoundError:
        pass
"""
PYTHON = "/usr/bin/python3" # the one that Debian's packages are for
LIMITS = (512, 4096, 16384, 65536, 262144, 1 << 20, 16 << 20)


def samples(text, name):
    """{labels without names: value} of a metric."""
    found = {}
    for labels, value in re.findall(rf"^{name}(?:\{{(.*)\}})? (\S+)$", text, re.M):
        found[tuple(re.findall(r'="([^"]*)"', labels))] = float(value)
    return found


class Recorder:
    def __init__(self, test, *options):
        self.trace = test.folder / "t.iotrail"
        self.end_file = test.folder / "end"
        self.process = subprocess.Popen(
            [harness.IOTRAIL, "record", "-q", "-o", self.trace, "--layers", "syscall,vfs,block", "--metrics", *options, "--",
             sys.executable, "-c", PROGRAM, self.end_file, test.folder / "data"],
            stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.messages = []
        while not (found := re.search(r"metrics: (http://\S+:(\d+)/metrics)", self.messages[-1] if self.messages else "")):
            line = self.process.stderr.readline()
            if not line:
                raise AssertionError("".join(self.messages))
            self.messages.append(line)
        self.url, self.port = found[1], int(found[2])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()
        self.process.stderr.close()

    def end(self):
        self.end_file.touch()
        return self.process.wait(timeout=harness.PATIENCE_S)

    def text(self):
        with urllib.request.urlopen(self.url, timeout=harness.PATIENCE_S) as answer:
            return answer.read().decode()

    def status(self, head):
        """Of the answer to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=harness.PATIENCE_S) as connection:
            connection.sendall(head)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status


class Metrics(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.require(self.record("true", name="probe"), "syscall")

    def test_numbers_at_the_end_are_those_of_the_trace(self):
        with Recorder(self, "--time", "1s") as recorder:
            text = harness.wait_for(
                lambda: (now := recorder.text()) if samples(now := recorder.text(), "iotrail_recording_is_running")[()] == 0 else None,
                "the end of the recording")
            self.assertEqual(recorder.end(), 0)
            trace = harness.Recording(recorder.trace, None)
        rows = trace.query("SELECT layer, event, operation, count(*) AS events, count(*) FILTER (is_error(error)) AS errors, "
                           "coalesce(sum(bytes), 0) AS bytes, " +
                           ", ".join(f"count(*) FILTER (bytes BETWEEN 1 AND {limit}) AS until_{limit}" for limit in LIMITS) +
                           ", count(*) FILTER (bytes > 0) AS moved FROM events GROUP BY ALL")
        key = lambda row: (row["layer"], row["event"], row["operation"])
        self.assertTrue({"syscall", "block"} <= {row["layer"] for row in rows} or self.require(trace, "block"))
        self.assertEqual(samples(text, "iotrail_events_total"), {key(row): int(row["events"]) for row in rows})
        self.assertEqual(samples(text, "iotrail_event_errors_total"), {key(row): int(row["errors"]) for row in rows})
        self.assertGreater(samples(text, "iotrail_event_errors_total")["syscall", "syscall_open", "open"], 0)
        of = {key(row): row for row in rows}
        sums = samples(text, "iotrail_operation_size_bytes_sum")
        self.assertEqual(sums, {k: int(of[k]["bytes"]) for k in sums})
        self.assertEqual({k for k, row in of.items() if int(row["bytes"])} - sums.keys(), set())
        buckets = samples(text, "iotrail_operation_size_bytes_bucket")
        self.assertEqual(buckets, {(*k, limit): int(of[k][f"until_{limit}" if limit != "+Inf" else "moved"]) for *k, limit in buckets
                                   for k in [tuple(k)]})
        sources = trace.manifest["sources"]
        self.assertEqual(samples(text, "iotrail_events_produced_total"), {(row["source"],): row["produced"] for row in sources})
        self.assertEqual(samples(text, "iotrail_events_lost_total"), {(row["source"],): row["lost"] for row in sources})
        self.assertGreater(samples(text, "iotrail_recorder_cpu_seconds_total")[()], 0)
        self.assertGreater(samples(text, "iotrail_recorder_memory_bytes")[()], 1 << 20)

    def test_numbers_grow_while_it_records(self):
        """By curl, and by the parser of Prometheus' own client."""
        self.require_program("curl")
        if harness.run(PYTHON, "-c", "import prometheus_client").returncode:
            self.skipTest("python3-prometheus-client is not installed")
        parse = ("import sys; from prometheus_client.parser import text_string_to_metric_families as parse\n"
                 "print(sum(s.value for m in parse(sys.stdin.read()) for s in m.samples if s.name == 'iotrail_events_total'"
                 " and s.labels['event'] == 'syscall_write'))")

        def writes():
            got = harness.run("curl", "-sS", "-i", recorder.url)
            self.assertEqual(got.returncode, 0, got.stderr)
            head, body = got.stdout.split("\n\n", 1)
            self.assertIn("Content-Type: text/plain; version=0.0.4", head)
            parsed = subprocess.run([PYTHON, "-c", parse], input=body, capture_output=True, text=True, check=True)
            return float(parsed.stdout)
        with Recorder(self) as recorder:
            first = harness.wait_for(writes, "a write")
            harness.wait_for(lambda: writes() > first, "more writes")

    def test_a_client_harms_nothing(self):
        with Recorder(self) as recorder, contextlib.ExitStack() as silent:
            for _ in range(5): # neither speak nor leave
                silent.enter_context(socket.create_connection(("127.0.0.1", recorder.port)))
            host = b"Host: localhost\r\n\r\n"
            self.assertEqual(recorder.status(b"GET /metrics HTTP/1.1\r\n" + host), 200)
            self.assertEqual(recorder.status(b"HEAD /metrics HTTP/1.1\r\n" + host), 200)
            self.assertEqual(recorder.status(b"POST /metrics HTTP/1.1\r\n" + host), 405)
            self.assertEqual(recorder.status(b"GET / HTTP/1.1\r\n" + host), 404)
            self.assertEqual(recorder.status(b"GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n"), 403)
            self.assertEqual(recorder.status(b"\x00\xff\x1b[31m\r\n\r\n"), 400)
            self.assertEqual(recorder.status(b"GET /metrics HTTP/1.1\r\nA: " + b"a" * 20000), 431)
            self.assertIn("iotrail_events_total", recorder.text())
            self.assertEqual(recorder.end(), 0)
            self.assertEqual(harness.state(recorder.trace), "COMPLETE")

    def test_an_address_that_does_not_serve_is_refused_before_the_command(self):
        def refused(address, status, *words):
            ran = harness.run(harness.IOTRAIL, "record", "-o", self.folder / "no.iotrail", "--metrics", address, "--",
                              "touch", self.folder / "ran")
            self.assertEqual(ran.returncode, status, ran.stderr)
            self.assertFalse((self.folder / "ran").exists() or (self.folder / "no.iotrail").exists())
            for word in words:
                self.assertIn(word, ran.stderr)
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            taken.listen()
            refused(f"127.0.0.1:{taken.getsockname()[1]}", 1, "in use", "free port")
        for address in ("0.0.0.0:9100", "[::]:9100", "10.0.0.1:9100", "example.org:80"):
            refused(address, 2, address, "127.0.0.1")
        for address in ("127.0.0.1", "70000", "0", "x", "127.0.0.1:", "[::1]"):
            refused(address, 2, address)


if __name__ == "__main__":
    harness.main()
