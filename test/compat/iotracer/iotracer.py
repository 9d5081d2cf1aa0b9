# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of the face iotracer: a watcher of the test's own, with its control files at a directory."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

DEFAULT_MAX = 20


class Event:
    def __init__(self, line):
        time, self.type, address, size, self.level, self.name, pid = line.split(";")
        self.seconds = float(time)
        self.address, self.size, self.pid = int(address), int(size), int(pid)

    def __repr__(self):
        return f"{self.type} {self.level} {self.address}+{self.size} {self.name} {self.pid}"


class IotracerTest(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0:
            self.skipTest("only root may watch files")
        harness.run("modprobe", "fuse") if shutil.which("modprobe") else None
        if not os.access("/dev/fuse", os.R_OK | os.W_OK):
            self.skipTest("no /dev/fuse")
        self.point = self.folder / "control files"
        self.point.mkdir()
        self.environment = os.environ | {"IOTRAIL_REPOSITORY": str(self.folder / "traces")}

    def start(self, maximum=DEFAULT_MAX):
        return self.begin("as", "iotracer", self.point, f"MAX_EVENTS={maximum}")

    def begin(self, *words):
        """A watcher that has begun."""
        watcher = subprocess.Popen([harness.IOTRAIL, *map(str, words)], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                                   env=self.environment)
        self.addCleanup(watcher.stderr.close)
        self.addCleanup(watcher.wait)
        self.addCleanup(watcher.terminate)
        line = watcher.stderr.readline()
        self.assertIn("watching", line)
        return watcher

    def stop(self, watcher):
        watcher.send_signal(signal.SIGINT)
        self.assertEqual(watcher.wait(timeout=harness.PATIENCE_S), 0)

    def watch(self, *words):
        return harness.run(harness.IOTRAIL, "watch", *words, env=self.environment)

    @property
    def control(self):
        return self.point / "control"

    def command(self, line, file=None):
        """As a shell's echo writes it: at once."""
        fd = os.open(file or self.control, os.O_WRONLY | os.O_TRUNC)
        try:
            os.write(fd, f"{line}\n".encode())
        finally:
            os.close(fd)

    def add(self, path, maximum=None):
        self.command(f"add {path}" + (f" {maximum}" if maximum else ""))
        return self.directory(path)

    def directory(self, path):
        """DISK_INODE, as the scripts of b-com find it."""
        source = harness.run("df", "--output=source", path).stdout.splitlines()[-1]
        disk = os.path.realpath(source).split("/")[-1] if os.path.exists(source) else None
        inode = os.stat(path).st_ino
        if disk:
            return self.point / f"{disk}_{inode}"
        (found,) = self.point.glob(f"*_{inode}")
        return found

    def state(self, directory):
        enabled, zero, maximum, events = (directory / "control").read_text().split()
        return enabled, zero, int(maximum), int(events)

    def events(self, directory, level=None):
        events = [Event(line) for line in (directory / "log").read_text().splitlines()]
        return [event for event in events if level in (None, event.level)]

    def assert_where_the_file_is(self, path, bios):
        """filefrag is the oracle: the bios cover its extents, and nothing else."""
        extents = set()
        for line in harness.run("filefrag", "-e", "-s", "-b512", path).stdout.splitlines():
            words = line.replace(":", " ").replace("..", " ").split()
            if words and words[0].isdigit():
                first, sectors = int(words[3]), int(words[5])
                extents |= {*range(first, first + sectors)}
        covered = set()
        for bio in bios:
            covered |= {*range(bio.address, bio.address + bio.size // 512)}
        self.assertEqual(covered, extents)
