# SPDX-License-Identifier: BSD-3-Clause
"""`iotrail serve` answers only those who know its address, only reads, and no client can hold or end it.
The tests in a browser need Chromium."""
import concurrent.futures
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import time
import unittest
import urllib.parse

import browser
import harness

HOSTILE = "<img src=x onerror=alert(1)>\"'&\x1b[31m\u202e"
HEAD_BYTES, BODY_BYTES = 16 << 10, 64 << 10
FOREVER = "SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b WHERE hash(a.range) = hash(b.range + 1)"


def needs_browser(test):
    return unittest.skipUnless(browser.program(), "needs Chromium: tools/setup --check installs it")(test)


def block_of(html):
    return html.split('<script type="application/json" id="iotrail-data">')[1].split("</script>")[0]


class Served:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([harness.IOTRAIL, "serve", *map(str, arguments)], stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        found = re.fullmatch(r"http://127\.0\.0\.1:(\d+)/([0-9a-f]{32})/", self.address)
        if not found:
            raise AssertionError(self.address + self.process.stderr.read())
        self.port, self.token = int(found[1]), found[2]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.end()
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self, how=signal.SIGINT):
        self.process.send_signal(how)
        return self.process.wait(timeout=60)

    def ask(self, path, method="GET", body=None, **headers):
        """Status, headers and text of the answer. `path` is below the token, or begins with a slash."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=harness.PATIENCE_S)
        try:
            connection.putrequest(method, path if path.startswith("/") else f"/{self.token}/{path}", skip_host="Host" in headers)
            if body is not None:
                headers.setdefault("Content-Length", str(len(body.encode())))
            for name, value in headers.items():
                connection.putheader(name.replace("_", "-"), value)
            connection.endheaders(body.encode() if body is not None else None)
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read().decode()
        finally:
            connection.close()

    def query(self, trace, sql):
        status, _, text = self.ask(f"trace/{trace}/query", "POST", sql)
        return status, json.loads(text)

    def raw(self, data, wait_s=60):
        """What comes back for bytes that are no request."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=wait_s) as connection:
            connection.sendall(data)
            answer = b""
            while more := connection.recv(65536):
                answer += more
        return answer.decode()

    def children(self):
        return harness.children(self.process.pid)


