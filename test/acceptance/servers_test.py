# SPDX-License-Identifier: BSD-3-Clause
"""Servers under load over TCP, in their own network namespace: the recording agrees with their own
and their clients' counts."""
import glob
import os
import pathlib
import re
import shutil

import harness

REQUESTS, AT_ONCE = 400, 8
PAGE_BYTES = 30_000
CLIENTS, TRANSACTIONS = 4, 100

NGINX = """
daemon off;
worker_processes 2;
user root;
pid {folder}/pid;
error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  log_format counts '$bytes_sent $request_length $remote_port';
  access_log {folder}/access.log counts;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  sendfile on;
  server {{ listen 127.0.0.1:8080; root {folder}/pages; }}
}}
"""

# On a busy machine the last packets of a connection come after the programs' ends.
ALL_CLOSED = """
is_open() { awk 'NR > 1 && $4 != "06" && $4 != "0A" { open = 1 } END { exit !open }' /proc/net/tcp; } # TIME_WAIT, LISTEN
while is_open; do sleep 0.05; done
"""


class Servers(harness.AcceptanceTest):
    def record_script(self, script):
        """Records in a namespace of its own, and also returns its TCP counters."""
        self.require_program("unshare", "ip")
        if os.geteuid() != 0:
            self.skipTest("a network namespace needs root")
        counters_file = self.folder / "snmp"
        script = f'set -e\nip link set lo up\ncd "{self.folder}"\n{script}\n{ALL_CLOSED}\ncat /proc/net/snmp >"{counters_file}"\n'
        recording = self.record("unshare", "-n", "bash", "-c", script, options=("--layers", "syscall,net"))
        self.require(recording, "syscall", "net")
        self.assert_adds_up(recording)
        names, values = (line.split() for line in counters_file.read_text().splitlines() if line.startswith("Tcp:"))
        return recording, dict(zip(names[1:], map(int, values[1:])))

    def connections(self, recording, side):
        return recording.query("SELECT c.address AS address, c.sent AS sent, c.received AS received, t.sent AS tcp_sent, "
                               "t.received AS tcp_received, t.local AS local, t.peer AS peer FROM connections AS c "
                               f"JOIN tcp_connections AS t ON c.socket = t.socket AND c.side = t.side WHERE c.side = '{side}'")

    def check_ends(self, asked, served, address, counters):
        """Each connection has two ends, and TCP moved exactly the bytes of the programs' calls."""
        self.assertEqual((len(asked), len(served)), (counters["ActiveOpens"], counters["PassiveOpens"]))
        self.assertEqual({row["address"] for row in asked}, {address})
        self.assertEqual(sorted((row["local"], row["sent"], row["received"]) for row in asked),
                         sorted((row["peer"], row["received"], row["sent"]) for row in served))
        for row in asked + served:
            self.assertEqual((row["sent"], row["received"]), (row["tcp_sent"], row["tcp_received"]), row)

    def test_nginx_under_load(self):
        self.require_program("nginx", "ab")
        (self.folder / "pages").mkdir()
        (self.folder / "pages" / "page").write_bytes(b"p" * PAGE_BYTES)
        (self.folder / "nginx.conf").write_text(NGINX.format(folder=self.folder))
        recording, counters = self.record_script(f"""
nginx -e "$PWD/error.log" -c "$PWD/nginx.conf" &
until [[ -s pid ]]; do sleep 0.1; done
ab -q -n {REQUESTS} -c {AT_ONCE} http://127.0.0.1:8080/page >ab.txt
kill -QUIT "$(<pid)"
wait
""")
        logged = [tuple(map(int, line.split())) for line in (self.folder / "access.log").read_text().splitlines()]
        said = (self.folder / "ab.txt").read_text()
        self.assertEqual(int(re.search(r"Complete requests:\s+(\d+)", said).group(1)), len(logged))
        self.assertEqual(int(re.search(r"Total transferred:\s+(\d+)", said).group(1)), sum(sent for sent, _, _ in logged))
        self.assertEqual(len(logged), REQUESTS)
        asked, served = self.connections(recording, "connect"), self.connections(recording, "accept")
        self.check_ends(asked, served, "127.0.0.1:8080", counters)
        # At its end ab opens some connections without a request.
        used = [(int(row["sent"]), int(row["received"]), row["address"]) for row in served if int(row["received"])]
        self.assertEqual(sorted(used), sorted((sent, received, f"127.0.0.1:{port}") for sent, received, port in logged))

    def test_postgresql_over_tcp(self):
        """A transaction is one message to the server; begin and end of a connection add one more."""
        programs = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
        if not programs or shutil.which("setpriv") is None or os.geteuid() != 0:
            self.skipTest("needs PostgreSQL, setpriv and root")
        programs = pathlib.Path(programs[-1])
        as_server = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"]
        folder = self.folder / "postgres"
        folder.mkdir()
        shutil.chown(folder, "postgres")
        self.folder.chmod(0o711)
        if harness.run(*as_server, "test", "-w", folder).returncode:
            self.skipTest(f"PostgreSQL's user cannot come to {folder}")
        made = harness.run(*as_server, programs / "initdb", "-D", folder / "data", "-A", "trust", "-N")
        self.assertEqual(made.returncode, 0, made.stderr)
        with open(folder / "data" / "postgresql.conf", "a") as settings:
            settings.write("listen_addresses = '127.0.0.1'\nunix_socket_directories = ''\nshared_buffers = 16MB\nautovacuum = off\nfsync = off\n")
        recording, counters = self.record_script(f"""
cd postgres
export PGHOST=127.0.0.1 PGUSER=postgres PGDATABASE=postgres PGSSLMODE=disable PGGSSENCMODE=disable PATH="{programs}:$PATH"
{" ".join(as_server)} pg_ctl -D data -w -l log start >/dev/null
pgbench -i -q -s 1 >/dev/null 2>&1
pgbench -n -S -M simple -c {CLIENTS} -j 2 -t {TRANSACTIONS} >../pgbench.txt 2>&1
{" ".join(as_server)} pg_ctl -D data -w -m fast stop >/dev/null
""")
        processed = re.search(r"actually processed: (\d+)/(\d+)", (self.folder / "pgbench.txt").read_text())
        self.assertEqual((int(processed.group(1)), int(processed.group(2))), (CLIENTS * TRANSACTIONS,) * 2)
        self.check_ends(self.connections(recording, "connect"), self.connections(recording, "accept"), "127.0.0.1:5432", counters)
        messages = [int(row["n"]) for row in recording.query(
            "SELECT file, count(*) AS n FROM syscall_send JOIN processes AS p USING (pid) "
            "WHERE p.exe LIKE '%/pgbench' AND result > 0 GROUP BY file")]
        self.assertEqual(messages.count(1 + TRANSACTIONS + 1), CLIENTS, messages)


if __name__ == "__main__":
    harness.main()
