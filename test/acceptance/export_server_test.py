# SPDX-License-Identifier: BSD-3-Clause
"""`export -o http://...` brings otlp and prometheus to servers that fail now and then."""
import http.server
import json
import threading

import export_fixture
import harness


class Collector(http.server.ThreadingHTTPServer):
    """Answers POST with these statuses, then with 200; keeps the bodies that it has accepted."""
    daemon_threads = True

    def __init__(self, *statuses):
        self.statuses, self.accepted, self.types, self.wait = [*statuses], [], [], None
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1/traces"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Answer(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        status = self.server.statuses.pop(0) if self.server.statuses else 200
        if status == 200:
            self.server.accepted.append(body)
            self.server.types.append(self.headers["Content-Type"])
        self.send_response(status)
        self.send_header("Content-Length", "0")
        if self.server.wait:
            self.send_header("Retry-After", self.server.wait)
        self.end_headers()

    def log_message(self, *_):
        pass


class Servers(export_fixture.ExportTest):
    def setUp(self):
        super().setUp()
        self.require_program("curl")

    def post(self, to, url, expect=0):
        done = harness.run(harness.IOTRAIL, "export", self.trace, "--to", to, "-o", url)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def test_a_collector_gets_what_a_file_has(self):
        with Collector(503, 429) as collector:
            self.post("otlp", collector.url)
            self.assertEqual(collector.accepted, [self.export("t.otlp.json").read_bytes()])
            self.assertEqual(collector.types, ["application/json"])
            self.assertTrue(json.loads(collector.accepted[0])["resourceSpans"])
        with Collector() as collector:
            self.post("prometheus", collector.url)
            self.assertEqual(collector.accepted, [self.export("t.prom").read_bytes()])

    def test_an_answer_that_refuses_is_an_error(self):
        with Collector(400) as collector:
            said = self.post("otlp", collector.url + "?key=SECRET", expect=1)
            self.assertIn("400", said)
            self.assertIn("cannot send the export to http://127.0.0.1", said)  # not a temporary file
            self.assertIn("give -o FILE", said)
            self.assertNotIn("SECRET", said)
            self.assertEqual(collector.accepted, [])

    def test_messages_have_no_password(self):
        for url in ("http://u:p@SECRET@127.0.0.1/ ", "http://u:SECRET?x@127.0.0.1/ ", "http://127.0.0.1/ ?SECRET"):
            self.assertNotIn("SECRET", self.post("otlp", url, expect=2))

    def test_a_wait_of_a_day_is_not_waited_for(self):
        with Collector(503) as collector:
            collector.wait = "86400"
            self.assertIn("503", self.post("otlp", collector.url, expect=1))

    def test_a_redirect_is_an_error(self):
        for status in (301, 302, 307):
            with self.subTest(status=status), Collector(status) as collector:
                self.assertIn(f"the server answered {status}", self.post("otlp", collector.url, expect=1))
                self.assertEqual(collector.accepted, [])

    def test_what_no_server_takes_is_refused(self):
        for to, url in (("perfetto", "http://127.0.0.1:1/"), ("csv", "http://127.0.0.1:1/"), ("otlp", "http:///"), ("otlp", "https://a b/")):
            self.post(to, url, expect=2)
        done = harness.run(harness.IOTRAIL, "export", self.trace, "-o", "http://127.0.0.1:1/")
        self.assertEqual(done.returncode, 2)
        self.assertIn("otlp, prometheus", done.stderr)


if __name__ == "__main__":
    harness.main()
