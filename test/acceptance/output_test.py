# SPDX-License-Identifier: BSD-3-Clause
"""Files and messages that reading verbs leave behind when their output is full or they are killed."""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

import harness


class Output(harness.AcceptanceTest):
    def small_disk(self):
        disk = self.folder / "disk"
        disk.mkdir()
        if harness.run("mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk).returncode:
            self.skipTest("needs root to mount a tmpfs")
        self.addCleanup(harness.run, "umount", disk)
        return disk

    def test_output_that_does_not_fit_is_named_and_not_left_behind(self):
        path = self.record("ls", "-R", "/usr/include/linux", name="long").path
        disk = self.small_disk()
        for words, named in ((("export", path, "--to", "csv", "-o", disk / "all"), f"{disk}/all/"),
                             (("export", path, "--to", "jsonl", "-o", disk / "one"), f"{disk}/one"),
                             (("query", path, "FROM range(100000)", "-o", disk / "rows"), f"{disk}/rows"),
                             (("query", path, "FROM range(100000)", "-o", disk / "rows.arrow"), f"{disk}/rows.arrow")):
            with self.subTest(words=words[0]):
                process = harness.run(harness.IOTRAIL, *words)
                self.assertEqual(process.returncode, 1)
                self.assertIn(f"cannot write {named}", process.stderr)
                self.assertIn("ENOSPC", process.stderr)
                self.assertEqual(list(disk.iterdir()), [])

    def test_a_file_gets_the_format_that_its_name_ends_with(self):
        path = self.record("true", name="short", options=("--layers", "app")).path
        for name, content in (("a.csv", "n\n1\n"), ("a.json", [{"n": 1}]), ("a.txt", "n\n-\n1\n")):
            self.assertEqual(harness.run(harness.IOTRAIL, "query", path, "SELECT 1 AS n", "-o", self.folder / name).returncode, 0)
            text = (self.folder / name).read_text()
            self.assertEqual(text if isinstance(content, str) else json.loads(text), content)
            self.assertEqual((self.folder / name).stat().st_mode & 0o777, 0o640 & ~harness.umask(), "it tells what others do")

    def test_a_wrong_format_is_answered_with_all_that_there_are(self):
        path = self.record("true", name="short", options=("--layers", "app")).path
        refused = harness.run(harness.IOTRAIL, "export", path, "--to", "xml")
        source = pathlib.Path(__file__).parents[2] / "src/export"
        rows = sorted(file.stem for file in (source / "formats").glob("*.cpp"))
        others = [re.search(r'\.name = "(.*?)"', file.read_text())[1] for file in (source / "traces").glob("*.cpp")]
        self.assertEqual(refused.stderr, f"iotrail: there is no format 'xml': the formats are {', '.join(sorted(rows + others))}\n")
        names = ", ".join(rows)
        self.assertEqual(refused.returncode, 2)
        for file, suffix in (("rows.xyz", ".xyz"), ("rows.tar.gz", ".gz")):
            refused = harness.run(harness.IOTRAIL, "query", path, "SELECT 1", "-o", file)
            self.assertIn(f"iotrail: -o {file}: no format has the suffix '{suffix}': the suffixes are {names}, arrow, parquet, txt\n", refused.stderr)
            self.assertEqual(refused.returncode, 2)

    def test_a_file_of_parquet_has_the_rows(self):
        path = self.record("true", name="short", options=("--layers", "app")).path
        file = self.folder / "rows.parquet"
        written = harness.run(harness.IOTRAIL, "query", path, "SELECT range AS n FROM range(5000)", "-o", file)
        self.assertEqual(written.returncode, 0, written.stderr)
        self.assertEqual(file.read_bytes()[:4], b"PAR1")
        self.assertEqual(file.stat().st_mode & 0o777, 0o640 & ~harness.umask())
        read = harness.run(harness.IOTRAIL, "query", path, f"SELECT count(*), sum(n) FROM '{file}'", "--unsafe-external-access", "--format", "csv")
        self.assertEqual(read.stdout.splitlines()[1], "5000,12497500")
        again = harness.run(harness.IOTRAIL, "query", path, "SELECT 1", "-o", file)
        self.assertIn("nothing is written over", again.stderr)
        refused = harness.run(harness.IOTRAIL, "query", path, "SELECT nosuch", "-o", self.folder / "other.parquet")
        self.assertEqual(refused.returncode, 1)
        self.assertFalse((self.folder / "other.parquet").exists())

    def test_a_name_in_a_hint_is_one_word_for_a_shell(self):
        for name in ("$(touch pwned) it's", "a\x1b[1mb\u200b'\\c"):
            with self.subTest(name=name):
                recording = self.record("true", name=name, options=("--layers", "app"))
                hint = next(line for line in recording.process.stderr.splitlines() if "iotrail report" in line)
                shown = harness.run("bash", "-c", f"exec {harness.IOTRAIL} report{hint.partition('iotrail report')[2]}", cwd=self.folder)
                self.assertEqual(shown.returncode, 0, shown.stderr)
                self.assertIn("events, none lost", shown.stdout)
                self.assertFalse((self.folder / "pwned").exists())

    def test_the_width_of_the_environment_holds_in_a_pipe(self):
        path = self.record("true", name="short", options=("--layers", "app")).path
        widest = []
        for columns in ("40", "200"):
            shown = harness.run(harness.IOTRAIL, "report", "--full", path, env=dict(os.environ, COLUMNS=columns))
            widest.append(max(map(len, shown.stdout.splitlines())))
        self.assertLess(widest[0], 80)
        self.assertGreater(widest[1], 80)

    @harness.long
    def test_little_memory_is_said_and_is_no_damage(self):
        path = self.record("ls", "-R", "/usr/include/linux", name="long").path
        for megabytes in (50, 80, 100, 120, 150, 200, 300):
            for words in (("report", path), ("query", path, "FROM events"), ("findings", path)):
                with self.subTest(megabytes=megabytes, verb=words[0]):
                    process = harness.run("prlimit", f"--as={megabytes << 20}", harness.IOTRAIL, *words)
                    self.assertIn(process.returncode, (0, 1), process.stderr)
                    self.assertNotIn("DAMAGED", process.stdout + process.stderr)
                    self.assertNotIn("terminate", process.stderr)
                    if process.returncode:
                        self.assertIn("memory", process.stderr.lower())

    def test_what_a_killed_query_leaves_the_next_one_removes(self):
        path = self.record("true", name="good").path
        temporary = self.folder / "tmp"
        temporary.mkdir()
        environment = dict(os.environ, TMPDIR=str(temporary))
        query = subprocess.Popen([harness.IOTRAIL, "query", path, "SELECT sum(a.range * b.range) FROM range(1000000) AS a, range(1000000) AS b"],
                                 env=environment, stdout=subprocess.DEVNULL)
        harness.wait_for(lambda: list(temporary.iterdir()), "a directory for what does not fit into memory")
        query.kill()
        query.wait()
        (left,) = temporary.iterdir()
        (left / "data.tmp").write_text("x")
        self.assertEqual(harness.run(harness.IOTRAIL, "query", path, "SELECT 1", env=environment).returncode, 0)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_query_that_a_signal_ends_leaves_nothing_behind(self):
        path = self.record("true", name="good").path
        temporary = self.folder / "tmp"
        temporary.mkdir()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                query = subprocess.Popen([harness.IOTRAIL, "query", path, "SELECT sum(a.range * b.range) FROM range(1000000) AS a, range(1000000) AS b"],
                                         env=dict(os.environ, TMPDIR=str(temporary)), stdout=subprocess.DEVNULL)
                harness.wait_for(lambda: list(temporary.iterdir()), "the query's directory")
                query.send_signal(number)
                self.assertEqual(query.wait(timeout=harness.PATIENCE_S), -number)
                self.assertEqual(list(temporary.iterdir()), [])
        reader = subprocess.Popen([harness.IOTRAIL, "query", path, "FROM range(10000000)"], env=dict(os.environ, TMPDIR=str(temporary)),
                                  stdout=subprocess.PIPE)
        reader.stdout.close()
        self.assertEqual(reader.wait(timeout=harness.PATIENCE_S), -signal.SIGPIPE)
        self.assertEqual(list(temporary.iterdir()), [])

    @harness.long
    def test_a_signal_removes_incomplete_output(self):
        path = self.record("sh", "-c", "for n in $(seq 300); do /bin/true; done", name="long").path
        for words, made in ((["query", path, "FROM range(1000000000)"], "rows.csv"), (["export", path, "--to", "csv"], "tables"),
                            (["export", path, "--to", "jsonl"], "all.jsonl")):
            with self.subTest(made=made):
                file, whole = self.folder / made, self.folder / f"whole {made}"
                if words[0] == "export":
                    self.assertEqual(harness.run(harness.IOTRAIL, *words, "-o", whole).returncode, 0)
                writer = subprocess.Popen([harness.IOTRAIL, *words, "-o", file], stderr=subprocess.PIPE, text=True)
                while not file.exists() and writer.poll() is None:
                    time.sleep(0.001)
                writer.send_signal(signal.SIGTERM)
                status = writer.wait(timeout=harness.PATIENCE_S)  # 0: it had finished already
                self.assertIn(status, (-signal.SIGTERM, 0), writer.communicate()[1])
                if file.exists():  # the signal came when it was whole
                    self.assertEqual(harness.run("diff", "-r", file, whole).stdout, "")
                else:
                    self.assertEqual(status, -signal.SIGTERM)

    def test_files_that_may_not_grow(self):
        path = self.record("true", name="good").path
        for words in (["query", path, "FROM all_events, range(1000)", "-o", self.folder / "rows.csv"],
                      ["export", path, "--to", "jsonl", "-o", self.folder / "all.jsonl"]):
            process = harness.run("sh", "-c", 'ulimit -f 1; exec "$@"', "sh", harness.IOTRAIL, *words)
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertIn("EFBIG", process.stderr)
            self.assertFalse(words[-1].exists())

    def test_the_status_is_the_commands_if_no_process_reads_the_summary(self):
        for number, redirection in enumerate(("2>/dev/full", "2>&-", "<&- >&- 2>&-")):
            trace = self.folder / f"unheard{number}"
            process = harness.run("sh", "-c", f'"$@" {redirection}', "sh", harness.IOTRAIL, "record", "-o", trace, "--", "sh", "-c", "exit 3")
            self.assertEqual(process.returncode, 3, redirection)
            recorded = harness.run(harness.IOTRAIL, "info", "--json", f"{trace}.iotrail")
            self.assertEqual(recorded.returncode, 0, recorded.stderr)
        gone = subprocess.Popen([harness.IOTRAIL, "record", "-o", self.folder / "gone", "--", "sh", "-c", "sleep 0.5; exit 3"],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        gone.stderr.close()
        self.assertEqual(gone.wait(timeout=harness.PATIENCE_S), 3)

    @harness.in_both
    def test_output_that_cannot_be_written_is_an_error_of_every_verb(self):
        path = self.record("true", name="good").path
        of_trace = {"report": (), "findings": (), "explain": (), "verify": (), "script": (), "info": (),
                    "query": ("SELECT 1",), "export": ("--to", "jsonl")}
        words = [("--help",), ("doctor",), ("schema",), ("list", self.folder), ("serve", path), ("diff", path, path), ("cache", path),
                 ("profile", path), ("replay", path, "--into", self.folder / "again"), ("as", "iotrace", "--version"),
                 *((verb, path, *more) for verb, more in of_trace.items())]
        more = [("--version",), ("query", path, "--tables"), ("report", path, "--by", "file"), ("export", path, "--to", "csv", "--table", "files"),
                *((verb, path, "--json") for verb in ("report", "findings", "explain", "verify", "info")),
                ("doctor", "--json"), ("list", self.folder, "--json"), ("schema", "--json"), ("record", "--help")]
        verbs = re.findall(r"^  ([a-z]+) ", harness.run(harness.IOTRAIL, "--help").stdout, re.MULTILINE)
        silent = {"record", "run", "mount", "import", "stat", "snapshot", "tag", "remove", "mcp", "anonymize", "watch"}  # write to standard error, or nothing unless asked
        self.assertEqual(set(verbs) - silent, {each[0] for each in words if each[0] in verbs} - silent)
        for each in harness.first(len(words), words + more):
            with self.subTest(words=each), open("/dev/full", "w") as full:
                process = subprocess.run([str(word) for word in (harness.IOTRAIL, *each)], stdout=full,
                                         stderr=subprocess.PIPE, text=True, check=False)
                self.assertEqual(process.returncode, 1, process.stderr)
                self.assertIn("cannot write the output: No space left on device (ENOSPC)", process.stderr)  # iotrace says its own name

    def test_list_has_the_whole_reason_why_a_trace_cannot_be_read(self):
        path = self.record("true", name="good").path
        manifest = json.loads((path / "manifest.json").read_text())
        manifest["format_version"] = 99
        (path / "manifest.json").write_text(json.dumps(manifest))
        shown = harness.run(harness.IOTRAIL, "list", self.folder).stdout
        self.assertIn("UNREADABLE", shown)
        self.assertIn("this iotrail reads versions up to", " ".join(shown.split()))
        self.assertIn(f"iotrail info {path}", shown)

    def test_calls_that_failed_are_on_the_first_page(self):
        program = ("import os, resource, sys\n"
                   "resource.setrlimit(resource.RLIMIT_FSIZE, (10 << 20, 10 << 20))\n"
                   "file = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT)\n"
                   "for _ in range(1000):\n"
                   "    try:\n"
                   "        os.write(file, bytes(1 << 20))\n"
                   "    except OSError:\n"
                   "        pass\n")
        recording = self.record(sys.executable, "-c", program, self.folder / "limited", options=("--layers", "syscall"), name="limited")
        self.require(recording, "syscall")
        report = harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout
        first_page = report[:report.index("How large")]  # the failures follow
        time_spent, files = first_page[first_page.index("Where the time"):].split("Files, by bytes")
        self.assertRegex(time_spent, "operation .* errors")
        self.assertRegex(harness.run(harness.IOTRAIL, "report", recording.path, "--by", "operation", "--top", "50").stdout,
                         r"write +1,\d\d\d .* 990\b")
        self.assertRegex(files.split("Processes, by")[0], "written.* errors")
        self.assertRegex(report, r"Calls that failed\n.*\n(?:.+\n)*.* write +EFBIG +990 .*limited")

    def test_the_machine_is_not_blamed_for_a_filter(self):
        target = self.folder / "named"
        target.write_text("x")
        recording = self.record("sh", "-c", f"echo y > {target}", options=("--file", target), name="named", expect=None)
        if recording.process.returncode:
            self.skipTest("needs the kernel source")
        report = harness.run(harness.IOTRAIL, "report", "--full", recording.path).stdout
        for shown in (recording.process.stderr, report):
            words = " ".join(shown.split())
            left_out = words[words.index("left out, since it does not go with what was to be recorded"):]
            for what in (f"(--file {target})", "layer app", "layer sched", "block I/O for no file"):
                self.assertIn(what, left_out)
            self.assertNotRegex(words, "not recorded: [^;]*layer (app|sched)")

    @harness.long
    def test_a_time_limit_ends_a_single_function(self):
        """The engine looks for the end between its steps. This step would take hours."""
        path = self.record("true", name="small").path
        temporary = self.folder / "temporary"
        temporary.mkdir()
        slow = "SELECT levenshtein(repeat('a', 4000000), repeat('b', 4000000))"
        for more in ((), *(("-o", self.folder / f"rows.{form}") for form in ("csv", "parquet", "arrow"))):
            with self.subTest(more=more):
                process = harness.run(harness.IOTRAIL, "query", path, slow, "--time-limit", "10ms", *more,
                                      env={**os.environ, "TMPDIR": str(temporary)})
                self.assertEqual((process.returncode, process.stdout), (1, ""))
                self.assertIn("the query was ended: it took longer than 0.01 s", process.stderr)
        self.assertEqual(list(self.folder.glob("rows.*")), [])
        self.assertEqual(list(temporary.iterdir()), [])

    def test_an_output_that_cannot_be_made_fails_before_the_work(self):
        """The first look at this trace says that it cannot be read."""
        taken = self.folder / "taken.html"
        taken.write_text("mine")
        for path, why in ((taken, "EEXIST"), (self.folder / "none" / "page.html", "ENOENT")):
            for words in (("report", "no-such-trace", "--html"), ("query", "no-such-trace", "SELECT 1", "--format", "csv", "-o")):
                with self.subTest(path=path.name, verb=words[0]):
                    process = harness.run(harness.IOTRAIL, *words, path)
                    self.assertEqual(process.returncode, 1)
                    self.assertIn(f"cannot write {path}", process.stderr)
                    self.assertIn(why, process.stderr)
        self.assertEqual(taken.read_text(), "mine")

    def test_a_time_limit_is_not_said_to_wait(self):
        sleeper = subprocess.Popen(["sleep", "1000"])
        self.addCleanup(sleeper.wait)
        self.addCleanup(sleeper.kill)
        process = harness.run(harness.IOTRAIL, "record", "-o", self.folder / "p.iotrail", "-p", sleeper.pid, "--time", "1s")
        if process.returncode:
            self.skipTest("needs the kernel source")
        self.assertIn("1 process, no longer recorded", process.stderr)
        self.assertNotIn("--follow", process.stderr)


if __name__ == "__main__":
    harness.main()
