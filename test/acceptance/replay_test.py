# SPDX-License-Identifier: BSD-3-Clause
"""Recordings of real programs are made again below a directory, and recorded once more."""
import os
import re
import sys

import harness

KERNEL = ("-l", "syscall") if os.geteuid() == 0 else ("-l", "app")
THREADS = """
import os, sys, threading
def work(number):
    file = os.open(f"{sys.argv[1]}/thread{number}", os.O_RDWR | os.O_CREAT)
    for n in range(50):
        os.pwrite(file, b"x" * (1000 + number), n * 5000)
        os.pread(file, 700, n * 5000)
    os.ftruncate(file, 123456)
    os.fdatasync(file)
    os.close(file)
threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
for thread in threads: thread.start()
for thread in threads: thread.join()
with open(f"{sys.argv[1]}/sparse", "wb") as file:
    file.seek(64 << 20)
    file.write(b"end")
"""


class Replay(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.data = self.folder / "data"
        self.data.mkdir()

    def replay(self, trace, *options, expect=0):
        into = self.folder / "again"
        done = harness.run(harness.IOTRAIL, "replay", trace, "--into", into, "--speed", "max", *options)
        self.assertEqual(done.returncode, expect, done.stderr + done.stdout)
        return into, done

    def assert_replayed_and_recorded(self, recording):
        """The recording of the replay has the same calls, also as SQL over both counts them."""
        into, done = self.replay(recording.path, "--record", self.folder / "second.iotrail")
        self.assertRegex(done.stdout, "The recording of the replay agrees: ")
        second = harness.Recording(self.folder / "second.iotrail", done)
        sql = ("SELECT class, count(*) AS n, sum(bytes) AS bytes, sum(position) AS positions FROM file_transfers WHERE moves_bytes(class) AND NOT copies(class) "
               "AND bytes > 0 AND NOT is_error(error) AND starts_with(path, '{}') GROUP BY ALL ORDER BY ALL")
        original = recording.query(sql.format(self.data))
        self.assertTrue(original)
        self.assertEqual(second.query(sql.format(f"{into}{self.data}")), original)
        return into

    def sizes(self, folder):
        return {str(file.relative_to(folder)): file.stat().st_size for file in folder.rglob("*") if file.is_file()}

    def test_threads_and_holes(self):
        recording = self.record(sys.executable, "-c", THREADS, self.data, options=KERNEL)
        into = self.assert_replayed_and_recorded(recording)
        copy = into / str(self.data)[1:]
        self.assertEqual(self.sizes(copy), self.sizes(self.data))
        self.assertLess((copy / "sparse").stat().st_blocks * 512, 1 << 20)

    def test_sqlite(self):
        self.require_program("sqlite3")
        base = self.data / "shop.db"
        sql = "CREATE TABLE a(b); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5000) INSERT INTO a SELECT randomblob(100) FROM n;"
        self.assertEqual(harness.run("sqlite3", base, sql).returncode, 0)
        recording = self.record("sqlite3", base, "UPDATE a SET b = randomblob(100) WHERE rowid % 7 = 0; SELECT sum(length(b)) FROM a;", options=KERNEL)
        into = self.assert_replayed_and_recorded(recording)
        self.assertEqual((into / str(base)[1:]).stat().st_size, base.stat().st_size)

    @harness.long
    def test_git(self):
        self.require_program("git")
        for n in range(20):
            (self.data / f"file{n}").write_text(f"{n}\n" * 100)
        script = "git init -q . && git add . && git -c user.name=a -c user.email=b commit -q -m c && git gc -q"
        recording = self.record("sh", "-c", script, options=KERNEL, cwd=self.data)
        into = self.assert_replayed_and_recorded(recording)
        objects = [name for name in self.sizes(self.data) if name.startswith(".git/objects/")]
        self.assertTrue(objects)
        self.assertLessEqual({*objects}, {*self.sizes(into / str(self.data)[1:])})

    @harness.long
    def test_fio(self):
        self.require_program("fio")
        recording = self.record("fio", "--name=j", f"--directory={self.data}", "--rw=randrw", "--bs=4k", "--size=1m", "--ioengine=psync", "--numjobs=2",
                                "--thread", "--fsync=16", options=KERNEL)
        self.assert_replayed_and_recorded(recording)

    @harness.long
    def test_speed_keeps_the_pauses(self):
        recording = self.record("sh", "-c", f"cd {self.data} && for n in 1 2 3 4; do echo x > $n; sleep 0.2; done", options=KERNEL)
        for speed, least_s in (("1x", 0.55), ("2x", 0.28)):
            into = self.folder / speed
            done = harness.run(harness.IOTRAIL, "replay", recording.path, "--into", into, "--speed", speed)
            self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
            number, unit = re.search(r" in ([\d.]+) (ms|s); recorded", done.stdout).groups()
            self.assertGreater(float(number) / (1000 if unit == "ms" else 1), least_s, done.stdout)

    def test_prepared_files(self):
        (self.data / "a").write_bytes(b"z" * 10000)
        recording = self.record("cat", self.data / "a", options=KERNEL)
        into, _ = self.replay(recording.path, "--prepare")
        self.assertEqual((into / str(self.data)[1:] / "a").stat().st_size, 10000)
        self.replay(recording.path, "--prepared")
        (into / str(self.data)[1:] / "a").unlink()
        _, done = self.replay(recording.path, "--prepared", expect=4)
        self.assertRegex(done.stdout, "recorded .*, replayed No such file")

    def test_refusals(self):
        recording = self.record("cp", "/etc/passwd", self.data / "a", options=KERNEL)
        before = {name: (self.data / name).stat().st_mtime_ns for name in os.listdir(self.data)}
        done = harness.run(harness.IOTRAIL, "replay", recording.path, "--into", self.data)
        self.assertEqual(done.returncode, 1)
        self.assertIn("the directory is not empty, and nothing is written over", done.stderr)
        self.assertEqual({name: (self.data / name).stat().st_mtime_ns for name in os.listdir(self.data)}, before)
        for words, why in ((("--into", self.folder / "no/such"), "No such file"), (("--into", self.data / "a"), "Not a directory"),
                           (("--into", self.folder / "x", "--speed", "0"), "'0' is no speed"), ((), "give either --into DIRECTORY or --device DEVICE")):
            done = harness.run(harness.IOTRAIL, "replay", recording.path, *words)
            self.assertIn(done.returncode, (1, 2), words)
            self.assertIn(why, done.stderr)
        self.assertFalse((self.folder / "x").exists())


if __name__ == "__main__":
    harness.main()
