# SPDX-License-Identifier: BSD-3-Clause
"""Virtual machines (--vm): a real QEMU boots a real kernel with three disks, and the test compares what the guest
did with what the host recorded.

The oracle is the guest: its disks' own counters (/sys/block/vdX/stat), the clusters that it was asked to write, and
their contents. Each cluster names its number, so that the image file itself says what is where."""
import json
import lzma
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess

import harness

CLUSTER_BYTES = 64 << 10
CLUSTERS = 160  # of each disk
DISK_BYTES = CLUSTERS * CLUSTER_BYTES
SECTOR_BYTES = 512
LINE_BYTES = 32
KERNELS = pathlib.Path(__file__).resolve().parents[2] / ".deps/kernels"
MODULES = ("virtio_pci", "virtio_blk")
FAILED, USAGE = 1, 2
# QEMU itself finds out which alignment direct I/O needs, when it opens and when it closes an image. No guest here
# reads the first cluster.
OF_QEMU = "\"position\" = 0 AND bytes <= 4096"
ASKED = "layer IN (SELECT asked_layer FROM asked_layers)"

INIT = """#!/bin/busybox sh
bb=/bin/busybox
$bb mount -t proc proc /proc
$bb mount -t sysfs sysfs /sys
$bb mount -t devtmpfs dev /dev
for module in $($bb cat /modules.order); do $bb insmod /modules/$module; done
exec </dev/ttyS0 >/dev/ttyS0 2>&1
$bb stty -echo
line() { $bb printf '%%-31.31s\\n' "$1 $2"; }
fill() { # DISK CLUSTER: one that names its number
  l=$(line "$1" "$2")
  $bb yes "$l" | $bb head -c %(cluster)d | $bb dd of=/dev/$1 bs=64k seek=$2 iflag=fullblock oflag=direct conv=notrunc,fsync status=none
}
take() { # DISK FIRST COUNT
  $bb dd if=/dev/$1 of=/dev/null bs=64k skip=$2 count=$3 iflag=direct status=none
}
echo iot-ready
while read -r command; do
  eval "$command"
  echo "iot-done $?"
done
"""


def line_of(disk, cluster):
    """What each line of a cluster says."""
    return f"{disk} {cluster}".ljust(LINE_BYTES - 1).encode() + b"\n"


