# SPDX-License-Identifier: BSD-3-Clause
"""Programs that hang in a call: the call, its path, since when, and where in the kernel. The file
system is FUSE with a daemon that answers the mount and then nothing."""
import ctypes
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time

import harness

HEADER, INIT = struct.Struct("=IIQQIIII"), 26  # struct fuse_in_header, FUSE_INIT
ANSWER, INIT_ANSWER = struct.Struct("=IiQ"), struct.Struct("=IIIIHHIIHHI28x")
REQUEST_BYTES = 1 << 17
MNT_DETACH = 2
LIBC = ctypes.CDLL(None, use_errno=True)


class SilentFileSystem:
    """Its lookups never end. close() ends them with an error."""

    def __init__(self, point):
        self.point = point
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0"
        if LIBC.mount(b"silent", os.fsencode(point), b"fuse", 0, options.encode()) != 0:
            os.close(self.device)
            raise OSError(ctypes.get_errno(), "mount")
        request = os.read(self.device, REQUEST_BYTES)
        _, opcode, unique, *_ = HEADER.unpack_from(request)
        assert opcode == INIT
        answer = INIT_ANSWER.pack(7, 31, 0, 0, 12, 9, 4096, 1, 0, 0, 0)
        os.write(self.device, ANSWER.pack(ANSWER.size + len(answer), 0, unique) + answer)

    def close(self):
        LIBC.umount2(os.fsencode(self.point), MNT_DETACH)
        os.close(self.device)


class Hung(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        if os.geteuid() != 0 or not os.path.exists("/dev/fuse"):
            self.skipTest("needs root and FUSE")
        self.point = self.folder / "fm"
        self.point.mkdir()
        self.system = SilentFileSystem(self.point)
        self.addCleanup(self.system.close)

    def start_reader(self):
        """A program that opens a file below the mount once it gets a line."""
        process = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.readline(); open('fm/src')"], cwd=self.folder,
                                   stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(process.stdin.close)
        self.addCleanup(lambda: (process.kill(), process.wait()))
        return process

    def make_it_hang(self, process):
        process.stdin.write("\n")
        process.stdin.flush()
        harness.wait_for(lambda: "request_wait_answer" in pathlib.Path(f"/proc/{process.pid}/stack").read_text(), "its open")

    def check(self, recording, pid):
        self.require(recording, "syscall", "sched")
        self.assert_adds_up(recording)
        (call,) = recording.query("SELECT pid, comm, call, path, reason, waited_in, ts_ns, duration_ns FROM hung_calls")
        self.assertEqual((call["pid"], call["comm"], call["call"]), (pid, "python3", "openat"))
        self.assertTrue(call["path"].endswith("fm/src"), call)
        self.assertEqual((call["reason"], call["waited_in"]), ("server", "request_wait_answer"))
        first = " ".join(harness.run(harness.IOTRAIL, "report", recording.path).stdout.split())
        self.assertIn(f"python3[{pid}] hangs: openat of ", first)
        self.assertIn(", in request_wait_answer", first)
        # Kernels that do not show the connections of descriptors leave the daemon open beside those of other tests.
        self.assertRegex(first, rf"waiting for (the FUSE daemon [^ ]+\[{os.getpid()}\]|a server) ")
        explained = harness.run(harness.IOTRAIL, "explain", recording.path, "--slowest", 1).stdout
        self.assertIn("openat unfinished of ", explained)
        self.assertIn("request_wait_answer", explained)
        return call

    def test_a_call_from_before_the_recording(self):
        process = self.start_reader()
        begun_ns = time.monotonic_ns()
        self.make_it_hang(process)
        hangs_ns = time.monotonic_ns()
        time.sleep(1.5)
        path = self.folder / "t.iotrail"
        done = harness.run(harness.IOTRAIL, "record", "-o", path, "-p", process.pid, "--time", "100ms")
        self.assertEqual(done.returncode, 0, done.stderr)
        recording = harness.Recording(path, done)
        call = self.check(recording, process.pid)
        self.assertGreaterEqual(call["ts_ns"], begun_ns - 100_000_000)
        self.assertLess(call["ts_ns"], hangs_ns + 500_000_000, "it began before the pause")
        self.assertLess(call["ts_ns"], recording.manifest["begin_ns"])
        self.assertLessEqual(call["ts_ns"] + call["duration_ns"], recording.manifest["end_ns"])

    @harness.long
    def test_a_call_that_begins_in_the_recording(self):
        process = self.start_reader()
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", path, "-p", str(process.pid)], stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(path)
        begun_ns = time.monotonic_ns()
        self.make_it_hang(process)
        time.sleep(1.2)
        recorder.send_signal(signal.SIGINT)
        error = recorder.communicate(timeout=harness.PATIENCE_S)[1]
        recording = harness.Recording(path, subprocess.CompletedProcess([], recorder.returncode, "", error))
        call = self.check(recording, process.pid)
        self.assertGreaterEqual(call["ts_ns"], begun_ns)


if __name__ == "__main__":
    harness.main()
