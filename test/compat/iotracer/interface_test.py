# SPDX-License-Identifier: BSD-3-Clause
"""The groups of b-com's tests/module_interface_tests.sh, and its README: control files and logs."""
import errno
import json
import os
import signal
import subprocess

import iotracer
from iotracer import DEFAULT_MAX, harness

BLOCK = 8192
WRITES = 400_000  # more than the rings of a watcher hold


class Interface(iotracer.IotracerTest):
    def setUp(self):
        super().setUp()
        self.watcher = self.start()
        self.device, self.disk = self.make_disk("ext4", 128 << 20)

    def file(self, name, blocks=0):
        path = self.disk / name
        with open(path, "wb") as file:
            file.write(os.urandom(blocks * BLOCK))
            os.fsync(file.fileno())  # what is written back later was not watched
        return path

    def dd(self, path, blocks, *words):
        done = harness.run("dd", "if=/dev/urandom", f"of={path}", f"bs={BLOCK}", f"count={blocks}", "status=none", *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def assert_watched(self, path, maximum=None):
        directory = self.add(path, maximum)
        lines = [line for line in self.control.read_text().splitlines() if str(path) in line.split(" ", 1)[1]]
        self.assertEqual([line.split()[0] for line in lines], [directory.name])
        self.assertEqual(sorted(os.listdir(directory)), ["control", "log"])
        enabled, _, room, events = self.state(directory)
        self.assertEqual((enabled, room, events), ("1", maximum or DEFAULT_MAX, 0))
        self.assertEqual((directory / "log").read_text(), "")
        return directory

    def assert_not_watched(self, path, directory):
        self.command(f"remove {path}")
        self.assertFalse(directory.exists())
        self.assertNotIn(str(path), self.control.read_text())

    def assert_only(self, directory, kind):
        events = self.events(directory)
        self.assertTrue(events)
        self.assertEqual({event.type for event in events}, {kind}, events)
        self.assertEqual(len(events), self.state(directory)[3])
        return events

    def test_load_and_unload(self):
        self.assertEqual(self.control.read_text(), "")
        self.stop(self.watcher)
        self.assertEqual(os.listdir(self.point), [])
        self.assertFalse(list((self.folder / "traces" / "watch").glob("*.iotrail")), "traces are left")

    def test_log_and_its_control(self):
        path = self.file("my file")
        log = self.assert_watched(path)
        self.dd(path, 100)
        self.assert_only(log, "W")
        self.assertEqual(self.state(log)[3], DEFAULT_MAX)
        self.stop_changes_nothing(path, log)
        self.reset_drops_events(log)
        self.start_continues(path, log)
        self.time_reset_moves_time(log)
        self.assert_not_watched(path, log)

    def stop_changes_nothing(self, path, log):
        self.command("stop", log / "control")
        before = (log / "control").read_text(), (log / "log").read_text()
        self.assertEqual(before[0].split()[0], "0")
        self.dd(path, 100)
        self.assertEqual(((log / "control").read_text(), (log / "log").read_text()), before)

    def reset_drops_events(self, log):
        before = self.state(log)
        self.command("reset", log / "control")
        self.assertEqual(self.state(log), (*before[:3], 0))
        self.assertEqual((log / "log").read_text(), "")

    def start_continues(self, path, log):
        self.command("start", log / "control")
        before = self.state(log)
        self.assertEqual(before[0], "1")
        self.dd(path, 100)
        self.assertNotEqual(self.state(log), before)
        self.assert_only(log, "W")

    def time_reset_moves_time(self, log):
        before = self.state(log)
        self.command("timereset", log / "control")
        after = self.state(log)
        self.assertEqual((after[0], after[2], after[3]), (before[0], before[2], 0))
        self.assertGreater(float(after[1]), float(before[1]))

    def test_reads(self):
        source, target = self.file("testfile_1", 100), self.file("testfile_2")
        harness.evict(source)
        reads, writes = self.assert_watched(source), self.assert_watched(target, 2 * DEFAULT_MAX)
        with open(target, "wb") as output:
            self.assertEqual(subprocess.run(["cat", source, source], stdout=output, check=False).returncode, 0)
        harness.sync_file_system(self.disk)
        self.assert_only(reads, "R")
        self.assert_only(writes, "W")
        self.assertLessEqual(len(self.events(writes)), 2 * DEFAULT_MAX)

    def test_losses(self):
        """Each answer about a log has them: who reads it may not know that the watcher was stopped."""
        path = self.file("testfile_1", 1)
        self.assert_watched(path)
        self.assertEqual(json.loads(self.watch("log", path, "--json").stdout)["warnings"], [])
        self.watcher.send_signal(signal.SIGSTOP)
        with open(path, "r+b", buffering=0) as file:
            for _ in range(WRITES):
                os.pwrite(file.fileno(), b"x", 0)
        self.watcher.send_signal(signal.SIGCONT)
        (warning,) = json.loads(self.watch("log", path, "--json").stdout)["warnings"]
        self.assertIn("EVENTS LOST", warning)
        self.assertIn("EVENTS LOST", self.watch("log", path).stdout)
        raw = self.watch("log", path, "--raw")
        self.assertIn("EVENTS LOST", raw.stderr)
        self.assertEqual(len(raw.stdout.splitlines()), DEFAULT_MAX)

    def test_links(self):
        path = self.file("testfile_1", 4)
        link, symbolic, moved = (self.disk / name for name in ("testfile_1.link", "symbolic", "moved"))
        os.link(path, link)
        symbolic.symlink_to(path)
        log = self.assert_watched(path)
        self.assertEqual(self.add(symbolic), log)
        self.assertEqual(self.add(link), log)
        self.assertEqual(self.control.read_text(), f"{log.name} {path} {link}\n")
        self.command(f"remove {path}")
        self.assertEqual(self.control.read_text(), f"{log.name} {link}\n")
        harness.run("cat", path)
        self.assert_only(log, "R")
        link.rename(moved)
        harness.run("cat", moved)
        self.assertEqual(len(self.events(log, "VFS")), 2)
        self.assert_not_watched(link, log)

    def test_list_has_the_present_path(self):
        path = self.file("testfile_1", 4)
        log = self.assert_watched(path)
        moved = path.rename(self.disk / "moved")
        self.assertEqual(self.control.read_text(), f"{log.name} {moved}\n")
        self.assertEqual([file["path"] for file in json.loads(self.watch("list", "--json").stdout)["files"]], [str(moved)])
        moved.unlink()
        self.assertEqual(self.control.read_text(), f"{log.name} {path}\n", "no path is left: it is the one that was added")

    def test_readme(self):
        """dd of 10,000 x 8 KiB; all of it at both levels, and written back in the name of dd."""
        path = self.file("testfile")
        log = self.assert_watched(path, 30_000)
        self.dd(path, 10_000)
        harness.sync_file_system(self.disk)
        events = self.assert_only(log, "W")
        calls = [event for event in events if event.level == "VFS"]
        self.assertEqual([event.address for event in calls], list(range(0, 10_000 * BLOCK, BLOCK)))
        self.assertEqual({event.size for event in calls}, {BLOCK})
        self.assertEqual({event.name for event in events}, {"dd"})
        self.assertEqual(len({event.pid for event in events}), 1)
        bios = [event for event in events if event.level == "BLK"]
        self.assertEqual(sum(event.size for event in bios), 10_000 * BLOCK)
        self.assert_where_the_file_is(path, bios)
        self.assertEqual([event.seconds for event in events], sorted(event.seconds for event in events))
        self.assert_not_watched(path, log)

    def test_refused_commands(self):
        path = self.file("file", 1)
        for line, error in ((f"add {path} 0", "EINVAL"), ("add", "EINVAL"), ("garbage", "EINVAL"), ("add relative", "EINVAL"),
                            (f"add {path}.none", "ENOENT"), (f"remove {path}", "ENOENT"), (f"add {self.disk}", "EISDIR"),
                            ("add /" + "a" * (1 << 20), "EINVAL"), ("\x1b[2J", "EINVAL")):
            with self.assertRaises(OSError, msg=line[:40]) as raised:
                self.command(line)
            self.assertEqual(errno.errorcode[raised.exception.errno], error, line[:40])
        log = self.assert_watched(path)
        with self.assertRaises(OSError):
            self.command("restart", log / "control")
        self.assertEqual(self.control.read_text(), f"{log.name} {path}\n")

    def test_a_path_that_vanishes_keeps_its_log(self):
        path, other = self.file("file", 1), self.file("other", 1)
        log = self.assert_watched(path)
        harness.run("cat", path)
        path.unlink()
        self.assert_watched(other)
        self.assertEqual(len(self.events(log, "VFS")), 1)
        self.command(f"remove {path}")
        self.assertFalse(log.exists())

    def test_second_watcher_and_busy_directory(self):
        other = self.folder / "other"
        other.mkdir()
        second = harness.run(harness.IOTRAIL, "as", "iotracer", other, env=self.environment)
        self.assertEqual(second.returncode, 1)
        self.assertIn(f"process {self.watcher.pid} watches already", second.stderr)
        elsewhere = self.environment | {"IOTRAIL_REPOSITORY": str(self.folder / "elsewhere")}
        busy = harness.run(harness.IOTRAIL, "as", "iotracer", self.point, env=elsewhere)
        self.assertEqual(busy.returncode, 1)
        self.assertIn("is mounted there", busy.stderr)


if __name__ == "__main__":
    harness.main()
