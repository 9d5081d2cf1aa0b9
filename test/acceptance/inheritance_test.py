# SPDX-License-Identifier: BSD-3-Clause
"""The command inherits exactly what it would without iotrail: ignored and blocked signals, closed standard streams."""
import os
import signal
import subprocess

import harness

MISSING_FILE = 2 # status of grep
RECORD, STAT = ("record", "-q", "-l", "app"), ("stat", "-l", "syscall")


class Inheritance(harness.AcceptanceTest):
    def state(self, name, prefix, prepare):
        """What a command sees of itself, and its status, in a file. A shell blocks signals now and then, so grep reads its own mask."""
        out = self.folder / name
        look = f"ls /proc/$$/fd >{out}; exec grep -hE 'SigBlk|SigIgn' /proc/self/status {out}.missing >>{out}"
        process = subprocess.run([*map(str, prefix), "sh", "-c", look], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL, preexec_fn=prepare, restore_signals=False, check=False, timeout=harness.PATIENCE_S)
        return out.read_text(), process.returncode

    def assert_inherited(self, prepare):
        bare = self.state("bare", (), prepare)
        self.assertEqual(bare[1], MISSING_FILE)
        trace = self.folder / "t.iotrail"
        self.assertEqual(self.state("record", (harness.IOTRAIL, *RECORD, "-o", trace, "--"), prepare), bare)
        self.assertEqual(harness.Recording(trace, None).manifest["command_status"], MISSING_FILE)
        if harness.run(harness.IOTRAIL, *STAT, "--", "true").returncode == 0:
            self.assertEqual(self.state("stat", (harness.IOTRAIL, *STAT, "--"), prepare), bare)

    def test_ignored_signals(self):
        def ignore():
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGINT, signal.SIGUSR1):
                signal.signal(number, signal.SIG_IGN)
        self.assert_inherited(ignore)

    def test_usual_signals(self):
        def use_defaults():
            for number in (signal.SIGCHLD, signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
        self.assert_inherited(use_defaults)

    def test_blocked_signals(self):
        self.assert_inherited(lambda: signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1, signal.SIGTERM, signal.SIGPIPE}))

    def test_closed_streams(self):
        self.check_closed(((1,), (0, 1, 2)))

    @harness.long
    def test_other_closed_streams(self):
        self.check_closed(((0,), (2,)))

    def check_closed(self, cases):
        for number, streams in enumerate(cases):
            with self.subTest(streams=streams):
                self.folder = self.folder / str(number)
                self.folder.mkdir()
                self.assert_inherited(lambda closed=streams: [os.close(stream) for stream in closed])


if __name__ == "__main__":
    harness.main()
