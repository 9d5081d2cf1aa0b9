# SPDX-License-Identifier: BSD-3-Clause
"""Each mistake gets one clear message and the right exit status, and loses nothing."""
import json
import os
import re
import shutil
import struct
import subprocess

import harness

FAILED, USAGE, NOT_EXECUTABLE, NOT_FOUND = 1, 2, 126, 127


class BadInput(harness.AcceptanceTest):
    def refused(self, status, *arguments, says=(), **options):
        process = harness.run(harness.IOTRAIL, *arguments, **options)
        self.assertEqual(process.returncode, status, process.stderr)
        self.assertTrue(process.stderr.startswith("iotrail: "), process.stderr)
        self.assertLessEqual(len(process.stderr.strip().splitlines()), 5, process.stderr)
        for text in (says,) if isinstance(says, str) else says:
            self.assertIn(text, process.stderr)
        self.assertNotIn("terminate called", process.stderr)
        return process

    def good_trace(self):
        return self.recorded_once("true", name="good")

    def test_a_trace_without_its_manifest_has_no_time_of_day(self):
        trace = self.record("ls", "/", options=("--layers", "app"), name="bare").path
        (trace / "manifest.json").unlink()
        recording = harness.Recording(trace, None)
        (run,) = recording.query("SELECT duration_ns FROM run")
        self.assertLess(run["duration_ns"], 60e9, "from the first event on, not since the machine started")
        self.assertEqual(recording.query("SELECT DISTINCT wall_clock(ts_ns) AS day FROM events"), [{"day": None}])
        lines = harness.run(harness.IOTRAIL, "script", trace).stdout.splitlines()
        self.assertEqual(lines[0].split()[0], "0.000000000")

    def test_help_as_a_verb(self):
        for words in (["help"], ["help", "record"]):
            process = harness.run(harness.IOTRAIL, *words)
            self.assertEqual(process.returncode, 0)
            self.assertEqual(process.stdout, harness.run(harness.IOTRAIL, *words[1:], "--help").stdout)

    def test_line_ends_of_the_user_end_no_line_of_a_message(self):
        odd = "a\nb\x1b[31m"
        for words in (("report", odd), (odd,), ("report", f"--{odd}"), ("record", "--layers", odd, "--", "true"), ("record", "-o", "x/" + odd, "--", "true"),
                      ("query", self.good_trace(), "--describe", odd), ("report", self.good_trace(), "--by", odd), ("as", odd)):
            with self.subTest(words=words):
                process = harness.run(harness.IOTRAIL, *words)
                self.assertNotEqual(process.returncode, 0)
                self.assertIn("a\\x0ab", process.stderr)
                self.assertNotRegex(process.stderr, "(?m)\x1b|^b")

    def test_unknown_option(self):
        self.refused(USAGE, "record", "--colour", "--", "true", says="--colour")

    def test_bad_units(self):
        self.refused(USAGE, "record", "--time", "10 parsecs", "--", "true", says="parsecs")

    def test_times_and_sizes_are_above_zero(self):
        for option in ("--time=-1s", "--size=-5k", "--buffer=-5k"):
            with self.subTest(option=option):
                process = self.refused(USAGE, "record", option, "--", "true", says=option.split("=")[1])
                self.assertNotIn("1844674407", process.stderr)

    def test_command_without_dashes(self):
        self.refused(USAGE, "record", "true", "-v", says="iotrail record -- true")
        self.refused(USAGE, "record", "-q", "ls", "-l", says="iotrail record -- ls -l")

    def test_unknown_words_are_reported_in_order(self):
        self.refused(USAGE, "report", self.good_trace(), "first", "second", says="not expected: first second")

    def test_files_that_are_not_there(self):
        for name in ("/nope", "a" * 300):
            self.refused(FAILED, "record", "--layers", "syscall", "--file", name, "--", "true", says="It has to be there when the recording begins")

    def test_names_that_no_trace_can_have(self):
        for name in ("latest", ".", "..", f"{self.folder}/", "/dev/null"):
            with self.subTest(name=name):
                self.refused(USAGE, "record", "-o", name, "--", "true", says=f"-o {name}")

    def test_requests_that_are_not_there(self):
        trace = self.good_trace()
        for number in ("x", "", "0x", "-1", "12 ", "99999999999999999999"):
            with self.subTest(number=number):
                self.refused(USAGE, "explain", trace, f"--request={number}", says="--request")
        self.refused(USAGE, "explain", trace, "--request=1", "--sector=1", says="--request")
        calls = self.record("true", name="calls", options=("--layers", "app")).path
        self.refused(FAILED, "explain", calls, "--request=1", says="layer block was not recorded")
        self.refused(FAILED, "explain", trace, "--request=1", says="no request 0x1 was completed")

    def test_events_that_were_not_recorded_are_reported(self):
        """Without a hook, zero rows of an event do not mean that nothing happened."""
        path = self.record("ls", "/", options=("--layers", "app"), name="app").path
        for words in (("script", "-e", "block_complete"), ("query", "SELECT count(*) FROM block_complete"),
                      ("query", "--describe", "block_complete"), ("export", "--to", "csv", "--table", "block_complete")):
            with self.subTest(words=words):
                process = harness.run(harness.IOTRAIL, words[0], path, *words[1:])
                self.assertEqual(process.returncode, 0, process.stderr)
                self.assertIn("no block_complete: layer block was not recorded", process.stderr)
        for words in (("script", "-e", "app_sync"), ("query", "SELECT 'block_complete' FROM app_sync")):
            self.assertEqual(harness.run(harness.IOTRAIL, words[0], path, *words[1:]).stderr, "")
        self.refused(FAILED, "explain", path, "--sector", "8", says="layer block was not recorded")
        self.refused(FAILED, "explain", path, "--request", "8", says="layer block was not recorded")
        verified = harness.run(harness.IOTRAIL, "verify", path)
        self.assertEqual(verified.returncode, 0)
        self.assertIn("layer block was not recorded", verified.stdout)

    def test_operations_that_are_not_there(self):
        path = self.good_trace()
        for op in ("foo", "1.", ".1", "p1", "1.2.3", "-1"):
            self.refused(USAGE, "explain", path, f"--op={op}", says=f"--op: '{op}' is no operation")
        maker = harness.Recording(path, None).value("SELECT split_part(op_text(max(op_id)), '.', 1) FROM syscall_open")
        self.refused(FAILED, "explain", path, "--op", f"{maker}.99999999", says=(f"no operation {maker}.99999999", f"The nearest is {maker}."))
        self.refused(FAILED, "explain", path, "--op", "99999.1", says="The first one is")
        self.refused(FAILED, "explain", path, "--at", "1h", says="The last one before is")
        for selection in (("--process", "nobody"), ("--file", "/no/such")):
            self.refused(FAILED, "explain", path, *selection, says=(f"matches {' '.join(selection)}", "its run:"))
        self.refused(FAILED, "explain", path, "--process", "true", "--at", "1h",
                     says="no operation that matches --process true was under way then")

    def test_empty_values_are_no_values(self):
        """As from an unset variable: an empty value must not select everything."""
        path = self.good_trace()
        for words in (("explain", path, "--op"), ("explain", path, "--sector"), ("explain", path, "--at"), ("explain", path, "--slowest"),
                      ("explain", path, "--request"), ("explain", path, "--file"), ("report", path, "--top"), ("report", path, "--by"),
                      ("report", path, "--since"), ("export", path, "--to", "csv", "--table"), ("query", path, "--describe"),
                      ("script", path, "--event"), ("record", "--output"), ("record", "--time"), ("record", "--tag"), ("record", "--layers"),
                      ("stat", "--interval"), ("snapshot", "--of"), ("list",), ("remove",), ("tag", path)):
            with self.subTest(words=words):
                name = words[-1].removeprefix("-") if str(words[-1]).startswith("--") else ""
                self.refused(USAGE, *words, "", *(("--", "true") if words[0] in ("record", "stat") else ()), says=(name, "is empty"))

    def test_more_snapshots_than_threads_are_worth(self):
        self.refused(USAGE, "record", "--snapshot", ",".join(["process"] * 65), "--", "true", says="at most 64")

    def test_options_that_contradict_one_another(self):
        path = self.good_trace()
        for words in (("schema", "--markdown", "--json"), ("schema", "--sql", "--json"), ("query", path, "SELECT 1", "--json", "--format", "csv"),
                      ("query", path, "--tables", "--json"),
                      ("query", path, "--describe", "events", "-o", self.folder / "out"), ("query", path, "--tables", "--describe", "events")):
            with self.subTest(words=words):
                self.refused(USAGE, *words, says="excludes")

    def test_list_without_a_trace(self):
        plain = self.folder / "plain"
        plain.write_text("no trace")
        for form in ((), ("--json",)):
            self.refused(FAILED, "list", plain, *form, says=("plain", "not a directory"))

    def test_without_a_manifest_nothing_is_made_up(self):
        path = self.good_trace()
        (path / "manifest.json").unlink()
        shown = harness.run(harness.IOTRAIL, "info", path).stdout
        for text in ("1970", "0 CPU", "INCOMPLETE", "COMPLETE"):
            self.assertNotIn(text, shown)
        self.assertIn("not known", shown)
        self.assertNotIn("INCOMPLETE", harness.run(harness.IOTRAIL, "report", "--full", path).stdout)
        listed = harness.run(harness.IOTRAIL, "list", path).stdout
        self.assertIn("DAMAGED", listed)
        self.assertIn(f"iotrail report {path}", listed)

    def test_doctor_gives_each_event_its_own_reason(self):
        hooks = {hook["event"]: hook for source in json.loads(harness.run(harness.IOTRAIL, "doctor", "--json").stdout)["sources"]
                 for hook in source["hooks"]}
        shown = harness.run(harness.IOTRAIL, "doctor", "--full").stdout
        names = [line.split()[0] for line in shown.splitlines() if line.startswith("  ") and line.strip()]
        self.assertLessEqual(set(hooks), set(names))
        alone = [event for event, hook in hooks.items() if not hook["hook"] and
                 [other["reason"] for other in hooks.values()].count(hook["reason"]) == 1 and "tracepoint" in hook["reason"]]
        for event in alone:
            reason = hooks[event]["reason"].split()[-1]
            entry = re.search(rf"  events    {event}\n  why ((?:.+\n)*?)(?=  events|\n)", shown)
            self.assertIn(reason, entry[1], shown)

    def test_doctor_counts_what_is_refused(self):
        document = json.loads(harness.run(harness.IOTRAIL, "doctor", "--json").stdout)
        hooks = [hook for source in document["sources"] for hook in source["hooks"]]
        allowed = sum(hook["hook"] != "" for hook in hooks)
        self.assertEqual(sum(layer["events"] for layer in document["layers"]), len(hooks))
        self.assertEqual(sum(layer["allowed"] for layer in document["layers"]), allowed)
        of_all = f"{allowed} of {len(hooks)}" if allowed < len(hooks) else f"all {allowed}"
        shown = harness.run(harness.IOTRAIL, "doctor").stdout
        words = " ".join(shown.split())
        self.assertTrue(words.startswith(f"iotrail can record {of_all} events on this machine"), words)
        for layer in document["layers"]:
            if not layer["allowed"]:
                self.assertRegex(words.partition(" wholly ")[0], rf"; without layers? .*\b{layer['layer']}\b")
        self.assertEqual("Not recorded here" in shown, allowed < len(hooks))

    def test_layer_that_cannot_be_recorded(self):
        if "vfs" in self.record("true").layers_recorded():
            self.skipTest("this machine allows to record every layer")
        path = self.folder / "v.iotrail"
        self.refused(FAILED, "record", "-l", "vfs", "-o", path, "--", "true", says=("cannot record layer vfs", "doctor"))
        self.assertFalse(path.exists())

    def test_missing_command(self):
        self.refused(USAGE, "record", "--", says="nothing to record")

    def test_command_not_found(self):
        self.refused(NOT_FOUND, "record", "-o", self.folder / "x.iotrail", "--", "no-such-command", says="no-such-command")
        self.assertFalse((self.folder / "x.iotrail").exists())

    def test_command_not_executable(self):
        plain = self.folder / "plain"
        plain.write_text("echo hello\n")
        self.refused(NOT_EXECUTABLE, "record", "-o", self.folder / "x.iotrail", "--", plain, says="plain")
        plain.write_bytes(b"\x7fELF garbage")
        plain.chmod(0o755)
        self.refused(NOT_EXECUTABLE, "record", "-o", self.folder / "x.iotrail", "--", plain, says="plain")
        self.refused(NOT_EXECUTABLE, "record", "-o", self.folder / "x.iotrail", "--", self.folder, says="directory")
        self.assertFalse((self.folder / "x.iotrail").exists())

    def test_pid_that_does_not_exist(self):
        gone = subprocess.Popen(["true"])
        gone.wait()
        self.refused(FAILED, "record", "-p", gone.pid, says=str(gone.pid))

    def test_pid_of_another_user(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv to become another user")
        process = harness.run("setpriv", "--reuid=65534", "--clear-groups", harness.IOTRAIL, "record", "-p", os.getpid())
        self.assertEqual(process.returncode, FAILED)
        self.assertIn("belongs to another user", process.stderr)

    def test_no_privilege_records_the_app_layer(self):
        if os.geteuid() != 0 or shutil.which("setpriv") is None:
            self.skipTest("needs root and setpriv to become another user")
        open_folder = self.folder / "open"
        open_folder.mkdir()
        self.folder.chmod(0o755)
        open_folder.chmod(0o777)
        path = open_folder / "t.iotrail"
        process = harness.run("setpriv", "--reuid=65534", "--clear-groups", "--bounding-set=-all", "--inh-caps=-all",
                              harness.IOTRAIL, "record", "-o", path, "--", "ls", "/")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("the kernel's layers cannot be recorded", process.stderr)
        self.assertIn("cap_bpf", process.stderr)
        recording = harness.Recording(path, process)
        self.assertEqual(recording.layers_recorded(), {"app"})
        self.assertGreater(recording.value("SELECT count(*) FROM app_write"), 0)

    def test_output_directory_unwritable(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        self.refused(FAILED, "record", "-o", blocker / "t.iotrail", "--", "true", says=str(blocker))

    def test_two_recordings_into_one_trace(self):
        path = self.good_trace()
        self.refused(FAILED, "record", "-o", path, "--", "true", says=str(path))
        self.assertEqual(harness.Recording(path, None).manifest["state"], "COMPLETE")

    def test_traces_that_are_none(self):
        empty = self.folder / "empty.iotrail"
        empty.mkdir()
        foreign = self.folder / "foreign.iotrail"
        foreign.mkdir()
        (foreign / "manifest.json").write_text('{"hello": 1}')
        plain = self.folder / "plain.iotrail"
        plain.write_text("no trace")
        for path in (empty, foreign, plain, self.folder / "missing.iotrail"):
            for verb in ("report", "script"):
                with self.subTest(path=path.name, verb=verb):
                    self.refused(FAILED, verb, path, says=path.name)

    def test_trace_of_a_future_version(self):
        path = self.good_trace()
        manifest = json.loads((path / "manifest.json").read_text())
        manifest["format_version"] = 99
        (path / "manifest.json").write_text(json.dumps(manifest))
        self.refused(FAILED, "report", path, says="99")

    @harness.in_both
    def test_truncated_and_damaged_trace(self):
        path = self.recorded_once("ls", "-lR", "/usr/include/linux", name="big")
        segment = sorted(path.glob("events-*.seg"))[0]
        whole = segment.read_bytes()
        for change in harness.first(2, (whole[:len(whole) // 2], b"", whole[:1000] + bytes(200) + whole[1200:])):
            segment.chmod(0o644)
            segment.write_bytes(change)
            process = harness.run(harness.IOTRAIL, "report", "--full", path)
            self.assertIn(process.returncode, (0, FAILED), process.stderr)
            self.assertIn("damage", (process.stdout + process.stderr).lower())

    @harness.in_both
    def test_every_answer_from_a_damaged_trace_says_so(self):
        """One byte of a block is wrong and half of the events are missing: no verb presents the
        rest as complete."""
        path = self.recorded_once("ls", "-lR", "/usr/include/linux", name="holed")
        segment = sorted(path.glob("events-*.seg"))[0]
        whole = segment.read_bytes()
        segment.chmod(0o644)
        segment.write_bytes(whole[:len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1:])
        for verb, *options in harness.first(5, (("report",), ("explain",), ("query", "FROM events"), ("script",), ("export", "--to", "jsonl"),
                                                ("report", "--by", "file"), ("report", "--by", "process"), ("report", "--by", "operation"),
                                                ("explain", "--at", "1ms"))):
            with self.subTest(verb=verb, options=options):
                process = harness.run(harness.IOTRAIL, verb, path, *options)
                self.assertIn("DAMAGED TRACE", process.stdout + process.stderr)
        for options in harness.first(1, (("--by", "file"), ())):
            process = harness.run(harness.IOTRAIL, "report", path, "--json", *options)
            self.assertEqual(process.returncode, 0, process.stderr)
            self.assertTrue(any("DAMAGED TRACE" in text for text in json.loads(process.stdout)["warnings"]))
        for words in (("explain", path, "--op", "99999999"), ("report", path, "--process", "nobody")):
            process = harness.run(harness.IOTRAIL, *words)
            self.assertEqual(process.returncode, FAILED)
            self.assertIn("DAMAGED TRACE", process.stderr)
        self.assertEqual(json.loads(harness.run(harness.IOTRAIL, "report", self.good_trace(), "--json", "--by", "file").stdout)["warnings"], [])

    @harness.long
    def test_every_answer_from_a_choice_of_calls_says_so(self):
        path = self.record("ls", "-R", "/usr/include/linux", options=("--min-latency", "10s"), name="slow", expect=None).path
        if not path.exists():
            self.skipTest("needs the kernel source")
        for words in (("report", "--by", "file"), ("report", "--json"), ("query", "FROM events"), ("script",)):
            with self.subTest(words=words):
                process = harness.run(harness.IOTRAIL, words[0], path, *words[1:])
                self.assertIn("WITHOUT ", process.stdout + process.stderr)

    def test_a_trace_without_an_end_is_not_verified(self):
        """Sources are counted when a recording ends. Before, or after a kill of the recorder, the
        check is incomplete."""
        path = self.folder / "endless.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-q", "-o", path, "--", "sleep", "1000"], stdin=subprocess.DEVNULL)
        try:
            harness.wait_until_running(path)
            children = harness.run("pgrep", "-P", recorder.pid).stdout.split()
            running = harness.run(harness.IOTRAIL, "verify", path)
        finally:
            recorder.kill()
            recorder.wait()
        harness.kill_all(children)
        killed = harness.run(harness.IOTRAIL, "verify", path)
        for process, says in ((running, "STILL RECORDING"), (killed, "INCOMPLETE TRACE")):
            self.assertEqual(process.returncode, FAILED)
            self.assertNotIn("Everything adds up", process.stdout)
            self.assertIn(says, process.stdout)
            self.assertIn("cannot be checked", process.stdout)
        good = harness.run(harness.IOTRAIL, "verify", self.good_trace())
        self.assertEqual(good.returncode, 0, good.stdout)
        # Others may write to the same disk meanwhile: then it is all that was recorded.
        self.assertRegex(good.stdout, r"(?m)^Everything (that was recorded )?adds up\.")

    def test_report_that_is_asked_for_wrongly(self):
        path = self.good_trace()
        self.refused(USAGE, "report", path, "--by", "colour", says=("'colour'", "file"))
        self.refused(USAGE, "report", path, "--by", "file", "--sort", "colour", says=("'colour'", "bytes_read"))
        self.refused(USAGE, "report", path, "--sort", "calls", says="--by")
        self.refused(USAGE, "report", path, "--since", "2", says="--since 2")
        self.assertEqual(harness.run(harness.IOTRAIL, "report", path, "--since", "0").returncode, 0)
        self.refused(USAGE, "report", path, "--since", "2s", "--until", "1s", says="not after")
        self.refused(USAGE, "query", path, "--describe", "colour", says=("'colour'", "--tables"))
        self.refused(USAGE, "query", path, says="--tables")

    @harness.in_both
    def test_report_without_matching_rows(self):
        path = self.record("sh", "-c", "cat /etc/passwd; true", name="good").path
        for option, value, says in (("--process", "NONE", ("--process NONE", "cat")), ("--file", "NONE", ("--file NONE", "/etc/passwd")),
                                    ("--since", "1h", ("--since 1h", "its run", "--since and --until count"))):
            for form in harness.first(1, ((), ("--json",))):
                process = self.refused(FAILED, "report", path, option, value, *form, says=("nothing in the trace matches", *says))
                self.assertEqual(process.stdout, "")

    def test_numbers_that_are_none(self):
        path = self.good_trace()
        for value in ("0", "-1", "1.5", "many", "99999999999999999999"):
            self.refused(USAGE, "report", path, f"--top={value}", says=(f"--top {value}", "whole number above 0"))
        for option in ("--size", "--buffer"):
            for value in ("foo", "0", "-5", "1.5G", "5parsecs", "99999999999T"):
                self.refused(USAGE, "record", f"{option}={value}", "--", "true", says=(f"{option} {value}", "64M"))

    @harness.in_both
    def test_a_report_is_sorted_by_its_headings(self):
        path = self.good_trace()
        for heading in harness.first(2, ("Dev_Write", "time", "calls", "dev write", "device_bytes_written", "written")):
            process = harness.run(harness.IOTRAIL, "report", path, "--by", "file", "--sort", heading)
            self.assertEqual(process.returncode, 0, process.stderr)

    def test_info_and_list_report_damage(self):
        for number, harm in enumerate((lambda segment: segment.unlink(), lambda segment: segment.write_bytes(b""),
                                       lambda segment: segment.write_bytes(segment.read_bytes()[:-40] + bytes(40)))):
            path = self.recorded_once("ls", "-lR", "/usr/include/linux", name=f"t{number}")
            for verb in ("info", "list"):
                self.assertNotIn("DAMAGED", harness.run(harness.IOTRAIL, verb, path).stdout)
            segment = sorted(path.glob("events-*.seg"))[-1]
            segment.chmod(0o644)
            harm(segment)
            for form in ((), ("--json",)):
                process = harness.run(harness.IOTRAIL, "info", path, *form)
                self.assertEqual(process.returncode, FAILED)
                self.assertIn("not whole", process.stderr)
            self.assertIn("DAMAGED TRACE", harness.run(harness.IOTRAIL, "info", path).stdout)
            self.assertRegex(harness.run(harness.IOTRAIL, "list", path).stdout, f"t{number} +DAMAGED")
            (listed,) = json.loads(harness.run(harness.IOTRAIL, "list", path, "--json").stdout)["traces"]
            self.assertIs(listed["is_damaged"], True)

    def test_nowhere_to_keep_traces(self):
        process = harness.run("env", "-i", "setpriv", "--reuid=65534", "--clear-groups", harness.IOTRAIL, "record", "--", "true")
        if os.geteuid() != 0 or "setpriv" in process.stderr:
            self.skipTest("needs root and setpriv")
        self.assertEqual(process.returncode, FAILED, process.stderr)
        self.assertIn("IOTRAIL_REPOSITORY", process.stderr)
        self.assertIn("EACCES", process.stderr)

    def test_doctor_for_a_user_without_privileges(self):
        process = harness.run("setpriv", "--reuid=65534", "--clear-groups", harness.IOTRAIL, "doctor")
        if os.geteuid() != 0 or "setpriv" in process.stderr:
            self.skipTest("needs root and setpriv")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertRegex(process.stdout, r"(?m)^  not .*syscall.*block")
        self.assertIn("CAP_BPF", process.stdout)
        self.assertEqual([line for line in process.stdout.splitlines() if len(line) > 80 or "\\x0a" in line], [])
        self.assertEqual(" ".join(process.stdout.split()).count("cap_bpf,cap_perfmon+ep"), 1, process.stdout)

    def test_query_that_is_wrong(self):
        self.refused(FAILED, "query", self.good_trace(), "SELECT nothing FROM nowhere", says="nowhere")

    def test_kernel_without_type_information(self):
        if os.geteuid() != 0 or shutil.which("unshare") is None:
            self.skipTest("needs root and unshare to hide /sys/kernel/btf")
        path = self.folder / "t.iotrail"
        hidden = ["unshare", "-m", "sh", "-c", 'mount -t tmpfs none /sys/kernel/btf && exec "$@"', "sh", harness.IOTRAIL]
        process = harness.run(*hidden, "record", "-o", path, "--", "ls", "/")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("no type information (/sys/kernel/btf/vmlinux)", process.stderr)
        self.assertIn("CONFIG_DEBUG_INFO_BTF", process.stderr)
        self.assertTrue(process.stderr.startswith("iotrail: "), process.stderr)
        self.assertEqual(harness.Recording(path, process).layers_recorded(), {"app"})
        process = harness.run(*hidden, "record", "--layers", "syscall", "-o", self.folder / "x.iotrail", "--", "ls", "/")
        self.assertEqual(process.returncode, FAILED)
        self.assertEqual(process.stdout, "")

    def test_static_program(self):
        source = self.folder / "s.c"
        source.write_text('#include <unistd.h>\nint main(void) { return write(1, "hello\\n", 6) != 6; }\n')
        program = self.folder / "static"
        if harness.run("gcc", "-static", "-o", program, source).returncode:
            self.skipTest("no static C library to link with")
        recording = self.record(program)
        self.assertIn("static", recording.process.stderr)
        if "syscall" in recording.layers_recorded():
            self.assertEqual(recording.value("SELECT sum(result) FROM syscall_write WHERE fd = 1"), 6)

    def test_32_bit_program(self):
        """A 32-bit ELF file that calls write and exit, made by hand, since the machine may have no
        32-bit compiler."""
        code = bytes.fromhex("b804000000bb01000000b974800408ba06000000cd80"  # write(1, text, 6)
                             "b801000000bb00000000cd80")  # exit(0)
        text_at = 0x8048000 + 84 + len(code)
        code = code.replace(bytes.fromhex("74800408"), struct.pack("<I", text_at))
        body = code + b"hello\n"
        header = struct.pack("<16sHHIIIIIHHHHHH", b"\x7fELF\x01\x01\x01", 2, 3, 1, 0x8048000 + 84, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        segment = struct.pack("<IIIIIIII", 1, 0, 0x8048000, 0x8048000, 84 + len(body), 84 + len(body), 5, 0x1000)
        program = self.folder / "thirtytwo"
        program.write_bytes(header + segment + body)
        program.chmod(0o755)
        try:
            harness.run(program)
        except OSError as error:
            self.skipTest(f"this kernel does not run 32-bit programs: {error.strerror}")
        recording = self.record(program)
        self.assertIn("32-bit", recording.process.stderr)
        self.assertEqual(recording.process.stdout, "hello\n")


if __name__ == "__main__":
    harness.main()
