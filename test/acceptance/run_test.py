# SPDX-License-Identifier: BSD-3-Clause
"""`iotrail -- COMMAND` records a command, reports on it and writes a page."""
import contextlib
import os
import pty
import subprocess
import termios

import harness


class Run(harness.AcceptanceTest):
    def run_it(self, *words, repository=None):
        environment = {**os.environ, "IOTRAIL_REPOSITORY": str(repository or self.folder / "repository")}
        return harness.run(harness.IOTRAIL, *words, env=environment, cwd=self.folder)

    def test_one_command_records_reports_and_writes_the_page(self):
        process = self.run_it("--", "sh", "-c", "dd if=/dev/zero of=f bs=4096 count=50 conv=fsync 2>/dev/null; echo mine; exit 7")
        self.assertEqual(process.returncode, 7, process.stderr)
        self.assertEqual(process.stdout, "mine\n")
        (trace,) = (self.folder / "repository").glob("sh-*.iotrail")
        page = trace.with_suffix(".html")
        self.assertIn(f"the page is in {page}", process.stderr)
        screen = harness.run(harness.IOTRAIL, "report", trace).stdout
        self.assertIn(" ".join(screen.split("Next")[0].split()), " ".join(process.stderr.split()))
        html = page.read_text()
        self.assertTrue(html.startswith("<!DOCTYPE html>") and html.rstrip().endswith("</html>"))
        listed = self.run_it("list").stdout
        self.assertEqual(listed.count("sh-"), 1, listed)

    def test_it_takes_the_options_of_record_and_a_file_for_the_page(self):
        process = self.run_it("run", "-q", "--layers", "syscall", "-o", "./mine", "--html", "p.html", "--", "true")
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertTrue((self.folder / "p.html").exists())
        self.assertTrue((self.folder / "mine.iotrail").is_dir())
        self.assertFalse((self.folder / "mine.html").exists())

    def test_a_page_that_cannot_be_made_is_refused_before_the_command_runs(self):
        (self.folder / "p.html").write_text("kept")
        for page, says in (("p.html", "File exists"), ("no/such/p.html", "No such file")):
            process = self.run_it("run", "--html", page, "--", "touch", "ran")
            self.assertEqual(process.returncode, 1, process.stderr)
            self.assertIn(says, process.stderr)
        self.assertFalse((self.folder / "ran").exists())
        self.assertEqual((self.folder / "p.html").read_text(), "kept")

    def lines_on_a_terminal(self, rows, *words, **streams):
        """What iotrail prints to the streams that are the terminal, which are named."""
        ours, theirs = pty.openpty()
        termios.tcsetwinsize(theirs, (rows, 80))
        reader = subprocess.Popen([harness.IOTRAIL, *words], stdin=subprocess.DEVNULL, cwd=self.folder,
                                  **{"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **dict.fromkeys(streams, theirs)})
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # as a terminal says that its other side is closed
            while more := os.read(ours, 1 << 16):
                shown += more
        os.close(ours)
        self.assertEqual(reader.wait(timeout=harness.PATIENCE_S), 0)
        return shown.decode().splitlines()

    def test_the_first_screen_fits_a_terminal(self):
        script = "for i in 1 2 3; do dd if=/dev/zero of=f$i bs=4096 count=50 conv=fsync; cat f$i; mv f$i g$i; rm g$i; done >/dev/null 2>&1"
        trace = self.record("sh", "-c", script, cwd=self.folder).path
        tall, short = (self.lines_on_a_terminal(rows, "report", trace, stdout=True) for rows in (100, 24))
        self.assertGreater(len(tall), 23)
        self.assertLess(len(short), len(tall))
        self.assertLessEqual(len(short), 23, short)
        self.assertEqual(short[:4], tall[:4], "the verdict stays")
        self.assertEqual(tall, harness.run(harness.IOTRAIL, "report", trace).stdout.splitlines())
        after_run = self.lines_on_a_terminal(24, "run", "-o", "t2.iotrail", "--", "sh", "-c", script, stderr=True)
        seen = "\n".join(after_run[-23:])
        self.assertIn("SLOWED", seen)
        self.assertIn("the page is in", seen)
        wide = harness.run(harness.IOTRAIL, "report", trace, "--wide").stdout.splitlines()
        self.assertIn("SLOWED", wide[2])
        self.assertGreater(max(map(len, wide)), 80)

    def test_mistakes_are_those_of_record(self):
        missing = self.run_it("--", "no-such-command")
        self.assertEqual(missing.returncode, 127)
        self.assertNotIn("the page is in", missing.stderr)
        nothing = self.run_it("--")
        self.assertEqual(nothing.returncode, 2)
        self.assertIn("nothing to record", nothing.stderr)


if __name__ == "__main__":
    harness.main()
