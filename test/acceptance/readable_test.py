# SPDX-License-Identifier: BSD-3-Clause
"""All output fits 80 columns. The first screen of a report says where a program's time and bytes
went."""
import json
import os
import pathlib
import re
import sqlite3

import harness

WIDTH, HEIGHT = 80, 40
INSERTS = 300
SOURCE_TREE = pathlib.Path(__file__).resolve().parent.parent.parent


class Readable(harness.AcceptanceTest):
    def printed(self, *arguments):
        process = harness.run(harness.IOTRAIL, *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    def assert_fits(self, text):
        # A path is one word, which a user copies as a whole.
        self.assertEqual([line for line in text.splitlines() if len(line) > WIDTH and len(line.split()) > 2
                          and not line.strip().startswith("iotrail ")], [])  # a command to copy is one line

    def first_screen(self, trace):
        text = self.printed("report", trace)
        self.assert_fits(text)
        self.assertLessEqual(len(text.splitlines()), HEIGHT, text)
        return text.splitlines()

    def first_page(self, trace):
        text = self.printed("report", "--full", trace)
        self.assert_fits(text)
        return text.splitlines()[:HEIGHT]

    def row(self, lines, name):
        found = [line for line in lines if re.search(rf"(^|\s){re.escape(name)}(\s|$)", line)]
        self.assertTrue(found, f"{name} is not in\n" + "\n".join(lines))
        return found[0]

    def sqlite_import(self):
        """Each insert is a transaction: its journal is created, synced and removed."""
        self.require_program("sqlite3")
        script = self.folder / "import.sql"
        script.write_text("CREATE TABLE t(i, v);\n" + "".join(f"INSERT INTO t VALUES({i}, {i * i});\n"
                                                               for i in range(INSERTS)))
        database = self.folder / "shop.db"
        recording = self.record("sqlite3", database, f".read {script}")
        with sqlite3.connect(database) as connection:
            self.assertEqual(connection.execute("SELECT count(*) FROM t").fetchone(), (INSERTS,))
        self.require(recording, "syscall", "block")
        return recording, database

    def discarded_bytes(self, device):
        return 512 * int(pathlib.Path("/sys/block", pathlib.Path(device).name, "stat").read_text().split()[13])

    def test_discards_that_no_call_waits_for(self):
        """A journal's thread makes them when the commit with the removed files has ended."""
        device, point = self.make_disk("ext4", 128 << 20)
        self.assertEqual(harness.run("mount", "-o", "remount,discard", point).returncode, 0)
        (point / "large").write_bytes(bytes(16 << 20))
        harness.run("sync", "-f", point)
        before = self.discarded_bytes(device)
        stat = f"/sys/block/{pathlib.Path(device).name}/stat"
        removes = f'rm "$1/large"; sync -f "$1"; until [ "$(awk \'{{ print $14 }}\' {stat})" -ge {(before + (16 << 20)) // 512} ]; do sleep 0.1; done'
        recording = self.record("sh", "-c", removes, "sh", point)
        self.require(recording, "syscall", "block")
        screen = " ".join(" ".join(self.first_screen(recording.path)).split())
        self.assertRegex(screen, rf"Not in the trace, for others or by the file system itself:.* {pathlib.Path(device).name} discarded (1[6-9]|2\d)\.\d MiB")

    def test_an_import_into_sqlite(self):
        recording, database = self.sqlite_import()
        with self.subTest("the first screen explains it"):
            self.check_first_screen(recording)
        with self.subTest("one row a path adds up"):
            self.check_sums(recording, database)

    def check_first_screen(self, recording):
        lines = self.first_screen(recording.path)
        verdict = " ".join(lines[1:6])
        self.assertRegex(verdict, "SLOW")
        # Which call and which file took most depends on what else the machine does.
        self.assertIn(recording.value("SELECT call FROM file_call_totals ORDER BY total_ns DESC LIMIT 1"), verdict)
        first = next(line for line in lines if line.startswith("  fdatasync "))
        calls, total = recording.value("SELECT count(*) AS n FROM syscall_sync WHERE call = 'fdatasync'"), \
            int(recording.value("SELECT sum(duration_ns) AS n FROM syscall_sync WHERE call = 'fdatasync'"))
        self.assertIn(f" {int(calls):,} ", first)
        share = 100 * total / int(recording.value("SELECT duration_ns FROM run"))
        self.assertAlmostEqual(float(re.search(r"([\d.]+) %", first).group(1)), share, delta=0.1)
        path = recording.value("SELECT path FROM syscall_sync JOIN files USING (file) WHERE call = 'fdatasync' "
                               "GROUP BY path ORDER BY sum(duration_ns) DESC LIMIT 1")
        self.assertTrue(first.endswith(path[-7:]), first)
        self.assertTrue(any(line.startswith("  F03: sqlite3 synced") for line in lines), "\n".join(lines))
        self.row(lines, "sqlite3")
        journal = next(line for line in self.first_page(recording.path) if line.endswith("-journal (deleted)"))
        self.assertIn(str(INSERTS + 1), journal)  # inodes; one more for the table

    def check_sums(self, recording, database):
        (sums,) = recording.query(
            "SELECT (SELECT sum(operations) FROM top_files) AS files, (SELECT sum(operations) FROM top_processes) AS processes,"
            " (SELECT sum(operations) FROM layers WHERE layer = 'syscall') AS layer,"
            " (SELECT sum(device_bytes_written) FROM top_files) AS file_bytes,"
            " (SELECT sum(device_bytes_written) FROM top_processes) AS process_bytes,"
            " (SELECT sum(bytes) FROM block_complete WHERE flags & 255 = 1) AS device_bytes")
        self.assertEqual(sums["files"], sums["layer"])
        self.assertEqual(sums["processes"], sums["layer"])
        self.assertEqual(sums["file_bytes"], sums["device_bytes"])
        self.assertEqual(sums["process_bytes"], sums["device_bytes"])
        paths = recording.query(f"SELECT path, inodes FROM top_files WHERE path LIKE '{database}%' ORDER BY path")
        self.assertEqual([row["path"] for row in paths if row["inodes"]], [str(database), f"{database}-journal"])

    def test_first_screen_explains_a_copy(self):
        recording = self.record("cp", "-r", SOURCE_TREE / "src", self.folder / "copy")
        self.require(recording, "syscall")
        lines = self.first_page(recording.path)
        (most,) = recording.query("SELECT operation FROM time_spent WHERE layer = 'syscall' AND on_files "
                                  "ORDER BY busy_ns DESC LIMIT 1")
        self.row(lines, most["operation"])
        self.assertTrue(any(re.search(r"\d of [\d,]+ files", line) for line in lines))
        self.row(lines, "cp")

    def test_renamed_file_has_the_name_of_the_time_also_from_a_relative_path(self):
        script = 'cd "$1" && echo text > new.tmp && mv new.tmp kept && mv kept last'
        recording = self.record("sh", "-c", script, "sh", self.folder, options=("--layers", "syscall"))
        self.require(recording, "syscall")
        names = [row["path"] for row in recording.query(
            f"SELECT path FROM top_files WHERE inodes > 0 AND bytes_written > 0 AND path LIKE '{self.folder}/%'")]
        self.assertEqual(names, [f"{self.folder}/new.tmp"])

    def test_everything_else_fits_too(self):
        long_name = "a-name-of-a-trace-that-is-longer-than-half-of-a-terminal-is-wide"
        recording = self.record("sh", "-c", "true " + "argument " * 60, name=long_name)
        for arguments in (("doctor",), ("list", self.folder), ("info", recording.path), ("query", recording.path, "--tables"),
                          ("query", recording.path, "--describe", "top_files"),
                          ("report", recording.path, "--by", "process")):
            with self.subTest(arguments=arguments):
                self.assert_fits(self.printed(*arguments))
        self.assertIn(" ".join(["argument"] * 60), self.printed("info", recording.path, "--wide"))

    def test_help_fits(self):
        verbs = re.findall(r"^  ([a-z]+) ", self.printed("--help"), re.MULTILINE)
        self.assertIn("record", verbs)
        for words in ([], *([verb] for verb in verbs)):
            text = self.printed(*words, "--help")
            self.assertEqual([line for line in text.splitlines() if len(line) > WIDTH], [], words)

    def test_summary_of_a_recording_fits(self):
        source = self.folder / "v.c"
        source.write_text("#include <unistd.h>\nint main(void) { for (int i = 0; i < 400000; i++) close(-1); return 0; }\n")
        self.require_program("gcc")
        self.assertEqual(harness.run("gcc", "-o", self.folder / "v", source).returncode, 0)
        recording = self.record(self.folder / "v", options=("--buffer", "64k"))
        self.assert_fits(recording.process.stderr.replace(str(recording.path), "t.iotrail"))

    def test_list_tells_the_command_in_80_columns(self):
        self.record("sh", "-c", "true", name="a-name-of-a-trace-as-long-as-they-are-made-20260101-000000", options=("--layers", "app"))
        printed = self.printed("list", self.folder)
        self.assert_fits(printed)
        self.assertIn("sh -c true", printed)

    def test_cache_alone_names_its_tables(self):
        recording = self.record("dd", "if=/dev/zero", f"of={self.folder}/f", "bs=4k", "count=100", options=("-l", "cache"))
        self.require(recording, "cache")
        lines = self.printed("report", recording.path, "--by", "file").splitlines()
        self.assertTrue(lines[1].endswith("file"), lines)
        end = len(lines[1])
        self.assertEqual([line for line in lines[2:] if len(line) <= end - len("file")], [])
        self.assertIn("neither calls nor requests", self.printed("report", "--full", recording.path))

    def test_numbers_are_named_unless_asked_for(self):
        recording = self.record("cat", "/nonexistent", expect=1, options=("--layers", "syscall"))
        self.require(recording, "syscall")
        sql = ("SELECT o.error AS error, s.flags AS flags, o.op_id AS op_id FROM syscall_open AS s JOIN operations AS o USING (op_id) "
               "WHERE o.path = '/nonexistent'")
        (named,) = json.loads(self.printed("query", recording.path, sql, "--json"))
        (raw,) = recording.query(sql)
        self.assertEqual((named["error"], raw["error"]), ("ENOENT", -2))
        self.assertTrue(named["flags"].startswith("O_") or named["flags"] == "0", named)
        self.assertRegex(named["op_id"], r"^\d+\.\d+$")
        self.assertIsInstance(raw["op_id"], int)
        self.assertIn("TABLE_SCAN", self.printed("query", recording.path, "EXPLAIN SELECT * FROM strings").replace("STRINGS", "TABLE_SCAN"))
        self.assertNotIn("\\x0a", self.printed("query", recording.path, "EXPLAIN SELECT * FROM strings"))

    @harness.long
    def test_report_of_a_part(self):
        recording = self.record("sh", "-c", "cat /etc/passwd; cat /etc/group", options=("--layers", "syscall"))
        self.require(recording, "syscall")
        part = json.loads(self.printed("report", recording.path, "--file", "/etc/pass*", "--json"))
        self.assertEqual([row["path"] for row in part["files"]], ["/etc/passwd"])
        rows = json.loads(self.printed("report", recording.path, "--by", "file", "--top", "2", "--sort", "read", "--json"))
        self.assertEqual(len(rows["files"]), 2)
        self.assertGreaterEqual(int(rows["files"][0]["bytes_read"]), int(rows["files"][1]["bytes_read"]))

    @harness.long
    def test_export_of_a_whole_trace(self):
        path = self.record("ls", "/").path
        document = json.loads(self.printed("export", path, "--to", "json"))
        lines = [json.loads(line) for line in self.printed("export", path, "--to", "jsonl").splitlines()]
        self.assertEqual(document, lines)

    def test_processes_that_ran_already_are_named(self):
        path = self.folder / "p.iotrail"
        process = harness.run(harness.IOTRAIL, "record", "-q", "-o", path, "-p", os.getpid(), "--time", "100ms")
        if process.returncode == 1:
            self.skipTest("this machine does not allow to record a process that runs")
        self.assertIn(f"-p {os.getpid()} (", self.printed("info", path))


if __name__ == "__main__":
    harness.main()
