# SPDX-License-Identifier: BSD-3-Clause
"""The tree of the face iotrc, and of exports, on git, SQLite and fio: headers, quoting against Python's csv, counts and bytes
against the trace, files that begin anew without loss, hashes of names, uploads."""
import collections
import csv
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "compat" / "iotrc.md").read_text()
HEADERS = {
    "fs": "timestamp,operation,pid,tid,command,filename,size,offset,bytes_completed,inode,device,flags,duration_ns,return_value,errno,mmap_prot,mmap_flags,"
          "address,cmdline,ppid,container_id,fs_type,mono_ns",
    "block": "timestamp,operation,pid,tid,command,sector,size,latency_ms,device,flags,cpu_id,ppid,queue_latency_ms,command_flags,operation_code,request_id,mono_ns",
    "cache": "timestamp,pid,command,event_type,inode,page_index,size_pages,cpu_id,device_id,count,mono_ns",
    "nw_conn": "timestamp,event_type,pid,tid,command,domain,sock_type,ipver,local_addr,remote_addr,sport,dport,fd,backlog,shutdown_how,latency_ns,return_value,mono_ns",
    "nw_sockopt": "timestamp,event_type,pid,command,fd,level,option_name,optval,return_value,mono_ns",
    "nw_drop": "timestamp,event_type,pid,command,proto,ipver,src_addr,dst_addr,sport,dport,skb_len,drop_reason,tcp_state,mono_ns",
    "process": "timestamp,pid,name,cmdline,vms_kb,rss_kb,creation_time,cpu_5s,cpu_2m,cpu_1h,status,mono_ns",
    "filesystem_snapshot": "snapshot_timestamp,file_path,size,creation_time,modification_time,access_time,mono_ns",
}
SEED_HEADERS = {
    "fs": "timestamp,operation,pid,command,filename,size,inode,flags,offset,tid",
    "ds": "timestamp,pid,command,sector,operation,size,latency_ms,tid,cpu_id,ppid,dev,queue_time_ms,cmd_flags,op_code",
    "nw": "timestamp,pid,command,protocol,ip_version,source_addr,dest_addr,source_port,dest_port,size,direction,latency_ns,error_code,msg_flags",
    "nw_conn": "timestamp,event_type,pid,tid,command,domain,sock_type,protocol,ip_version,local_addr,remote_addr,local_port,remote_port,fd,backlog,shutdown_how,"
               "latency_ns,return_value",
    "nw_epoll": "timestamp,event_type,pid,tid,command,epoll_fd,target_fd,operation,event_mask,max_events,ready_count,timeout_ms,latency_ns",
    "nw_sockopt": "timestamp,event_type,pid,command,fd,level,option_name,option_value,return_value",
    "nw_drop": "timestamp,event_type,pid,command,protocol,ip_version,source_addr,dest_addr,source_port,dest_port,packet_size,drop_reason,tcp_state",
    "cache": "timestamp,pid,command,event_type,inode,index,size,cpu_id,dev_id,count",
    "process": "timestamp,pid,name,cmdline,virtual_mem_kb,rss_kb,create_time,cpu_5s,cpu_2m,cpu_1h,status",
    "filesystem_snapshot": "snapshot_timestamp,path,size,ctime,mtime,atime",
    "pagefault": "timestamp,pid,tid,command,fault_type,severity,inode,offset,address,dev_id",
    "io_uring": "timestamp,timestamp_ns,event_type,pid,tid,command,cpu,ring_fd,ring_ptr,to_submit,min_complete,enter_flags,req_ptr,user_data,opcode,fd,len,offset,"
                "sqe_flags,ioprio,buf_index,personality,result,is_error,errno,submit_ts,complete_ts,latency_ns,worker_pid,worker_tid,worker_cpu,is_async,sq_head,"
                "sq_tail,cq_head,cq_tail,sq_depth,cq_depth,inode,filename,device,fs_type",
}
NAME = "a,b\"c\nd \x1b[31m.txt"

