# SPDX-License-Identifier: BSD-3-Clause
"""`iotrail mcp` answers an assistant with the words and numbers of the other verbs, and only reads."""
import json
import os
import signal
import subprocess

import harness

FOREVER = "SELECT count(*) FROM range(100000000) AS a, range(100000000) AS b WHERE hash(a.range) = hash(b.range + 1)"


class Client:
    def __init__(self, *arguments):
        self.process = subprocess.Popen([harness.IOTRAIL, "mcp", *map(str, arguments)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.number = 0

    def __enter__(self):
        self.hello = self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo={"name": "test", "version": "1"})
        self.tell("notifications/initialized")
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.status = self.process.wait(timeout=harness.PATIENCE_S)
        self.rest = self.process.stdout.read() + self.process.stderr.read()
        self.process.stdout.close()
        self.process.stderr.close()

    def tell(self, method, **params):
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}) + "\n")
        self.process.stdin.flush()

    def ask(self, method, **params):
        self.number += 1
        self.process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert (answer["jsonrpc"], answer["id"]) == ("2.0", self.number), answer
        return answer["result"]

    def call(self, name, **arguments):
        """The text, and whether it is an error."""
        result = self.ask("tools/call", name=name, arguments=arguments)
        (content,) = result["content"]
        assert content["type"] == "text"
        return content["text"], result["isError"]


class Mcp(harness.AcceptanceTest):
    def trace(self):
        return self.recorded_once("sh", "-c", "for i in 1 2 3 4 5; do dd if=/dev/zero of=/dev/null bs=64k count=20; cat /etc/passwd; done")

    def words_of(self, *arguments):
        process = harness.run(harness.IOTRAIL, *arguments, env=os.environ | {"COLUMNS": "100"})
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout.split()

    def test_a_session_begins_lists_tools_and_ends(self):
        with Client(self.trace()) as client:
            self.assertEqual((client.hello["protocolVersion"], client.hello["serverInfo"]["name"]), ("2025-06-18", "iotrail"))
            tools = client.ask("tools/list")["tools"]
            self.assertEqual([tool["name"] for tool in tools], ["list_traces", "report", "findings", "explain", "query", "schema"])
            for tool in tools:
                self.assertTrue(tool["annotations"]["readOnlyHint"])
                self.assertEqual(tool["inputSchema"]["type"], "object")
            self.assertEqual(client.ask("ping"), {})
        self.assertEqual((client.status, client.rest), (0, ""))

    def test_answers_are_those_of_the_verbs(self):
        trace = self.trace()
        with Client(trace) as client:
            for name in ("t", "t.iotrail", str(trace)):  # a report's hints name it by its path
                self.assertFalse(client.call("schema", trace=name, relation="top_files")[1], name)
            (row,) = json.loads(client.call("list_traces")[0])["traces"]
            self.assertEqual((row["name"], row["state"]), ("t", "COMPLETE"))
            for tool, verb in ((("report", {}), ("report",)), (("findings", {}), ("findings",)), (("explain", {"slowest": 2}), ("explain", "--slowest", 2)),
                               (("schema", {"relation": "top_files"}), ("query", "--describe", "top_files"))):
                text, is_error = client.call(tool[0], trace="t", **tool[1])
                self.assertFalse(is_error, text)
                self.assertEqual(sorted(text.split()), sorted(self.words_of(verb[0], trace, *verb[1:])), tool)
            numbers = json.loads(harness.run(harness.IOTRAIL, "query", trace, "SELECT count(*) AS n FROM events", "--json").stdout)
            answer = json.loads(client.call("query", sql="SELECT count(*) AS n FROM events")[0])
            self.assertEqual((answer["columns"], answer["rows"], answer["truncated"]), (["n"], [[numbers[0]["n"]]], False))

    def test_rows_are_capped_and_it_says_so(self):
        with Client(self.trace()) as client:
            for asked, rows in ((None, 100), (7, 7), (1000, 1000), (10 ** 9, 1000)):
                answer = json.loads(client.call("query", sql="FROM range(5000)", **({"rows": asked} if asked else {}))[0])
                self.assertEqual((len(answer["rows"]), answer["truncated"]), (rows, True))
            text, _ = client.call("query", sql="SELECT repeat('x', 4000) FROM range(900)", rows=1000)
            self.assertLess(len(text), 300_000)
            self.assertTrue(json.loads(text)["truncated"])

    def test_mistakes_are_answered_and_nothing_is_written(self):
        (self.folder / "secret").write_text("hidden content")
        with Client(self.trace()) as client:
            before = sorted(path.name for path in self.folder.iterdir())
            for sql in ("SELEC", "COPY (SELECT 1) TO 'x'", f"SELECT * FROM read_text('{self.folder}/secret')", "CREATE TABLE a (b INT)"):
                text, is_error = client.call("query", sql=sql)
                self.assertTrue(is_error, text)
                self.assertNotIn("hidden content", text)
            for trace in ("../secret", str(self.folder / "other.iotrail"), "no", "t "):
                text, is_error = client.call("report", trace=trace)
                self.assertTrue(is_error)
                self.assertIn("there is no trace", text)
            self.assertTrue(client.call("explain", op="1' OR 1=1 --")[1])
            self.assertEqual(sorted(path.name for path in self.folder.iterdir()), before)
            self.assertFalse(client.call("query", sql="SELECT 1")[1])  # it still answers

    def test_a_query_without_end_is_ended(self):
        with Client(self.trace(), "--time-limit", "2s") as client:
            text, is_error = client.call("query", sql=FOREVER)
            self.assertTrue(is_error)
            self.assertIn("longer than 2 s", text)
            self.assertEqual(client.ask("ping"), {})

    def test_output_that_cannot_be_written_ends_it(self):
        with open("/dev/full", "w") as full:
            process = subprocess.run([harness.IOTRAIL, "mcp", self.trace()], input='{"id":1,"method":"ping"}\n', stdout=full,
                                     stderr=subprocess.PIPE, text=True, check=False, timeout=harness.PATIENCE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("iotrail: cannot write the output: No space left on device (ENOSPC)", process.stderr)

    def test_end_of_the_client_ends_a_query(self):
        with subprocess.Popen([harness.IOTRAIL, "mcp", self.trace(), "--time-limit", "1h"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                                            "params": {"name": "query", "arguments": {"sql": FOREVER}}}).encode() + b"\n")
            process.stdin.flush()
            (child,) = harness.wait_for(lambda: harness.children(process.pid), "a process works")
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(timeout=harness.PATIENCE_S), -signal.SIGINT)
            harness.wait_for(lambda: not harness.run("ps", "-o", "pid=", "-p", child).stdout, "the query ends")


if __name__ == "__main__":
    harness.main()
