# SPDX-License-Identifier: BSD-3-Clause
"""A program waits for a FUSE daemon, `iotrail mount`: the trace says which process that is, and how long it
took. The oracle is a daemon that the test stops and continues."""
import json
import os
import pathlib
import signal
import subprocess
import time

import harness

STOPPED_S = 0.3
CONTENT = b"x" * (256 << 10)


class FuseDaemon(harness.FuseTest):
    def setUp(self):
        super().setUp()
        (self.backend / "file").write_bytes(CONTENT)
        self.path = self.folder / "t.iotrail"

    def mount(self):
        daemon = subprocess.Popen([harness.IOTRAIL, "mount", self.backend, self.point, "-o", self.folder / "mount.iotrail"],
                                  stderr=subprocess.DEVNULL)
        self.addCleanup(daemon.wait)
        self.addCleanup(daemon.kill)
        self.addCleanup(daemon.send_signal, signal.SIGCONT)
        harness.wait_for(lambda: os.path.ismount(self.point), "the mount")
        return daemon

    def record_cat(self, daemon):
        """A recording of cat, which waits while the daemon is stopped, and for how long at least."""
        os.kill(daemon.pid, signal.SIGSTOP)
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", self.path, "--", "cat", self.point / "file"],
                                    stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.kill)

        def waiting():
            return any("fuse" in pathlib.Path(f"/proc/{cat}/stack").read_text() for cat in harness.children(recorder.pid, "cat"))
        harness.wait_for(waiting, "a wait of cat for the daemon")
        begun_ns = time.monotonic_ns()
        time.sleep(STOPPED_S)
        stopped_ns = time.monotonic_ns() - begun_ns
        os.kill(daemon.pid, signal.SIGCONT)
        error = recorder.communicate(timeout=harness.PATIENCE_S)[1]
        self.assertEqual(recorder.returncode, 0, error)
        return harness.Recording(self.path, subprocess.CompletedProcess([], 0, "", error)), stopped_ns

    def test_the_daemon_has_a_name_and_its_time(self):
        daemon = self.mount()
        device = os.stat(self.point).st_dev
        recording, stopped_ns = self.record_cat(daemon)
        self.require(recording, "syscall", "sched")
        self.assert_adds_up(recording)
        name = f"iotrail[{daemon.pid}]"
        (known,) = recording.query(f"SELECT * FROM fuse_daemons WHERE mount_point = '{self.point}'")
        self.assertEqual((known["pid"], known["comm"]), (daemon.pid, "iotrail"))
        self.assertEqual(int(known["device"]), os.major(device) << 20 | os.minor(device))
        waits = recording.query("SELECT * FROM server_waits")
        self.assertEqual([(row["daemon"], row["file_system"], row["mount_point"]) for row in waits], [(name, "fuse", str(self.point))], waits)
        self.assertGreaterEqual(int(waits[0]["wait_ns"]), stopped_ns)
        in_calls = recording.value(f"SELECT total(duration_ns) FROM operations WHERE layer = 'syscall' AND starts_with(path, '{self.point}')")
        self.assertLessEqual(int(waits[0]["wait_ns"]), int(in_calls))
        # A page of a file that a daemon provides comes from no disk.
        reasons = {row["reason"] for row in recording.query("SELECT DISTINCT reason FROM waits JOIN served_ops ON op_id = waiting_op")}
        self.assertNotIn("page_read", reasons)

        def said(*words):
            return " ".join(harness.run(harness.IOTRAIL, *words).stdout.split())
        self.assertIn(f"waiting for the FUSE daemon {name}", said("report", self.path))
        listed = harness.run(harness.IOTRAIL, "list", "--json", env=os.environ | {"IOTRAIL_REPOSITORY": str(self.folder)})
        self.assertEqual([trace["tags"] for trace in json.loads(listed.stdout)["traces"]], [{}, {}], "what the recorder noted is no tag of a user")
        self.assertIn(name, said("report", self.path, "--full"))
        self.assertIn(f"FUSE daemon {name}", said("explain", self.path, "--slowest", 1))

    def test_a_daemon_of_the_recording_itself(self):
        """It does not yet run when the recording begins, and has ended before the recording ends."""
        script = (f"{harness.IOTRAIL} mount {self.backend} {self.point} -o {self.folder}/mount.iotrail & daemon=$!; echo $daemon; "
                  f"until mountpoint -q {self.point}; do sleep 0.1; done; cat {self.point}/file >/dev/null; sleep 0.5; kill -INT $daemon; wait $daemon")
        recording = self.record("sh", "-c", script, expect=None)
        pid = int(recording.process.stdout.split()[0])
        self.require(recording, "syscall", "sched")
        daemons = recording.query(f"SELECT pid, comm FROM fuse_daemons WHERE mount_point = '{self.point}'")
        self.assertEqual([(row["pid"], row["comm"]) for row in daemons], [(pid, "iotrail")])


if __name__ == "__main__":
    harness.main()
