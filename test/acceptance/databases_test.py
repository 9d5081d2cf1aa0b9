# SPDX-License-Identifier: BSD-3-Clause
"""Databases and other real programs on a disk of their own: compares with their statistics and the
disk's counters, and finds a cause for each byte."""
import glob
import os
import pathlib
import re
import shutil

import harness

DISK_BYTES = 1 << 30
LEAST_SHARE = 0.995  # minimum share of the disk's bytes that have a cause
SOURCE_TREE = pathlib.Path(__file__).resolve().parent.parent.parent
TABLE = "create table if not exists t(x);"
MANY_ROWS = "with recursive n(i) as (select 1 union all select i + 1 from n where i < 20000) insert into t select hex(i) from n;"


class Databases(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.device, self.point = self.make_disk("ext4", DISK_BYTES)
        self.name = pathlib.Path(self.device).name

    def completed(self):
        """Bytes read and written, and flushes, by the disk's own counters."""
        words = [int(word) for word in pathlib.Path(f"/sys/block/{self.name}/stat").read_text().split()]
        return {"read": words[2] * 512, "write": words[6] * 512, "flush": words[15]}

    def record_on_disk(self, *command):
        """Records the command until its data is on the disk."""
        before = self.completed()
        recording = self.record("bash", "-c", '"$@" && sync -f "$0"', self.point, *command, options=["-q"])
        after = self.completed()
        self.require(recording, "syscall", "cache", "block")
        self.assert_adds_up(recording, lost=None)
        self.check_completed(recording, {way: after[way] - before[way] for way in before})
        verified = harness.run(harness.IOTRAIL, "verify", recording.path)
        self.assertEqual(verified.returncode, 0, verified.stdout + verified.stderr)
        return recording

    def check_completed(self, recording, counted):
        """At most the disk's bytes: no recording has what the journal commits in its own time or
        for other syncs."""
        rows = recording.query(
            "SELECT c.direction, c.completed, c.attributed FROM conservation AS c JOIN devices AS d USING (device) "
            f"WHERE d.name = '{self.name}'")
        for row in rows:
            completed, attributed = int(row["completed"]), int(row["attributed"])
            self.assertLessEqual(completed, counted[row["direction"]])
            self.assertGreaterEqual(attributed, LEAST_SHARE * completed, row["direction"])
        flushes = recording.value("SELECT count(*) FROM block_complete AS b JOIN devices AS d USING (device) "
                                  f"WHERE d.name = '{self.name}' AND choice_text('block', b.flags) = 'flush'")
        self.assertLessEqual(flushes, counted["flush"])
        self.assertGreater(flushes, 0)

    def calls_of(self, recording, table, path, condition="true"):
        """(calls, bytes) on files with such a path."""
        (row,) = recording.query(f"SELECT count(*) AS calls, coalesce(sum(c.result), 0) AS bytes FROM {table} AS c "
                                 f"JOIN files AS f USING (file) WHERE f.path LIKE '{self.point}/{path}' AND {condition}")
        return int(row["calls"]), int(row["bytes"])

    def test_sqlite_with_a_write_ahead_log(self):
        self.require_program("sqlite3")
        database = self.point / "wal.db"
        recording = self.record_on_disk("sqlite3", database, f"pragma journal_mode=wal; {TABLE} {MANY_ROWS} pragma wal_checkpoint(truncate);")
        self.assertEqual(self.calls_of(recording, "syscall_write", "wal.db")[1] % 4096, 0)
        self.assertGreaterEqual(self.calls_of(recording, "syscall_write", "wal.db")[1], database.stat().st_size)

    def test_sqlite_with_a_rollback_journal(self):
        """In each transaction the journal, the directory and the database wait for the disk."""
        self.require_program("sqlite3")
        transactions = 20
        insert = "begin; insert into t values(randomblob(3000)); commit;"
        recording = self.record_on_disk("sqlite3", self.point / "r.db", TABLE + insert * transactions)
        syncs = self.calls_of(recording, "syscall_sync", "r.db", "c.call = 'fdatasync'")[0]
        self.assertEqual(syncs, 1 + transactions)

    def test_rocksdb(self):
        self.require_program("db_bench")
        folder, syncs = self.point / "rocks", 2000
        recording = self.record_on_disk(
            "db_bench", f"--db={folder}", "--benchmarks=fillrandom,flush,readrandom,fillsync", "--num=100000", "--reads=20000",
            f"--writes={syncs}", "--value_size=400", "--compression_type=none", "--statistics=1")
        statistics = {name: int(count) for name, count in re.findall(r"(rocksdb[\w.]+) COUNT : (\d+)", recording.process.stdout)}
        self.assertEqual(self.calls_of(recording, "syscall_sync", "rocks/%.log", "c.call = 'fdatasync'")[0], statistics["rocksdb.wal.synced"])
        self.assertEqual(self.calls_of(recording, "syscall_read", "rocks/%.sst"),
                         (statistics["rocksdb.non.last.level.read.count"] + statistics["rocksdb.last.level.read.count"],
                          statistics["rocksdb.non.last.level.read.bytes"] + statistics["rocksdb.last.level.read.bytes"]))
        self.assertGreater(statistics["rocksdb.wal.synced"], 0)
        self.assertNotIn("stored through mappings", [row["part"] for row in recording.query("FROM byte_balance")],
                         "RocksDB maps no file that it writes")

    def test_postgresql(self):
        """The server counts itself how often it wrote its log and waited for it."""
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs or shutil.which("setpriv") is None or os.geteuid() != 0:
            self.skipTest("needs PostgreSQL, setpriv and root")
        programs = pathlib.Path(programs[-1])
        folder = self.point / "postgres"
        folder.mkdir()
        shutil.chown(folder, "postgres")
        self.folder.chmod(0o711)
        as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        if harness.run(*as_server, "test", "-w", folder).returncode:
            self.skipTest(f"PostgreSQL's user cannot come to {folder}")
        made = harness.run(*as_server, programs / "initdb", "-D", folder / "data", "-A", "trust", "-N")
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(folder / "data" / "postgresql.conf", "a") as settings:
            settings.write(f"listen_addresses = ''\nunix_socket_directories = '\"{folder}\"'\nshared_buffers = 16MB\nautovacuum = off\n")
        script = f"""
set -e
cd "{folder}"
export PGHOST="{folder}" PGDATABASE=postgres PATH="{programs}:$PATH"
pg_ctl -D data -w -l log start >/dev/null
pgbench -i -q -s 2 2>/dev/null >/dev/null
psql -q -c "select pg_stat_reset_shared('wal')" >/dev/null
pgbench -n -c 4 -j 2 -t 300 >/dev/null 2>&1
sleep 2
psql -A -t -c "select wal_write, wal_sync from pg_stat_wal"
pg_ctl -D data -w -m fast stop >/dev/null
"""
        harness.sync_file_system(self.point)
        recording = self.record_on_disk(*as_server, "bash", "-c", script)
        written, synced = map(int, recording.process.stdout.split("|"))
        (times,) = recording.query("SELECT min(ts_ns) AS since, max(ts_ns) AS until FROM process_exec AS e "
                                   "JOIN processes AS p USING (pid) WHERE p.exe LIKE '%/psql'")
        between = f"c.ts_ns BETWEEN {times['since']} AND {times['until']}"
        self.assertEqual(self.calls_of(recording, "syscall_sync", "postgres/data/pg_wal/%", between)[0], synced)
        self.assertEqual(self.calls_of(recording, "syscall_write", "postgres/data/pg_wal/%", between)[0], written)

    @harness.long
    def test_a_repository_that_is_packed(self):
        self.require_program("git")
        made = harness.run("git", "-c", "init.defaultBranch=main", "init", "-q", self.point / "repository")
        self.assertEqual(made.returncode, 0, made.stderr)
        shutil.copytree(SOURCE_TREE / "src", self.point / "repository" / "src")
        git = ["git", "-C", self.point / "repository", "-c", "user.name=t", "-c", "user.email=t@localhost"]
        self.assertEqual(harness.run(*git, "add", "src").returncode, 0)
        self.assertEqual(harness.run(*git, "commit", "-qm", "all").returncode, 0)
        harness.sync_file_system(self.point)
        self.record_on_disk(*git, "gc", "-q", "--prune=now")

    @harness.long
    def test_rsync_that_waits_for_each_file(self):
        self.require_program("rsync")
        recording = self.record_on_disk("rsync", "-a", "--fsync", f"{SOURCE_TREE / 'src'}/", self.point / "copy")
        files = [path for path in (SOURCE_TREE / "src").rglob("*") if path.is_file() and not path.is_symlink()]
        self.assertEqual(self.calls_of(recording, "syscall_sync", "copy/%", "c.call = 'fsync'")[0], len(files))
        self.assertEqual(self.calls_of(recording, "syscall_write", "copy/%")[1], sum(path.stat().st_size for path in files))

    @harness.long
    def test_a_build(self):
        self.require_program("g++")
        for number in range(4):
            (self.point / f"{number}.cpp").write_text("#include <map>\n#include <string>\n"
                                                      f"std::map<std::string, int> table{number}() {{ return {{{{\"a\", 1}}}}; }}\n")
        harness.sync_file_system(self.point)
        recording = self.record_on_disk("bash", "-c", 'cd "$0"; for file in *.cpp; do g++ -O1 -c "$file"; done', self.point)
        sizes = [path.stat().st_size for path in self.point.glob("*.o")]
        self.assertEqual(len(sizes), 4)
        # The assembler leaves holes of a few bytes between sections.
        self.assertGreaterEqual(self.calls_of(recording, "syscall_write", "%.o")[1], 0.98 * sum(sizes))


if __name__ == "__main__":
    harness.main()