PROGRAM = """
import os, socket, sys
name = os.path.join(sys.argv[1], bytes.fromhex(sys.argv[2]).decode())
with open(name, "wb", 0) as file:
    file.write(b"x" * 5000)
os.rename(name, name + "2")
os.mkdir(os.path.join(sys.argv[1], "below"), 0o750)
os.rmdir(os.path.join(sys.argv[1], "below"))
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
peer, _ = server.accept()
client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
client.send(b"y" * 100)
peer.recv(100)
client.shutdown(socket.SHUT_WR)
for one in (peer, client, server):
    one.close()
"""


def text_of(path):
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()).decode(errors="surrogateescape")
    if path.suffix == ".zst":
        done = harness.subprocess.run(["zstd", "-dcq", path], capture_output=True, check=True)
        return done.stdout.decode(errors="surrogateescape")
    return path.read_bytes().decode(errors="surrogateescape")


def quoted(row):
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerow(row)
    return out.getvalue()


def hashed(path):
    def part(name):
        stem, extension = (name, "") if name.startswith(".") else os.path.splitext(name)
        return name and hashlib.sha256(stem.encode()).hexdigest()[:12] + extension
    return "/".join(part(name) for name in path.split("/"))


class IotrcTest(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.require_program("zstd")
        self.traces = self.folder / "traces"
        self.out = self.folder / "out"
        self.traces.mkdir()
        self.out.mkdir()
        self.program = self.folder / "iotrc"
        self.program.symlink_to(harness.IOTRAIL)
        self.environment = os.environ | {"IOTRAIL_REPOSITORY": str(self.traces)}

    def iotrc(self, *words, expect=0):
        mode = [word for word in words[:1] if word == "dev"]
        done = harness.run(self.program, *mode, "-o", self.out, *words[len(mode):], env=self.environment)
        self.assertEqual(done.returncode, expect, done.stderr)
        self.said = done.stderr
        return done

    def trace(self, *words, options=("--no-snapshots",)):
        """(recording, session directory) of a command."""
        self.iotrc(*options, "--", *words)
        (path,) = self.traces.iterdir()
        return harness.Recording(path, None), self.session(self.out)

    def session(self, folder):
        (session,) = folder.glob("linux_v1/*/*")
        self.assertRegex(session.name, r"^\d{8}_\d{6}_\d{3}$")
        self.assertRegex(session.parent.name, r"^[0-9A-F]{16}$")
        return session

    def parts(self, session, stream):
        return sorted((session / stream).glob(f"{stream}_*"), key=lambda path: path.name.split(".")[0].split("_")[-1])

    def rows(self, session, stream, headers=None):
        """Of all files of a stream. Each has the header, and is quoted as Python's csv writes."""
        found = []
        header = (headers or HEADERS)[stream]
        for path in self.parts(session, stream):
            text = text_of(path)
            rows = list(csv.reader(io.StringIO(text, newline="")))
            self.assertEqual(",".join(rows[0]), header)
            self.assertGreater(len(rows), 1, "a file without rows")
            self.assertEqual(text, "".join(map(quoted, rows)))
            found += [dict(zip(rows[0], row, strict=True)) for row in rows[1:]]
        return found

    def count(self, recording, sql):
        return int(recording.value(f"SELECT coalesce(({sql}), 0)"))

    def assert_block_adds_up(self, recording, rows):
        self.assertEqual(len(rows), self.count(recording, "SELECT count(*) FROM block_complete"))
        for operation in ("read", "write"):
            self.assertEqual(sum(int(row["size"]) for row in rows if row["operation"] == operation),
                             self.count(recording, f"SELECT sum(bytes) FROM block_complete WHERE choice_text('block', flags) = '{operation}'"))
        self.assertEqual(sum(round(float(row["latency_ms"]) * 1e6) for row in rows), self.count(recording, "SELECT sum(duration_ns) FROM block_complete"))

    def assert_fs_adds_up(self, recording, rows):
        """Reads and writes of files, with those of io_uring and libaio, equal the trace's own."""
        for operation in ("read", "write"):
            here = [row for row in rows if row["operation"] == operation]
            called = (f"SELECT count(*) AS n, sum(CASE WHEN result > 0 THEN result ELSE 0 END) AS b FROM syscall_{operation} "
                      "WHERE file <> 0 AND file NOT IN (SELECT file FROM files_without_device)")
            later = (f"SELECT count(*) AS n, sum(CASE WHEN result > 0 THEN result ELSE 0 END) AS b FROM async_operation WHERE regexp_matches(call, "
                     f"'_P?{operation.upper()}') AND file <> 0 AND file NOT IN (SELECT file FROM files_without_device)")
            self.assertEqual(len(here), self.count(recording, f"SELECT sum(n) FROM ({called} UNION ALL {later})"))
            self.assertEqual(sum(int(row["bytes_completed"] or 0) for row in here), self.count(recording, f"SELECT sum(b) FROM ({called} UNION ALL {later})"))


class Streams(IotrcTest):
    def test_columns_are_in_the_page(self):
        for name, headers in (("Streams", HEADERS), ("Older layout", SEED_HEADERS)):
            section = PAGE.split(f"## {name}\n")[1].split("\n## ")[0]
            documented = {row[1]: ",".join(re.findall(r"`(\w+)`", row[2])) for row in re.finditer(r"^\| `(\w+)` \| ([^|]*) \|", section, re.M)}
            self.assertEqual(documented, headers)

    def test_quoting_names_and_sockets(self):
        _, point = self.make_disk("ext4", 64 << 20)
        recording, session = self.trace("python3", "-c", PROGRAM, point, NAME.encode().hex(), options=("--no-snapshots", "--network", "--cache"))
        self.require(recording, "syscall", "block")
        rows = self.rows(session, "fs")
        path = f"{point}/{NAME}"
        (write,) = [row for row in rows if row["operation"] == "write" and row["filename"].startswith(path)]
        self.assertEqual((write["size"], write["bytes_completed"], write["return_value"], write["errno"]), ("5000", "5000", "5000", ""))
        self.assertEqual((write["fs_type"], write["command"]), ("EXT2/3/4", "python3"))
        self.assertEqual([row["filename"] for row in rows if row["operation"] == "rename"], [f"{path} -> {path}2"])
        made = {row["operation"]: row for row in rows if row["filename"] == f"{point}/below"}
        self.assertEqual(set(made), {"mkdir", "rmdir"})
        self.assertEqual(made["mkdir"]["flags"], "S_IFDIR|S_IRUSR|S_IWUSR|S_IXUSR|S_IRGRP|S_IXGRP")
        self.assert_fs_adds_up(recording, rows)
        for row in rows:
            self.assertRegex(row["timestamp"], r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}$")
        times = [int(row["mono_ns"]) for row in rows]
        self.assertEqual(times, sorted(times))
        life = self.rows(session, "nw_conn")
        kinds = collections.Counter(row["event_type"] for row in life if row["domain"] == "AF_INET" or row["remote_addr"])
        self.assertGreaterEqual(set(kinds), {"SOCKET_CREATE", "BIND", "LISTEN", "ACCEPT", "CONNECT", "SHUTDOWN", "CLOSE"})
        (connect,) = [row for row in life if row["event_type"] == "CONNECT" and row["remote_addr"] == "127.0.0.1"]
        (bound,) = [row for row in life if row["event_type"] == "BIND" and row["local_addr"] == "127.0.0.1"]
        self.assertEqual((connect["sock_type"], connect["ipver"], connect["return_value"]), ("SOCK_STREAM", "4", "0"))
        self.assertEqual(bound["sport"], "", "port 0 was asked for")
        (option,) = [row for row in self.rows(session, "nw_sockopt") if row["option_name"] == "TCP_NODELAY"]
        self.assertEqual((option["event_type"], option["level"], option["optval"]), ("SET", "IPPROTO_TCP", "1"))
        dirtied = sum(int(row["count"]) for row in self.rows(session, "cache") if row["event_type"] == "DIRTY")
        self.assertEqual(dirtied, self.count(recording, "SELECT sum(pages) FROM cache_dirty"))

    def test_git_and_sqlite_add_up(self):
        self.require_program("git", "sqlite3")
        _, point = self.make_disk("ext4", 64 << 20)
        work = ("set -e; cd \"$1\"; git init -q r; cd r; seq 1000 > f; git add f; git -c user.name=n -c user.email=e commit -qm m; "
                "sqlite3 db 'CREATE TABLE t(a); INSERT INTO t VALUES(randomblob(50000)); SELECT sum(length(a)) FROM t'; sync -f .")
        recording, session = self.trace("sh", "-c", work, "sh", point)
        self.require(recording, "syscall", "block")
        self.assert_fs_adds_up(recording, self.rows(session, "fs"))
        block = self.rows(session, "block")
        self.assert_block_adds_up(recording, block)
        manifest = json.loads((session / "manifest.json").read_text())
        self.assertEqual(manifest["schema_version"], 1)
        for stream, header in HEADERS.items():
            self.assertEqual(",".join(column["name"] for column in manifest["streams"][stream]["columns"]), header)
            self.assertEqual(manifest["diagnostics"]["rows_written"][stream], len(self.rows(session, stream)) if (session / stream).exists() else 0)
        first = self.rows(session, "fs")[0]
        real_us = (int(first["mono_ns"]) + manifest["clock"]["mono_to_real_offset_ns"]) // 1000 % 1_000_000
        self.assertEqual(int(first["timestamp"][-6:]), real_us)
        exported = self.folder / "exported"
        done = harness.run(harness.IOTRAIL, "export", recording.path, "--to", "iotrc", "-o", exported)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.rows(self.session(exported), "fs"), self.rows(session, "fs"))

    def test_fio_with_io_uring_in_the_older_layout(self):
        self.require_program("fio")
        _, point = self.make_disk("ext4", 64 << 20)
        recording, session = self.trace("fio", "--name=j", f"--directory={point}", "--filename=f", "--ioengine=io_uring", "--rw=randrw", "--direct=1", "--bs=4k", "--size=1M",
                                        "--iodepth=8", options=("--no-snapshots", "--layout", "seed", "--network", "--cache"))
        self.require(recording, "async", "block")
        rows = self.rows(session, "io_uring", SEED_HEADERS)
        for kind, sql in (("SUBMIT", "SELECT count(*) FROM async_operation WHERE starts_with(call, 'IORING')"), ("ENTER", "SELECT count(*) FROM syscall_uring_enter")):
            self.assertEqual(sum(row["event_type"] == kind for row in rows), self.count(recording, sql))
        completed = [row for row in rows if row["event_type"] == "COMPLETE" and row["opcode"] in ("READ", "WRITE", "READV", "WRITEV", "READ_FIXED", "WRITE_FIXED")]
        self.assertEqual(sum(int(row["result"]) for row in completed), 1 << 20)
        self.assertEqual({row["filename"] for row in completed}, {f"{point}/f"})
        self.assertEqual([int(row["complete_ts"]) - int(row["submit_ts"]) for row in completed], [int(row["latency_ns"]) for row in completed])
        for stream in sorted(path.name for path in session.iterdir() if path.is_dir() and path.name != "system_spec"):
            self.rows(session, stream, SEED_HEADERS)
        self.assertNotIn("schema_version", json.loads((session / "manifest.json").read_text()))


