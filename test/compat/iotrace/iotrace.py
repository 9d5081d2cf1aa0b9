# SPDX-License-Identifier: BSD-3-Clause
"""For the tests of the face iotrace: runs it through a link, with a home and a repository of the test's own."""
import contextlib
import fcntl
import json
import mmap
import os
import pathlib
import signal
import struct
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

BLOCK_BYTES = 4096
SECTORS = BLOCK_BYTES // 512
DISK_BYTES = 64 << 20
BLKDISCARD = 0x1277


class IotraceTest(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.home = self.folder / "home"
        self.traces = self.folder / "traces"
        self.home.mkdir()
        self.traces.mkdir()
        self.program = self.folder / "iotrace"
        self.program.symlink_to(harness.IOTRAIL)
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("XDG_")}
        self.environment |= {"HOME": str(self.home), "IOTRAIL_REPOSITORY": str(self.traces)}

    def iotrace(self, *words, expect=0):
        done = harness.run(self.program, *words, env=self.environment)
        self.assertEqual(done.returncode, expect, f"{words}: {done.stderr}")
        return done

    def answer(self, *words):
        return json.loads(self.iotrace(*words).stdout)

    def start(self, *words):
        """A tracer that has begun. `said`: its messages so far."""
        tracer = subprocess.Popen([str(self.program), *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  text=True, env=self.environment)
        self.addCleanup(tracer.stderr.close)
        self.addCleanup(tracer.stdout.close)
        self.addCleanup(tracer.wait)
        self.addCleanup(tracer.kill)
        tracer.said = ""
        for line in tracer.stderr:
            tracer.said += line
            if "tracing started" in line:
                return tracer
        self.fail(f"no tracing: {tracer.said}")

    def stop(self, tracer, expect=0):
        """The summary that the tracer prints."""
        tracer.send_signal(signal.SIGINT)
        return self.end(tracer, expect)

    def end(self, tracer, expect=0):
        out, err = tracer.communicate(timeout=harness.PATIENCE_S)
        self.assertEqual(tracer.returncode, expect, err)
        return json.loads(out)

    @contextlib.contextmanager
    def load(self, device):
        """Reads and writes until the end of the block."""
        self.require_program("fio")
        fio = subprocess.Popen(
            ["fio", "--name=j", f"--filename={device}", "--rw=randrw", "--bs=4k", "--direct=1", "--ioengine=libaio", "--iodepth=64",
             "--time_based", "--runtime=3600"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            fio.terminate()
            fio.wait()

    def disk(self, name="image"):
        return self.make_bare_disk(DISK_BYTES, name=name)

    def lines(self, path, *options):
        return [json.loads(line) for line in
                self.iotrace("--trace-parser", "--io", "--path", path, *options).stdout.splitlines()]

    def dd(self, *words):
        done = harness.run("dd", "status=none", *words)
        self.assertEqual(done.returncode, 0, done.stderr)

    def write(self, device, block, blocks=1):
        with Direct(device) as disk:
            disk.write(block, blocks)

    def read(self, device, block, blocks=1):
        with Direct(device, os.O_RDONLY) as disk:
            disk.read(block, blocks)

    def discard(self, device, block, blocks=1):
        with Direct(device) as disk:
            disk.discard(block, blocks)


class Direct:
    """An open disk, past the page cache. Each call is one I/O."""

    def __init__(self, device, flags=os.O_RDWR):
        self.fd = os.open(device, flags | os.O_DIRECT)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def write(self, block, blocks=1):
        with mmap.mmap(-1, blocks * BLOCK_BYTES) as memory:
            assert os.pwritev(self.fd, [memory], block * BLOCK_BYTES) == len(memory)

    def read(self, block, blocks=1):
        with mmap.mmap(-1, blocks * BLOCK_BYTES) as memory:
            assert os.preadv(self.fd, [memory], block * BLOCK_BYTES) == len(memory)

    def discard(self, block, blocks=1):
        fcntl.ioctl(self.fd, BLKDISCARD, struct.pack("QQ", block * BLOCK_BYTES, blocks * BLOCK_BYTES))