class Serve(harness.AcceptanceTest):
    def trace(self, name="t"):
        return self.recorded_once("sh", "-c", "for i in 1 2 3 4 5; do dd if=/dev/zero of=/dev/null bs=64k count=20; cat /etc/passwd; done",
                                  name=name)

    def test_list_leads_to_pages_with_the_data_of_the_report(self):
        trace = self.trace()
        other = shutil.copytree(trace, self.folder / "other.iotrail")
        page = self.folder / "page.html"
        self.assertEqual(harness.run(harness.IOTRAIL, "report", trace, "--html", page).returncode, 0)
        with Served(trace, other) as served:
            status, headers, text = served.ask("")
            self.assertEqual((status, headers["Content-Type"]), (200, "text/html; charset=utf-8"))
            links = re.findall(r'<a href="([^"]+)">([^<]+)</a>', text)
            self.assertEqual(sorted(links), [("trace/other/", "other"), ("trace/t/", "t")])
            status, headers, html = served.ask("trace/t/")
            self.assertEqual(status, 200)
            self.assertEqual(block_of(html), block_of(page.read_text()))
            self.assertEqual(json.loads(served.ask("trace/t/data")[2]), json.loads(block_of(html)))
            self.assertEqual(json.loads(served.ask("trace/t/pictures")[2]), json.loads(block_of(html))["pictures"])
            self.assertEqual(served.ask("trace/t")[:1] + (served.ask("trace/t")[1]["Location"],), (301, f"/{served.token}/trace/t/"))
            self.assertEqual(served.ask("trace/t/", "HEAD")[2], "")
            if shutil.which("curl"):
                got = harness.run("curl", "-sS", "--data-binary", "SELECT 1 AS one", served.address + "trace/t/query")
                self.assertEqual(json.loads(got.stdout)["rows"], [[1]], got.stderr)

    @harness.long
    def test_a_part_is_that_of_the_report(self):
        trace = harness.Recording(self.trace(), None)
        middle = trace.value("SELECT CAST(duration_ns / 2 AS BIGINT) FROM run")
        report = json.loads(harness.run(harness.IOTRAIL, "report", trace.path, "--json", "--since", f"{middle / 1e9:.9f}s").stdout)
        with Served(trace.path) as served:
            data = json.loads(served.ask(f"trace/t/data?since_ns={middle}")[2])
            layers = next(section for section in data["report"]["sections"] if section["id"] == "layers")
            names = [column["name"] for column in layers["columns"]]
            counts = {row[names.index("layer")]: 0 for row in layers["rows"]}
            for row in layers["rows"]:
                counts[row[names.index("layer")]] += row[names.index("operations")]
            expected = dict.fromkeys(counts, 0)
            for row in report["layers"]:
                expected[row["layer"]] += row["operations"]
            self.assertEqual(counts, expected)
            run_ns = [json.loads(served.ask(f"trace/t/pictures{part}")[2])["run_ns"] for part in ("", f"?since_ns={middle}")]
            self.assertLess(abs(run_ns[0] - 2 * run_ns[1]), 3)
            for bad in ("since_ns=x", "since_ns=-1", "since_ns=2&until_ns=1", "since_ns=99999999999999999999"):
                self.assertEqual(served.ask(f"trace/t/data?{bad}")[0], 400, bad)

    def test_only_the_whole_address_is_answered(self):
        with Served(self.trace()) as served:
            host = f"127.0.0.1:{served.port}"
            wrong = "0" * 32
            for path in ("/", "/favicon.ico", f"/{wrong}/", f"/{served.token[:-1]}/", f"/{served.token}0/", f"//{served.token}/",
                         f"/trace/t/?token={served.token}", f"/{served.token.upper()}x/"):
                status, _, text = served.ask(path)
                self.assertEqual((status, "trace/t" in text), (403, False), path)
            for name in ("evil.example", f"evil.example:{served.port}", "127.0.0.1", "127.0.0.1:1", f"127.0.0.1.evil.example:{served.port}", ""):
                self.assertEqual(served.ask("", Host=name)[0], 403, name)
            self.assertEqual(served.ask("", Host=f"localhost:{served.port}")[0], 200)
            for origin in ("http://evil.example", "null", f"https://{host}"):
                self.assertEqual(served.ask("trace/t/query", "POST", "SELECT 1", Host=host, Origin=origin)[0], 403, origin)
            self.assertEqual(served.ask("trace/t/query", "POST", "SELECT 1", Host=host, Origin=f"http://{host}")[0], 200)
            for method in ("PUT", "DELETE", "OPTIONS", "POST", "TRACE"):
                self.assertEqual(served.ask("trace/t/", method)[0], 405, method)
            headers = served.ask("")[1]
            self.assertIn("default-src 'none'", headers["Content-Security-Policy"])
            self.assertNotIn("unsafe", headers["Content-Security-Policy"])
            self.assertEqual((headers["Referrer-Policy"], headers["Cache-Control"], headers["X-Content-Type-Options"]),
                             ("no-referrer", "no-store", "nosniff"))
            sockets = harness.run("ss", "-Hltn", f"sport = :{served.port}").stdout.split()
            self.assertIn(host, sockets)
            self.assertEqual(len([word for word in sockets if word.endswith(f":{served.port}")]), 1)

    def test_no_path_leads_out(self):
        (self.folder / "secret").write_text("hidden words")
        with Served(self.trace()) as served:
            for name in ("../secret", "..", "%2e%2e", "/etc/passwd", str(self.folder), str(self.folder / "secret"), "t/../t", ".", "t%00"):
                for what in ("", "data", "query?sql=SELECT+1"):
                    status, _, text = served.ask(f"trace/{urllib.parse.quote(name, safe='')}/{what}")
                    self.assertEqual((status, "hidden words" in text), (404, False), name)
            for path in (f"/{served.token}/trace/../../../etc/passwd", f"/{served.token}/..%2f..%2fetc%2fpasswd"):
                self.assertEqual(served.ask(path)[0], 404, path)
            self.assertEqual(served.ask(f"/{served.token}/trace/%00/")[0], 400)
            whole = urllib.parse.quote(str(self.folder / "t.iotrail"), safe="")
            self.assertEqual(served.ask(f"trace/{whole}/data")[0], 200)  # a report names its trace by the path

    @harness.long
    def test_sql_only_reads_and_is_limited(self):
        with Served(self.trace(), "--time-limit", "5m") as served:
            status, answer = served.query("t", "SELECT range AS n, 'x' || range AS name, 9007199254740993 AS large FROM range(5000)")
            self.assertEqual((status, answer["columns"], len(answer["rows"]), answer["truncated"]), (200, ["n", "name", "large"], 1000, True))
            self.assertEqual(answer["rows"][999], [999, "x999", "9007199254740993"])
            self.assertEqual(served.query("t", "FROM range(1000)")[1]["truncated"], False)
            _, long = served.query("t", "SELECT repeat('x', 100000) AS a FROM range(900)")
            self.assertTrue(long["truncated"])
            self.assertLess(len(json.dumps(long)), 2_000_000)
            self.assertEqual(served.query("t", r"SELECT chr(27) || '[31m' AS a")[1]["rows"], [["\\x1b[31m"]])
            before = sorted(path.name for path in self.folder.iterdir())
            for sql in ("", "SELEC 1", "SELECT 1; SELECT 2", "FROM no_table", "COPY (SELECT 1) TO 'x.csv'", "ATTACH 'x.db'", "CREATE TABLE a (b INT)",
                        "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM read_text('/etc/passwd')", "INSTALL httpfs", "SET threads = 1",
                        "FROM '/etc/passwd'", "SELECT getenv('HOME')"):
                status, answer = served.query("t", sql)
                self.assertEqual(status, 400, sql)
                self.assertNotIn("root:", answer["error"])
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)

    def test_a_query_without_end_is_ended(self):
        with Served(self.trace(), "--time-limit", "2s") as served:
            begin = time.monotonic()
            status, answer = served.query("t", FOREVER)
            self.assertIn(status, (400, 504))
            self.assertIn("longer than 2 s", answer["error"])
            self.assertLess(time.monotonic() - begin, 120)
            self.assertEqual(served.query("t", "SELECT 1 AS a")[0], 200)

    def test_requests_are_bounded(self):
        with Served(self.trace()) as served:
            get = f"GET /{served.token}/".encode()
            host = f"Host: 127.0.0.1:{served.port}\r\n".encode()
            self.assertIn(" 431 ", served.raw(get + b"x" * (HEAD_BYTES + 9000)).splitlines()[0])
            self.assertIn(" 431 ", served.raw(get + b" HTTP/1.1\r\n" + b"A: b\r\n" * 5000).splitlines()[0])
            self.assertIn(" 413 ", served.raw(b"POST / HTTP/1.1\r\n" + host + b"Content-Length: %d\r\n\r\n" % (BODY_BYTES + 1)).splitlines()[0])
            self.assertIn(" 411 ", served.raw(b"POST / HTTP/1.1\r\n" + host + b"Transfer-Encoding: chunked\r\n\r\n").splitlines()[0])
            for noise in (b"\0" * 100 + b"\r\n\r\n", b"\x16\x03\x01" + b"\xff" * 300 + b"\r\n\r\n", b"\r\n\r\n", b"GET / HTTP/9\r\n\r\n"):
                self.assertIn(" 400 ", served.raw(noise).splitlines()[0])
            self.assertEqual(served.ask("")[0], 200)

    def test_slow_clients_hold_nobody_up_and_are_let_go(self):
        with Served(self.trace()) as served:
            slow = [socket.create_connection(("127.0.0.1", served.port), timeout=harness.PATIENCE_S) for _ in range(40)]
            for connection in slow:
                connection.sendall(b"GET / HT")
            self.assertEqual(served.ask("")[0], 200)
            begin = time.monotonic()
            dripping, answer = slow[0], b""
            dripping.settimeout(0.2)
            while time.monotonic() < begin + harness.PATIENCE_S:  # a byte now and then does not help
                try:
                    dripping.sendall(b"x")
                    if not (more := dripping.recv(4096)):
                        break
                    answer += more
                except TimeoutError:
                    continue
                except OSError:
                    break
            self.assertIn(b" 408 ", answer)
            harness.wait_for(lambda: not served.children(), "the processes of slow clients end")
            for connection in slow:
                connection.close()

    def test_parallel_queries_are_all_answered(self):
        with Served(self.trace()) as served, concurrent.futures.ThreadPoolExecutor(16) as pool:
            sql = "SELECT count(*) AS n FROM events"
            expected = served.query("t", sql)[1]["rows"]
            answers = list(pool.map(lambda _: served.query("t", sql), range(16)))
            self.assertLessEqual({status for status, _ in answers}, {200, 503})
            self.assertEqual([answer["rows"] for status, answer in answers if status == 200],
                             [expected] * sum(status == 200 for status, _ in answers))
            self.assertGreaterEqual(sum(status == 200 for status, _ in answers), 4)
            harness.wait_for(lambda: not served.children(), "the processes of answered clients end")

    def test_a_client_that_leaves_ends_its_query(self):
        with Served(self.trace(), "--time-limit", "1h") as served:
            connection = http.client.HTTPConnection("127.0.0.1", served.port)
            connection.request("POST", f"/{served.token}/trace/t/query", FOREVER)
            (child,) = harness.wait_for(served.children, "a process works")
            harness.wait_for(lambda: harness.cpu_seconds(child) > 0.2, "the query runs")
            connection.close()
            harness.wait_for(lambda: not served.children(), "the query ends")

    def test_a_signal_ends_it_and_all_that_works(self):
        for how in (signal.SIGINT, signal.SIGTERM):
            with Served(self.trace(), "--time-limit", "1h") as served:
                connection = http.client.HTTPConnection("127.0.0.1", served.port)
                connection.request("POST", f"/{served.token}/trace/t/query", FOREVER)
                (child,) = harness.wait_for(served.children, "a process works")
                self.assertEqual(served.end(how), 0)
                self.assertEqual(harness.run("ps", "-o", "pid=", "-p", child).stdout, "")
                with self.assertRaises(OSError):
                    socket.create_connection(("127.0.0.1", served.port), timeout=5)
                connection.close()

    def test_bad_command_lines_are_refused(self):
        trace = self.trace()
        taken = socket.create_server(("127.0.0.1", 0))
        with taken:
            for arguments, status, text in (([self.folder / "no.iotrail"], 1, "no trace"), ([trace, "--port", "0"], 2, "no port"),
                                            ([trace, "--port", "65536"], 2, "no port"), ([trace, "--port", "x"], 2, "no port"),
                                            ([trace, "--port", taken.getsockname()[1]], 1, "Address already in use")):
                process = harness.run(harness.IOTRAIL, "serve", *arguments)
                self.assertEqual((process.returncode, process.stdout), (status, ""), process.stderr)
                self.assertIn(text, process.stderr)

    def test_a_recording_that_runs_can_be_watched(self):
        path = self.folder / "live.iotrail"
        with subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", path, "--", "sh", "-c", "while :; do cat /etc/passwd; sleep 0.05; done"],
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL) as recorder:
            try:
                harness.wait_until_running(path)
                with Served(self.folder) as served:
                    self.assertIn("RUNNING", served.ask("")[2])
                    seen = lambda: served.query("live", "SELECT count(*) AS n FROM events")[1]["rows"][0][0]
                    first = harness.wait_for(seen, "events are on disk")
                    harness.wait_for(lambda: seen() > first, "more events come")
                    self.assertIn('data-served="running"', served.ask("trace/live/")[2])
            finally:
                recorder.send_signal(signal.SIGINT)

    def trouble_of(self, page, served):
        return [each for each in page.troubles() if not (isinstance(each, str) and each.startswith(served.address))]

    @needs_browser
    @harness.long
    def test_pages_in_a_browser(self):
        shutil.copytree(self.trace(), self.folder / f"{HOSTILE}.iotrail")
        with Served(self.folder) as served, browser.Browser() as page:
            page.look()
            page.visit(served.address)
            self.assertEqual(page.value("[document.images.length, document.scripts.length]"), [0, 0])
            shown = page.value("[...document.querySelectorAll('td a')].map((link) => link.textContent)")
            self.assertEqual(sorted(shown), sorted(["t", HOSTILE.replace("\x1b", "\\x1b").replace("\u202e", "\\xe2\\x80\\xae")]))
            self.assertEqual(self.trouble_of(page, served), [])
            for link in page.value("[...document.querySelectorAll('td a')].map((link) => link.href)"):
                page.visit(link)
                self.assertEqual(page.value("document.images.length"), 0)
                self.assertGreater(page.value("document.querySelectorAll('section').length"), 5)
                page.value("document.querySelector('textarea').value = \"SELECT '<b>' AS a, 42 AS b FROM range(3)\"")
                page.value("document.querySelector('#sql button').click()")
                rows = "[...document.querySelectorAll('#sql-answer tbody tr')].map((row) => row.textContent)"
                harness.wait_for(lambda: page.value(rows), "the answer")
                self.assertEqual(page.value(rows), ["<b>42"] * 3)
                self.assertEqual(self.trouble_of(page, served), [])
            page.value("document.querySelector('textarea').value = 'FROM tops'")
            page.value("document.querySelector('#sql button').click()")
            harness.wait_for(lambda: page.value("document.querySelector('#sql-answer .warning')?.textContent"), "the refusal")

    @harness.long
    @needs_browser
    def test_a_closer_look_has_finer_bins(self):
        with Served(self.trace()) as served, browser.Browser() as page:
            page.look()
            page.visit(served.address + "trace/t/")
            self.assertEqual(page.value("document.querySelector('.served button').disabled"), True)
            page.value("""(() => { const [from, to] = document.querySelectorAll('#time input[type=number]'); const end = Number(to.value);
                to.value = end / 2; to.dispatchEvent(new Event('change')); })()""")
            self.assertEqual(page.value("document.querySelector('.served button').disabled"), False)
            page.events.clear()
            page.value("setTimeout(() => document.querySelector('.served button').click(), 0)")
            page.wait_until_loaded()
            part = page.value("[new URL(location.href).searchParams.get('until_ns'), document.querySelector('.served a:not([hidden])').href, "
                              "JSON.parse(document.getElementById('iotrail-data').textContent).pictures.run_ns]")
            self.assertLess(abs(int(part[0]) - part[2]), 2000)
            self.assertFalse(page.value("[...document.querySelectorAll('.served a')].some((link) => link.hidden)"))
            self.assertEqual(self.trouble_of(page, served), [])


if __name__ == "__main__":
    harness.main()