class Files(IotrcTest):
    def test_files_begin_anew_without_loss(self):
        recording, session = self.trace("dd", "if=/dev/zero", f"of={self.folder}/data", "bs=512", "count=500", "status=none",
                                        options=("--no-snapshots", "--compression", "gzip", "--part-rows", "64"))
        self.require(recording, "syscall")
        parts = self.parts(session, "fs")
        self.assertGreater(len(parts), 7)
        self.assertEqual({path.name.partition(".")[2] for path in parts}, {"csv.gz"})
        rows = self.rows(session, "fs")
        self.assert_fs_adds_up(recording, rows)
        self.assertEqual({len(text_of(path).splitlines()) for path in parts[:-1]}, {65})
        small = self.folder / "small"
        small.mkdir()

    def test_hashes_are_those_of_python(self):
        name = self.folder / ".hidden.d" / "plain.tar.gz"
        name.parent.mkdir()
        recording, session = self.trace("sh", "-c", "echo x > \"$1\"", "sh", name, options=("--no-snapshots", "-a"))
        self.require(recording, "syscall")
        rows = self.rows(session, "fs")
        self.assertIn(hashed(str(name)), {row["filename"] for row in rows})
        for path in session.rglob("*.csv.zst"):
            self.assertNotIn("plain.tar", text_of(path))
        command = f"sh -c echo x > \"$1\" sh {name}"
        self.assertIn(hashlib.sha256(command.encode()).hexdigest()[:12], {row["cmdline"] for row in rows})

    def test_snapshots_have_their_columns(self):
        tree = self.folder / "tree"
        (tree / "a").mkdir(parents=True)
        (tree / "a/one").write_bytes(b"x" * 1000)
        (tree / "two,").write_bytes(b"")
        _, session = self.trace("sleep", "2", options=("--snapshot-root", tree))
        (path,) = (session / "filesystem_snapshot").iterdir()
        self.assertRegex(path.name, r"^filesystem_snapshot_part0001_\d{8}_\d{6}_[0-9A-F]{16}_complete_parts1\.csv\.zst$")
        rows = list(csv.DictReader(io.StringIO(text_of(path))))
        self.assertEqual(",".join(rows[0]), HEADERS["filesystem_snapshot"])
        self.assertEqual({row["file_path"]: row["size"] for row in rows}, {f"{tree}/a/one": "1000", f"{tree}/two,": "0"})
        processes = {row["pid"]: row for row in self.rows(session, "process")}
        self.assertEqual(processes[str(os.getpid())]["name"], pathlib.Path("/proc/self/comm").read_text().strip())
        spec = json.loads((session / "system_spec/os_info.json").read_text())
        self.assertEqual((spec["system"], spec["release"], spec["hostname"]), ("Linux", os.uname().release, os.uname().nodename))
        self.assertEqual(json.loads((session / "system_spec/cpu_info.json").read_text())["cores_logical"], os.cpu_count())
        memory = json.loads((session / "system_spec/memory_info.json").read_text())
        self.assertEqual(memory["used_bytes"], memory["total_bytes"] - memory["available_bytes"])

    def test_upload_copies_the_tree(self):
        bucket = self.folder / "bucket"
        bucket.mkdir()
        self.iotrc("dev", "--no-snapshots", "--trace-bucket", bucket, "--", "true")
        here, there = ({str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()} for folder in (self.out, bucket))
        self.assertEqual(here, there)
        self.assertIn("logical cores", self.said)

    def test_wrong_words_are_refused_before_the_command_runs(self):
        for words, said in ((("--upload", self.folder / "no"), "--upload"), (("-o", self.folder / "no"), "-o "), (("--trace-bucket", "x"), "is an option of dev"),
                            (("--compression", "xz"), "--compression"), (("--part-rows", "0"), "--part-rows"), (("--snapshot-root", self.folder / "no"), "--snapshot-root")):
            with self.subTest(words=words):
                done = harness.run(harness.IOTRAIL, "as", "iotrc", *words, "--", "touch", self.folder / "run", env=self.environment)
                self.assertIn(done.returncode, (1, 2))
                self.assertTrue(done.stderr.startswith("iotrc: "), done.stderr)
                self.assertIn(said, done.stderr)
        self.assertFalse((self.folder / "run").exists())
        self.assertEqual(list(self.traces.iterdir()), [])

    def test_questions(self):
        identity = harness.run(self.program, "--computer-id").stdout
        expected = hashlib.sha256(pathlib.Path("/etc/machine-id").read_text().strip().encode()).hexdigest()[:16].upper()
        self.assertEqual(identity, f"Here is your computer ID: {expected}\n")
        self.assertIn("no rewards", harness.run(self.program, "--reward").stdout)

    def test_the_page_has_each_option(self):
        table = PAGE.split("## Options\n")[1].split("\n## ")[0]
        documented = set(re.findall(r"^\| (?:`-\w`, )?`(--[\w-]+)`", table, re.M))
        usage = harness.run(self.program, "--help").stdout
        offered = set(re.findall(r"^ +(?:-\w,)?(--[\w-]+)", usage, re.M)) - {"--help"}
        self.assertEqual(documented, offered)


if __name__ == "__main__":
    harness.main()
