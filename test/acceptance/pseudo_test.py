# SPDX-License-Identifier: BSD-3-Clause
"""Pseudo file systems, which show the kernel's state, are excluded by default, and nothing else is."""
import shutil
import sys

import harness


class PseudoFileSystems(harness.AcceptanceTest):
    def on_pseudo(self, recording):
        """Events by layer and file system, for files of /proc and /sys, and for real files beside
        them."""
        rows = recording.query("SELECT e.layer AS layer, regexp_extract(f.path, '^/(proc|sys|dev/null|dev/shm)', 1) AS place, count(*) AS n "
                               "FROM events e JOIN files f USING (file) WHERE e.layer IN ('app', 'syscall') AND place <> '' "
                               "AND e.call IN ('pread64', 'pwrite64', 'sendfile', 'sendfile64') GROUP BY ALL")
        return {(row["layer"], row["place"]): int(row["n"]) for row in rows}

    def test_are_left_out_unless_asked_for(self):
        program = """
import os
def each(path, flags, call, count):
    file = os.open(path, flags, 0o600)
    for turn in range(count):
        call(file)
    os.close(file)
each('/proc/self/status', os.O_RDONLY, lambda file: os.pread(file, 4096, 0), 4)
each('/sys/kernel/mm/transparent_hugepage/enabled', os.O_RDONLY, lambda file: os.pread(file, 100, 0), 3)
each('/dev/null', os.O_WRONLY, lambda file: os.pwrite(file, b'x', 0), 5)
each(f'/dev/shm/iotrail-{os.getpid()}', os.O_RDWR | os.O_CREAT, lambda file: os.pwrite(file, b'x', 0), 6)
os.unlink(f'/dev/shm/iotrail-{os.getpid()}')
# A sendfile to a real file belongs to that file.
to = os.open('/dev/null', os.O_WRONLY)
each('/sys/kernel/mm/transparent_hugepage/enabled', os.O_RDONLY, lambda file: os.sendfile(to, file, 0, 10), 1)
"""
        def recorded(*options, layers="app,syscall"):
            shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
            recording = self.record(sys.executable, "-S", "-c", program, options=["--layers", layers, *options])
            self.require(recording, "syscall")
            self.assert_adds_up(recording)
            return recording
        kept = {(layer, place): n for layer in ("app", "syscall") for place, n in (("dev/null", 5), ("dev/shm", 6))}
        def of_pseudo(recording, layer):
            return recording.value("SELECT count(*) FROM events e JOIN files f USING (file) "
                                   f"WHERE regexp_matches(f.path, '^/(proc|sys)/') AND e.layer = '{layer}'")
        layers = ("app", "syscall")
        whole = recorded("--pseudo")
        self.assertEqual(self.on_pseudo(whole), kept | {(layer, place): 4 for layer in layers for place in ("proc", "sys")})
        self.assertNotIn("kernel_pseudo_left_out", whole.manifest["counters"])
        all_of_pseudo = {layer: of_pseudo(whole, layer) for layer in layers}
        recording = recorded()
        self.assertEqual(self.on_pseudo(recording), kept | {(layer, "sys"): 1 for layer in layers})
        for layer, counter in zip(layers, ("preload_pseudo_left_out", "kernel_pseudo_left_out")):
            self.assertEqual(recording.manifest["counters"][counter], all_of_pseudo[layer] - of_pseudo(recording, layer), "each is counted")
            self.assertIn(f"{counter} ", recording.process.stderr)
        self.assertEqual(self.on_pseudo(recorded("--dir", "/proc", layers="syscall")), {("syscall", "proc"): 4})
        named = "/sys/kernel/mm/transparent_hugepage/enabled"
        self.assertEqual(self.on_pseudo(recorded("--file", named, layers="syscall")), {("syscall", "sys"): 4})
        stat = harness.run(harness.IOTRAIL, "stat", "--layers", "syscall", "--file", named, "--", sys.executable, "-S", "-c", program)
        self.assertNotIn("pseudo", stat.stderr)
        self.assertIn(named, stat.stderr)
        stat = harness.run(harness.IOTRAIL, "stat", "--layers", "syscall", "--", sys.executable, "-S", "-c", program)
        self.assertRegex(stat.stderr, r"\d+ operations on pseudo file systems")

    def test_are_none_that_hold_or_move_data(self):
        program = """
import mmap, os, select, socket
def use(file):
    os.ftruncate(file, 4096)
    os.pwrite(file, b'x', 0)
    mmap.mmap(file, 4096).close()
    os.close(file)
use(os.memfd_create('of memory'))
path = f'/dev/shm/iotrail-{os.getpid()}'
use(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
os.unlink(path)
os.close(os.memfd_create('of large pages', os.MFD_HUGETLB))
for device in ('/dev/null', '/dev/zero', '/dev/urandom'):
    file = os.open(device, os.O_RDWR)
    os.read(file, 8)
    if device != '/dev/urandom':
        os.write(file, b'x')
    if device == '/dev/zero':
        mmap.mmap(file, 4096, mmap.MAP_PRIVATE).close()
    os.close(file)
for ends in (os.pipe(), os.openpty(), (os.eventfd(0),) * 2):
    os.write(ends[1], b'12345678')
    os.close(ends[0])
one, other = socket.socketpair()
one.send(b'x')
with select.epoll() as poll:
    poll.register(other.fileno())
    poll.poll(0)
other.recv(1)
os.close(os.open('/proc/self/status', os.O_RDONLY))
"""
        def calls(*options):
            shutil.rmtree(self.folder / "t.iotrail", ignore_errors=True)
            recording = self.record(sys.executable, "-S", "-c", program, options=["--layers", "syscall", *options])
            self.require(recording, "syscall")
            rows = recording.query("SELECT e.call AS call, count(*) AS n FROM events e LEFT JOIN files f USING (file) WHERE e.layer = 'syscall' "
                                   "AND NOT regexp_matches(coalesce(f.path, ''), '^/(proc|sys)/') GROUP BY ALL")
            return {row["call"]: int(row["n"]) for row in rows}, recording.manifest["counters"].get("kernel_pseudo_left_out", 0)
        whole, none = calls("--pseudo")
        self.assertEqual(none, 0)
        left, some = calls()
        self.assertGreater(some, 0)
        self.assertEqual(left, whole)
        for call, least in {"memfd_create": 2, "ftruncate": 2, "pwrite64": 2, "write": 5, "sendto": 1, "recvfrom": 1, "epoll_ctl": 1, "epoll_wait": 1}.items():
            self.assertGreaterEqual(left.get(call, 0), least, call)


if __name__ == "__main__":
    harness.main()
