# SPDX-License-Identifier: BSD-3-Clause
"""iotrc sends its tree to a server that fails now and then: nothing is lost, and what is there is not sent again."""
import http.server
import os
import pathlib
import re
import sys
import threading
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness


class Server(http.server.ThreadingHTTPServer):
    """Keeps what PUT brings. `fails` decides on each request, by its number: a status, "drop", or nothing."""
    daemon_threads = True

    def __init__(self, fails=lambda number, path: None):
        self.files, self.puts, self.fails, self.requests, self.lock = {}, [], fails, 0, threading.Lock()
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_address[1]}"
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def __exit__(self, *_):
        self.shutdown()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.requests += 1
            failure = self.server.fails(self.server.requests, self.path)
            if failure is None:
                self.server.files[self.path] = body
                self.server.puts.append(self.path)
        if failure == "drop":
            self.close_connection = True
            self.connection.close()
            return
        self.send_response(failure or 200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


class Upload(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.require_program("curl")
        self.out = self.folder / "out"
        self.out.mkdir()
        traces = self.folder / "traces"
        traces.mkdir()
        self.environment = os.environ | {"IOTRAIL_REPOSITORY": str(traces)}

    def iotrc(self, *words, expect=0):
        done = harness.run(harness.IOTRAIL, "as", "iotrc", "-o", self.out, *words, env=self.environment)
        self.assertEqual(done.returncode, expect, done.stderr)
        return done.stderr

    def trace(self, *words, expect=0):
        # Few rows a file make several files.
        return self.iotrc("--no-snapshots", "--part-rows", "20", *words, "--", "ls", "/", expect=expect)

    def tree(self):
        (session,) = (path for path in self.out.glob("linux_v1/*/*") if path.is_dir())
        return session, {"/" + urllib.parse.quote(str(path.relative_to(self.out))): path.read_bytes()
                         for path in session.rglob("*") if path.is_file()}

    def resume(self, *words, expect=0):
        return self.iotrc("--resume-upload", self.tree()[0], *words, expect=expect)

    def test_a_server_that_fails_now_and_then_gets_all(self):
        fails = {2: 503, 4: "drop", 5: 500}
        with Server(lambda number, _: fails.get(number)) as server:
            said = self.trace("--upload", server.url + "/bucket/")
            _, files = self.tree()
            self.assertGreater(len(files), 3)
            self.assertEqual(server.files, {"/bucket" + path: body for path, body in files.items()})
            self.assertEqual(len(server.puts), len(files))
            self.assertIn(f"{len(files)} files uploaded to {server.url}/bucket/", said)
            self.assertIn("iotrc: 0 files uploaded", self.resume("--upload", server.url + "/bucket/"))

    def test_a_second_call_completes_the_first(self):
        with Server(lambda number, _: 403 if number == 3 else None) as server:
            said = self.trace("--upload", server.url + "/b?sig=SECRET", expect=1)
            self.assertIn("403", said)
            self.assertNotIn("SECRET", said)
            self.assertIn("Nothing is lost: `iotrc --resume-upload", said)
            _, files = self.tree()
            self.assertEqual(len(server.files), 2)
            self.assertIn(f"{len(files) - 2} files", self.resume("--upload", server.url + "/b?sig=SECRET"))
            self.assertEqual(server.files, {f"/b{path}?sig=SECRET": body for path, body in files.items()})
            self.assertEqual(len(server.puts), len(files))

    def test_a_server_that_is_down_loses_nothing(self):
        with Server() as server:
            down = server.url
        said = self.trace("--upload", down, "--upload-retries", "0", expect=1)
        self.assertRegex(said, r"cannot send .* to http://127.*[Cc]onnect")
        with Server() as server:
            self.resume("--upload", server.url)
            self.assertEqual(server.files, self.tree()[1])

    def test_each_target_gets_all(self):
        urls = self.folder / "urls"
        with Server() as first, Server() as second:
            self.trace("--upload", first.url)
            _, files = self.tree()
            self.assertIn(f"{len(files)} files", self.resume("--upload", second.url))
            self.assertEqual((first.files, second.files), (files, files))
            numbers = [f"/n{number}" for number in range(len(files))]
            urls.write_text("".join(f"{second.url}{number}\n" for number in numbers))
            self.resume("--upload-urls", urls)
            self.assertEqual(second.puts[len(files):], numbers)
            self.assertIn("iotrc: 0 files uploaded", self.resume("--upload", first.url + "/"))

    def test_a_torn_line_of_the_list_does_not_count(self):
        with Server() as server:
            self.trace("--upload", server.url)
            uploaded = pathlib.Path(f"{self.tree()[0]}.uploaded")
            text = uploaded.read_text()
            uploaded.write_text(text[:-3])
            self.assertIn("iotrc: 1 files uploaded", self.resume("--upload", server.url))
            self.assertEqual(uploaded.read_text(), text)

    def test_links_stay_where_they_are(self):
        self.trace()
        session, files = self.tree()
        (self.folder / "secret").write_text("secret")
        (session / "outside").symlink_to(self.folder / "secret")
        (session / "loop").symlink_to("loop")
        (session / "folder").symlink_to(self.folder)
        with Server() as server:
            self.iotrc("--resume-upload", session, "--upload", server.url)
            self.assertEqual(server.files, files)

    def test_each_file_gets_an_address_of_the_list(self):
        urls = self.folder / "urls"
        with Server() as server:
            urls.write_text(f"{server.url}/1?key=a\n\n{server.url}/2?key=b\n")
            said = self.trace("--upload-urls", urls, expect=1)
            self.assertRegex(said, r"urls has 2 addresses, and the tree \d+ files")
            self.assertNotIn("key=", said)
            _, files = self.tree()
            urls.write_text("".join(f"{server.url}/{n}?key\n" for n in range(1, 100)))
            self.resume("--upload-urls", urls)
            self.assertEqual(len(server.puts), len(files))
            self.assertEqual(sorted(server.files.values()), sorted(files.values()))
            self.assertEqual([re.match(r"/(\d+)", path)[1] for path in server.puts], [str(n) for n in range(1, len(files) + 1)])

    def test_what_cannot_be_a_target_is_refused_before_the_command(self):
        empty, wrong, fifo = self.folder / "empty", self.folder / "wrong", self.folder / "fifo"
        no_file, no_path = self.folder / "no_file", self.folder / "no_path"
        os.mkfifo(fifo)
        no_file.write_text("http://127.0.0.1/a/?key\n")
        no_path.write_text("http://127.0.0.1?key\n")
        empty.write_text("\n")
        wrong.write_text("http://127.0.0.1/a\n\x1b[31m\n")
        for words in (("--upload", "ftp://127.0.0.1/"), ("--upload", "http:///x"), ("--upload", "http://127.0.0.1/a b"),
                      ("--upload", "http://127.0.0.1/\"\n"), ("--upload-urls", self.folder / "no"), ("--upload-urls", empty),
                      ("--upload-urls", wrong), ("--upload-urls", empty, "--upload", self.folder), ("--upload-urls", fifo),
                      ("--upload-urls", no_file), ("--upload-urls", no_path), ("--upload-urls", self.folder), ("--upload-retries", "-1")):
            with self.subTest(words=words):
                done = harness.run(harness.IOTRAIL, "as", "iotrc", "-o", self.out, *words, "--", "touch", self.folder / "ran",
                                   env=self.environment)
                self.assertIn(done.returncode, (1, 2))
                self.assertRegex(done.stderr, r"^iotrc: .")
                self.assertNotIn("\x1b", done.stderr)
        self.assertFalse((self.folder / "ran").exists())

    def test_a_resume_needs_a_tree_and_a_target_and_no_command(self):
        for words in (("--resume-upload", self.folder), ("--resume-upload", self.folder, "--upload", self.folder)):
            self.assertRegex(self.iotrc(*words, expect=2), r"^iotrc: .")
        said = self.iotrc("--resume-upload", self.folder, "--upload", self.folder, "--", "touch", self.folder / "ran", expect=2)
        self.assertIn("--resume-upload traces no command", said)
        self.assertFalse((self.folder / "ran").exists())


if __name__ == "__main__":
    harness.main()
