# SPDX-License-Identifier: BSD-3-Clause
"""What verbs that read a trace leave behind, and say, when their output has no room or they are ended."""
import json
import os
import signal
import subprocess
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
                             (("query", path, "FROM range(100000)", "-o", disk / "rows"), f"{disk}/rows")):
            with self.subTest(words=words[0]):
                process = harness.run(harness.IOTRAIL, *words)
                self.assertEqual(process.returncode, 1)
                self.assertIn(f"cannot write {named}", process.stderr)
                self.assertIn("ENOSPC", process.stderr)
                self.assertEqual(list(disk.iterdir()), [])

    def test_query_that_a_signal_ends_leaves_nothing_behind(self):
        path = self.record("true", name="good").path
        temporary = self.folder / "tmp"
        temporary.mkdir()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                query = subprocess.Popen([harness.IOTRAIL, "query", path, "SELECT sum(a.range * b.range) FROM range(1000000) AS a, range(1000000) AS b"],
                                         env=dict(os.environ, TMPDIR=str(temporary)), stdout=subprocess.DEVNULL)
                while not list(temporary.iterdir()):
                    time.sleep(0.01)
                time.sleep(0.2)
                query.send_signal(number)
                self.assertEqual(query.wait(timeout=30), -number)
                self.assertEqual(list(temporary.iterdir()), [])
        reader = subprocess.Popen([harness.IOTRAIL, "query", path, "FROM range(10000000)"], env=dict(os.environ, TMPDIR=str(temporary)),
                                  stdout=subprocess.PIPE)
        reader.stdout.close()
        self.assertEqual(reader.wait(timeout=60), -signal.SIGPIPE)
        self.assertEqual(list(temporary.iterdir()), [])

    def test_list_has_the_whole_reason_why_a_trace_cannot_be_read(self):
        path = self.record("true", name="good").path
        manifest = json.loads((path / "manifest.json").read_text())
        manifest["format_version"] = 99
        (path / "manifest.json").write_text(json.dumps(manifest))
        shown = harness.run(harness.IOTRAIL, "list", self.folder).stdout
        self.assertIn("UNREADABLE", shown)
        self.assertIn("this iotrail reads versions up to", " ".join(shown.split()))
        self.assertIn(f"iotrail info {path}", shown)


if __name__ == "__main__":
    harness.main()