def cluster_of(disk, cluster):
    return line_of(disk, cluster) * (CLUSTER_BYTES // LINE_BYTES)


def make_raw(path, disk):
    path.write_bytes(b"".join(cluster_of(disk, cluster) for cluster in range(CLUSTERS)))
    harness.evict(path)  # what is not written yet would be written during the recording


def make_qcow2(path, backing=None, backing_format="raw", filled_by=None):
    """An image of one L2 table. `filled_by`: the disk's name in its clusters, which are in random places of the file."""
    first = 5  # cluster of the file: header, refcount table, refcount block, L1, L2
    places = list(range(first, first + CLUSTERS)) if filled_by else []
    random.Random(7).shuffle(places)
    extension = struct.pack(">II", 0xe2792aca, len(backing_format)) + backing_format.encode().ljust(8, b"\0") if backing else b""
    name = backing.encode() if backing else b""
    name_at = 104 + len(extension) + 8 if backing else 0
    header = struct.pack(">IIQIIQIIQQIIQQQQII", 0x514649fb, 3, name_at, len(name), 16, DISK_BYTES, 0, 1, 3 * CLUSTER_BYTES,
                         CLUSTER_BYTES, 1, 0, 0, 0, 0, 0, 4, 104) + extension + bytes(8) + name
    used = first + len(places)
    parts = [header, struct.pack(">Q", 2 * CLUSTER_BYTES), struct.pack(">H", 1) * used,
             struct.pack(">Q", 4 * CLUSTER_BYTES | 1 << 63), b"".join(struct.pack(">Q", place * CLUSTER_BYTES | 1 << 63) for place in places)]
    contents = {place: cluster_of(filled_by, cluster) for cluster, place in enumerate(places)}
    with open(path, "wb") as file:
        for part in parts:
            file.write(part.ljust(CLUSTER_BYTES, b"\0"))
        for place in range(first, used):
            file.write(contents[place])
    harness.evict(path)


def find_kernel():
    """The directory and release of a kernel that tests may boot."""
    for directory in (KERNELS / "6.12", KERNELS / "6.1"):
        if (directory / "release").exists():
            return directory, (directory / "release").read_text().strip()
    return None


class Guest:
    """A machine with a shell on its serial line."""

    def __init__(self, arguments, log):
        self.log = log
        with open(log, "wb") as errors:
            self.process = subprocess.Popen(["qemu-system-x86_64", *map(str, arguments)], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=errors)
        self.read_until("iot-ready")

    def read_until(self, mark):
        """The lines before the one that begins with it, and that line."""
        lines = []
        for line in self.process.stdout:
            text = line.decode(errors="replace").strip()
            if text.startswith(mark):
                return lines, text
            lines.append(text)
        raise AssertionError(f"the guest ended: {lines[-20:]} {self.log.read_text()}")

    def do(self, command):
        self.process.stdin.write(command.encode() + b"\n")
        self.process.stdin.flush()
        lines, end = self.read_until("iot-done")
        if end != "iot-done 0":
            raise AssertionError(f"{command}: {end} {lines}")
        return lines

    def moved(self, disk):
        """Bytes that the guest's disk has read and written."""
        fields = self.do(f"$bb cat /sys/block/{disk}/stat")[-1].split()
        return int(fields[2]) * SECTOR_BYTES, int(fields[6]) * SECTOR_BYTES

    def power_off(self):
        self.process.stdin.write(b"echo o >/proc/sysrq-trigger\n")
        self.process.stdin.flush()
        self.process.stdout.read()
        self.process.wait(timeout=harness.PATIENCE_S)

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.communicate()


class VirtualMachines(harness.AcceptanceTest):
    DISKS = ("vda", "vdb", "vdc")
    # The guest writes these, in this order, so that the places in the file differ from the guest's.
    WRITTEN = {"vda": (37, 5, 100, 6, 99), "vdb": (3, 90, 2, 41), "vdc": (11, 70, 12)}
    LATER = {"vda": (120, 50), "vdb": (130,), "vdc": (99,)}

    def setUp(self):
        super().setUp()
        self.require_program("qemu-system-x86_64", "busybox", "cpio", "modprobe")
        if os.geteuid() != 0:
            self.skipTest("needs root to record a process that runs")
        if (found := find_kernel()) is None:
            self.skipTest("no kernel to boot: run test/vm/fetch-kernels")
        self.kernel, self.release = found
        self.name = f"iot-{os.getpid()}"

    def make_initramfs(self):
        root = self.folder / "root"
        for name in ("bin", "proc", "sys", "dev", "modules"):
            (root / name).mkdir(parents=True)
        shutil.copy(shutil.which("busybox"), root / "bin/busybox")
        (root / "init").write_text(INIT % {"cluster": CLUSTER_BYTES})
        (root / "init").chmod(0o755)
        order = []
        for module in MODULES:
            shown = harness.run("modprobe", "-d", self.kernel, "-S", self.release, "--show-depends", module)
            self.assertEqual(shown.returncode, 0, shown.stderr)
            for line in shown.stdout.splitlines():
                path = pathlib.Path(line.split()[1]) if line.startswith("insmod ") else None
                if path and path.name not in order:
                    order.append(path.name)
                    data = path.read_bytes()
                    (root / "modules" / path.name).write_bytes(lzma.decompress(data) if path.suffix == ".xz" else data)
        (root / "modules.order").write_text("\n".join(order))
        archive = self.folder / "initramfs"
        names = "\n".join(str(path.relative_to(root)) for path in sorted(root.rglob("*")))
        with open(archive, "wb") as file:
            subprocess.run(["cpio", "--quiet", "-o", "-H", "newc", "-R", "0:0"], input=names.encode(), stdout=file, cwd=root, check=True)
        return archive

    def make_images(self):
        """Three disks: QCOW2 on QCOW2, QCOW2 on RAW, RAW."""
        make_qcow2(self.folder / "base a.qcow2", filled_by="vda")
        make_qcow2(self.folder / "a.qcow2", "base a.qcow2", "qcow2")
        make_raw(self.folder / "base b.raw", "vdb")
        make_qcow2(self.folder / "b.qcow2", str(self.folder / "base b.raw"))
        make_raw(self.folder / "c.raw", "vdc")

    def start(self):
        """With the three ways in which QEMU makes I/O: libaio in a thread of its own, threads, io_uring."""
        self.make_images()
        node = {"driver": "qcow2", "node-name": "a", "cache": {"direct": True},
                "file": {"driver": "file", "filename": str(self.folder / "a.qcow2"), "aio": "native", "cache": {"direct": True}}}
        guest = Guest(["-name", f"guest={self.name},debug-threads=on", "-nodefaults", "-display", "none", "-no-reboot", "-accel", "tcg",
                       "-cpu", "max", "-m", "256M", "-serial", "stdio",
                       "-kernel", self.kernel / f"boot/vmlinuz-{self.release}", "-initrd", self.make_initramfs(),
                       "-append", "console=ttyS0 quiet loglevel=1 panic=-1 no_timer_check",
                       "-object", "iothread,id=io0",
                       "-blockdev", json.dumps(node), "-device", "virtio-blk-pci,drive=a,id=disk-a,iothread=io0",
                       "-drive", f"file={self.folder / 'b.qcow2'},format=qcow2,if=none,id=b,cache=writeback,aio=threads",
                       "-device", "virtio-blk-pci,drive=b,id=disk-b",
                       "-drive", f"file={self.folder / 'c.raw'},format=raw,if=none,id=c,cache=none,aio=io_uring",
                       "-device", "virtio-blk-pci,drive=c,id=disk-c"], self.folder / "qemu.log")
        self.addCleanup(guest.kill)
        return guest

    def begin(self, name, *options):
        path = self.folder / f"{name}.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-l", "syscall,vfs,async,block", "-o", path, *map(str, options)],
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(recorder.stdout.close)
        self.addCleanup(recorder.stderr.close)
        harness.wait_until_running(path)
        return recorder, path

    def end(self, recorder, path):
        _, errors = recorder.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(recorder.returncode, 0, errors)
        recording = harness.Recording(path, None)
        self.require(recording, "syscall")
        self.assert_adds_up(recording)
        return recording

    def use(self, guest, written):
        """Writes clusters and reads others; the bytes by the guest's own counters."""
        before = {disk: guest.moved(disk) for disk in self.DISKS}
        for disk in self.DISKS:
            for cluster in written[disk]:
                guest.do(f"fill {disk} {cluster}")
            guest.do(f"take {disk} {written[disk][0]} 1")  # from the drive's own image
            guest.do(f"take {disk} 20 8")  # nothing was written there
        after = {disk: guest.moved(disk) for disk in self.DISKS}
        return {disk: tuple(now - then for now, then in zip(after[disk], before[disk])) for disk in self.DISKS}

    def assert_is_as_the_guest_says(self, recording, guest, written, moved):
        rows = recording.query("SELECT * FROM vm_disks ORDER BY drive, depth")
        self.assertEqual([(row["drive"], row["depth"], pathlib.Path(row["path"]).name, row["format"], row["is_mapped"]) for row in rows],
                         [("disk-a", 0, "a.qcow2", "qcow2", 1), ("disk-a", 1, "base a.qcow2", "qcow2", 1),
                          ("disk-b", 0, "b.qcow2", "qcow2", 1), ("disk-b", 1, "base b.raw", "raw", 1), ("disk-c", 0, "c.raw", "raw", 1)])
        for row in rows:
            self.assertEqual((row["machine"], row["pid"]), (self.name, guest.process.pid))
            self.assertEqual(row["guest_bytes"], DISK_BYTES)
            self.assertEqual((row["unknown_bytes_read"], row["unknown_bytes_written"]), (0, 0), row)
            if row["depth"] == 1:
                self.assertGreater(row["data_bytes_read"], 0)
                self.assertEqual(row["data_bytes_written"] + row["metadata_bytes_written"], 0, "a base image")
            elif row["format"] == "qcow2":
                self.assertGreater(row["metadata_bytes_written"], 0, "its tables have changed")
            else:
                self.assertEqual(row["metadata_bytes_read"] + row["metadata_bytes_written"], 0)
        for disk, drive in zip(self.DISKS, ("disk-a", "disk-b", "disk-c")):
            own = [row for row in rows if row["drive"] == drive]
            probed = recording.value(f"SELECT coalesce(sum(data_bytes), 0) FROM vm_accesses WHERE drive = '{drive}' AND {ASKED} AND {OF_QEMU}")
            self.assertEqual((sum(row["data_bytes_read"] for row in own) - int(probed), sum(row["data_bytes_written"] for row in own)),
                             moved[disk], disk)
            self.assertEqual(moved[disk], (9 * CLUSTER_BYTES, len(written[disk]) * CLUSTER_BYTES), disk)
            # libaio and io_uring bypass layer vfs; the bios of the page cache are in other pieces.
            for layer in ("asked", "vfs") if drive == "disk-b" else ("asked", "block"):
                if layer == "asked" or layer in recording.layers_recorded():
                    self.assert_places(recording, layer, drive, disk, written[disk])
        self.assert_all_is_the_machines(recording, guest)

    def assert_places(self, recording, layer, drive, disk, written):
        """The guest's clusters, by the guest and by the content of the image at the place that was accessed."""
        chosen = ASKED if layer == "asked" else f"layer = '{layer}'"
        for direction, expected in (("write", sorted(written)), ("read", sorted([written[0], *range(20, 28)]))):
            rows = recording.query("SELECT path, \"position\", bytes, guest_offset FROM vm_accesses "
                                   f"WHERE drive = '{drive}' AND direction = '{direction}' AND data_bytes > 0 AND NOT ({OF_QEMU}) AND {chosen}")
            moved = []
            for row in rows:
                self.assertIsNotNone(row["guest_offset"], row)
                moved += range(row["guest_offset"], row["guest_offset"] + row["bytes"], SECTOR_BYTES)
                with open(row["path"], "rb") as file:
                    file.seek(row["position"])
                    content = file.read(LINE_BYTES)
                self.assertEqual(content, line_of(disk, row["guest_offset"] // CLUSTER_BYTES), row)
            whole = [sector for cluster in expected for sector in range(cluster * CLUSTER_BYTES, (cluster + 1) * CLUSTER_BYTES, SECTOR_BYTES)]
            self.assertEqual(sorted(moved), whole, f"{layer} {disk} {direction}")

    def assert_all_is_the_machines(self, recording, guest):
        """All calls come from the machine's process, in whatever thread."""
        self.assertEqual([row["pid"] for row in recording.query("SELECT DISTINCT pid FROM all_events WHERE layer IN ('syscall', 'async')")],
                         [guest.process.pid])
        calls = {row["call"] for row in recording.query("SELECT DISTINCT call FROM all_events WHERE event IN ('async_operation', 'syscall_write')")}
        self.assertTrue({"pwritev", "pwrite64"} & calls, calls)
        self.assertTrue(any(call.startswith("IOCB_CMD_PWRITE") for call in calls), calls)
        self.assertTrue(any(call.startswith("IORING_OP_WRITE") for call in calls), calls)
        if "block" in recording.layers_recorded():
            # Past the page cache: what the machine asked for is what the disk moved.
            for row in recording.query("SELECT * FROM vm_disks WHERE drive IN ('disk-a', 'disk-c')"):
                self.assertEqual(row["device_bytes_read"], row["data_bytes_read"] + row["metadata_bytes_read"], row)
                self.assertEqual(row["device_bytes_written"], row["data_bytes_written"] + row["metadata_bytes_written"], row)
            self.assertEqual(recording.value("SELECT sum(data_bytes) FROM vm_accesses WHERE layer = 'block' AND drive = 'disk-b' AND direction = 'write'"),
                             recording.value("SELECT sum(data_bytes_written) FROM vm_disks WHERE drive = 'disk-b'"), "written back for the guest's fsync")

    def test_a_guest_with_three_disks(self):
        guest = self.start()
        recorder, path = self.begin("running", "--vm", self.name)
        moved = self.use(guest, self.WRITTEN)
        recorder.send_signal(signal.SIGINT)
        recording = self.end(recorder, path)
        self.assertEqual(recording.manifest["filters"], [f"--vm {self.name}"])
        self.assert_is_as_the_guest_says(recording, guest, self.WRITTEN, moved)
        report = harness.run(harness.IOTRAIL, "report", path, "--full")
        _, _, section = report.stdout.partition("\nDisks of virtual machines\n")
        self.assertRegex(section.splitlines()[1] if section else report.stderr, rf"^  {self.name} +disk-a +64.0 KiB +320 KiB ")

        self.assert_refused(guest)

        # Until the machine ends: its images are then read although it has closed them.
        recorder, path = self.begin("ended", "--vm", guest.process.pid)
        moved = self.use(guest, self.LATER)
        guest.power_off()
        recording = self.end(recorder, path)
        self.assert_is_as_the_guest_says(recording, guest, self.LATER, moved)

    def assert_refused(self, guest):
        def refused(status, *options, says):
            process = harness.run(harness.IOTRAIL, "record", "-o", self.folder / "refused.iotrail", *options)
            self.assertEqual(process.returncode, status, process.stderr)
            self.assertIn(says, process.stderr)
        refused(FAILED, "--vm", "no such machine", says=f"{self.name} (PID {guest.process.pid})")
        refused(FAILED, "--vm", os.getpid(), says="none has this name or PID")
        refused(USAGE, "--vm", self.name, "--", "true", says="a command excludes")
        refused(USAGE, "--vm", self.name, "--system", says="--system excludes")


if __name__ == "__main__":
    harness.main()
