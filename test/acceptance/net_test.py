# SPDX-License-Identifier: BSD-3-Clause
"""TCP connections with known number, bytes and ends: layer net counts the same as the program, and
as the kernel in a network namespace of the program."""
import json
import os
import shutil
import socket
import struct
import subprocess
import sys

import harness

CONNECTIONS = 20
REQUEST_BYTES = 50_000
ANSWER_BYTES = 300
HOSTS = {socket.AF_INET: "127.0.0.1", socket.AF_INET6: "::1"}
NO_LINGER = struct.pack("ii", 1, 0)
LISTEN, TIME_WAIT = 0x0a, 0x06  # in /proc/net/tcp


def receive(connection, count):
    while count:
        part = connection.recv(min(count, 65536))
        assert part, "the connection ended early"
        count -= len(part)


def converse(client, server):
    """Sends bytes each way; the client begins."""
    client.sendall(b"r" * REQUEST_BYTES)
    receive(server, REQUEST_BYTES)
    server.sendall(b"a" * ANSWER_BYTES)
    receive(client, ANSWER_BYTES)


def connect(listener, family):
    client = socket.socket(family, socket.SOCK_STREAM)
    client.connect(listener.getsockname())
    server, _ = listener.accept()
    return client, server


def settle(*sockets):
    """Waits until all connections of the ports of these sockets are over, and their packets have arrived."""
    ports = {f"{end.getsockname()[1]:04X}" for end in sockets}

    def is_over(line):
        _, local, peer, state, *_ = line.split()
        return ports.isdisjoint({local.split(":")[1], peer.split(":")[1]}) or int(state, 16) in (LISTEN, TIME_WAIT)
    harness.wait_for(lambda: all(is_over(line) for name in ("tcp", "tcp6") if os.path.exists(f"/proc/net/{name}")
                                 for line in open(f"/proc/net/{name}").readlines()[1:]), "the end of all connections")


def work(family):
    """The known work: conversations, a refused connect, a close without lingering, one with unread
    data."""
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.bind((HOSTS[family], 0))
    listener.listen(5)
    for number in range(CONNECTIONS):
        client, server = connect(listener, family)
        converse(client, server)
        for end in (client, server) if number % 2 else (server, client):
            end.close()
    holder = socket.socket(family, socket.SOCK_STREAM)
    holder.bind((HOSTS[family], 0))
    try:
        socket.socket(family, socket.SOCK_STREAM).connect(holder.getsockname())
        raise AssertionError("the port has a listener")
    except ConnectionRefusedError:
        pass
    client, server = connect(listener, family)
    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    client.close()
    settle(listener)
    unread_client, unread_server = connect(listener, family)
    unread_client.sendall(b"never read")
    unread_server.recv(1, socket.MSG_PEEK)
    unread_server.close()
    settle(listener)


def tcp_counters():
    """Counters of this network namespace since it was made."""
    names, values = (line.split() for line in open("/proc/net/snmp") if line.startswith("Tcp:"))
    return dict(zip(names[1:], map(int, values[1:])))


def lossy(size_bytes):
    """Sends data over the loopback device, which loses some of it."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen(5)
    if os.fork() == 0:
        server, _ = listener.accept()
        receive(server, size_bytes)
        server.sendall(b"done")
        os._exit(0)
    client = socket.create_connection(listener.getsockname())
    client.sendall(b"d" * size_bytes)
    receive(client, 4)
    client.close()
    os.wait()
    settle(listener)


def serve():
    """Answers each byte on either of two connections, until both have ended."""
    listener = socket.socket()
    listener.bind((HOSTS[socket.AF_INET], 0))
    listener.listen(5)
    print(listener.getsockname()[1], flush=True)
    first, _ = listener.accept()
    receive(first, 1)
    first.sendall(b"a" * ANSWER_BYTES)
    second, _ = listener.accept()
    for connection in (second, first):
        receive(connection, 1)
        connection.sendall(b"a" * ANSWER_BYTES)
        assert connection.recv(1) == b""
        connection.close()
    settle(listener)


NEAR, FAR = "10.77.0.1", "10.77.0.2"


def add_address(device, address):
    subprocess.run(["ip", "address", "add", f"{address}/24", "dev", device], check=True)
    subprocess.run(["ip", "link", "set", device, "up"], check=True)


def far():
    """The other end, in its own namespace: receives everything, answers, prints its counters."""
    print("here", flush=True)
    sys.stdin.readline()  # the device exists
    add_address("far", FAR)
    listener = socket.create_server((FAR, 0))
    print(listener.getsockname()[1], flush=True)
    connection, _ = listener.accept()
    while connection.recv(65536):
        pass
    connection.sendall(b"a" * ANSWER_BYTES)
    connection.close()
    settle(listener)
    print(json.dumps(tcp_counters()))


def across(size_bytes, counters_file):
    """Sends data to another namespace, over a pair of devices. One of them loses packets if netem
    exists."""
    other = subprocess.Popen(["unshare", "-n", sys.executable, __file__, "far"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert other.stdout.readline() == "here\n"
    subprocess.run(["ip", "link", "add", "near", "type", "veth", "peer", "name", "far", "netns", str(other.pid)], check=True)
    add_address("near", NEAR)
    harness.run("tc", "qdisc", "add", "dev", "near", "root", "netem", "loss", "2%")
    print("", file=other.stdin, flush=True)
    client = socket.create_connection((FAR, int(other.stdout.readline())))
    client.sendall(b"d" * size_bytes)
    client.shutdown(socket.SHUT_WR)
    receive(client, ANSWER_BYTES)
    assert client.recv(1) == b""
    client.close()
    counters = json.loads(other.communicate(timeout=harness.PATIENCE_S)[0])
    with open(counters_file, "w") as file:
        json.dump(counters, file)


class Net(harness.AcceptanceTest):
    def record_work(self, *arguments, layers="net", inside=()):
        recording = self.record(*inside, sys.executable, __file__, *arguments, options=("--layers", layers))
        self.require(recording, "net")
        self.assert_adds_up(recording)
        for counter in ("kernel_connection_untracked", "kernel_connection_unknown"):
            self.assertNotIn(counter, recording.manifest["counters"])
        return recording

    def one_namespace(self, *arguments):
        """The recording, and the final counters of the program's own namespace."""
        self.require_program("unshare", "ip")
        if os.geteuid() != 0:
            self.skipTest("a network namespace needs root")
        counters_file = self.folder / "counters"
        recording = self.record_work("inside", counters_file, *arguments, inside=("unshare", "-n"))
        return recording, json.loads(counters_file.read_text())

    def check(self, family):
        recording, counters = self.one_namespace("work", int(family))
        rows = recording.query("SELECT * FROM tcp_connections ORDER BY since_ns")
        self.assertEqual(len(rows), 2 * CONNECTIONS + 1 + 2 + 2, rows)
        closed = [row for row in rows if row["ending"] == "closed"]
        clients = [row for row in closed if row["side"] == "connect"]
        servers = [row for row in closed if row["side"] == "accept"]
        self.assertEqual((len(clients), len(servers)), (CONNECTIONS, CONNECTIONS), rows)
        for row in clients:
            self.assertEqual((int(row["sent"]), int(row["received"])), (REQUEST_BYTES, ANSWER_BYTES), row)
            self.assertGreater(int(row["connect_ns"]), 0)
        for row in servers:
            self.assertEqual((int(row["sent"]), int(row["received"])), (ANSWER_BYTES, REQUEST_BYTES), row)
        self.assertEqual({(row["local"], row["peer"]) for row in clients}, {(row["peer"], row["local"]) for row in servers})
        self.assertEqual(sum(row["ending"] == "refused" for row in rows), 1)
        self.assertEqual(sum(row["ending"] == "reset" for row in rows), 4)
        resets = {row["direction"]: int(row["n"]) for row in
                  recording.query("SELECT direction, count(*) AS n FROM net_reset GROUP BY direction")}
        self.assertEqual(resets, {"sent": 2, "received": 3})
        # The reset that answers the refused connect belongs to no socket.
        self.assertEqual(counters["OutRsts"], resets["sent"] + 1)
        self.assertEqual(counters["ActiveOpens"], sum(row["side"] == "connect" for row in rows))
        self.assertEqual(counters["PassiveOpens"], sum(row["side"] == "accept" for row in rows))

    def test_ipv4(self):
        self.check(socket.AF_INET)

    def test_ipv6(self):
        self.check(socket.AF_INET6)

    def test_calls_and_connections_tell_the_same(self):
        recording = self.record_work("work", int(socket.AF_INET), layers="syscall,net")
        self.require(recording, "syscall")
        rows = recording.query("SELECT t.side AS side, t.sent AS sent, t.received AS received, t.pid AS pid, c.side AS c_side, "
                               "c.sent AS c_sent, c.received AS c_received, c.pid AS c_pid "
                               "FROM tcp_connections AS t JOIN connections AS c ON t.socket = c.socket WHERE t.ending = 'closed'")
        self.assertEqual(len(rows), 2 * CONNECTIONS)
        for row in rows:
            for column in ("side", "sent", "received", "pid"):
                self.assertEqual(row[column], row[f"c_{column}"], row)

    def test_connections_of_a_process_that_runs(self):
        """One connection exists before the recording; another one comes to the socket that listened
        before it."""
        server = subprocess.Popen([sys.executable, __file__, "serve"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.kill)
        address = ("127.0.0.1", int(server.stdout.readline()))
        before = socket.create_connection(address)
        before.sendall(b"1")
        receive(before, ANSWER_BYTES)
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", path, "--layers", "net", "-p", str(server.pid)],
                                    stderr=subprocess.PIPE)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(path)
        later = socket.create_connection(address)
        for connection in (later, before):
            connection.sendall(b"2")
            receive(connection, ANSWER_BYTES)
            connection.close()
        server.wait(harness.PATIENCE_S)
        recorder.communicate(timeout=harness.PATIENCE_S)
        recording = harness.Recording(path, recorder)
        self.require(recording, "net")
        self.assert_adds_up(recording)
        self.assertNotIn("kernel_connection_unknown", recording.manifest["counters"])
        rows = recording.query("SELECT pid, side, ending, sent, received FROM tcp_connections ORDER BY sent")
        pid = str(server.pid)
        self.assertEqual([[str(value) for value in row.values()] for row in rows],
                         [[pid, "accept", "closed", str(ANSWER_BYTES), "1"], [pid, "None", "closed", str(2 * ANSWER_BYTES), "2"]])

    def test_retransmissions_of_a_lossy_device(self):
        """By netem if it exists, else by a queue too short for the data."""
        recording, counters = self.one_namespace("lossy")
        self.assertGreater(counters["RetransSegs"], 0, "the device lost nothing")
        of_connections = recording.value("SELECT total(retransmitted) AS n FROM tcp_connections")
        self.assertEqual(int(of_connections), counters["RetransSegs"])
        # Some kernels do not report each one that a timer's interrupt sends (docs/adr/0007): 1 of 40 was missing once.
        retransmitted = int(recording.value("SELECT total(segments) AS segments FROM net_retransmit"))
        self.assertLessEqual(retransmitted, counters["RetransSegs"])
        self.assertGreater(retransmitted, 0.9 * counters["RetransSegs"])
        drops = recording.query("SELECT direction, reason, count(*) AS n FROM net_drop GROUP BY direction, reason")
        self.assertGreater(sum(int(row["n"]) for row in drops if row["direction"] == "sent"), 0, drops)

    def test_across_two_namespaces(self):
        size_bytes, counters_file = 2_000_000, self.folder / "far"
        recording, near = self.one_namespace("across", size_bytes, counters_file)
        distant = json.loads(counters_file.read_text())
        rows = recording.query("SELECT side, ending, sent, received, local, peer FROM tcp_connections ORDER BY side DESC")
        client, server = [row for row in rows if row["ending"] is not None]
        self.assertEqual((client["side"], server["side"]), ("connect", "accept"), rows)
        self.assertEqual((int(client["sent"]), int(client["received"])), (size_bytes, ANSWER_BYTES))
        self.assertEqual((int(server["sent"]), int(server["received"])), (ANSWER_BYTES, size_bytes))
        self.assertEqual((client["local"], client["peer"]), (server["peer"], server["local"]))
        self.assertTrue(client["local"].startswith(f"{NEAR}:") and client["peer"].startswith(f"{FAR}:"), client)
        self.assertEqual((near["ActiveOpens"], distant["PassiveOpens"]), (1, 1))


def make_lossy():
    """Makes the loopback device of this namespace lose packets. Returns how many bytes make losses
    certain."""
    if shutil.which("modprobe"):
        harness.run("modprobe", "sch_netem")
    if harness.run("tc", "qdisc", "add", "dev", "lo", "root", "netem", "loss", "3%", "delay", "1ms").returncode == 0:
        return 20_000_000
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "20mbit", "burst", "5kb", "limit", "10kb"],
                   check=True)
    return 3_000_000


def main(arguments):
    """As the recorded program: `work FAMILY`; or `inside FILE ...`, in a namespace of its own,
    which writes its counters to FILE."""
    if arguments[0] == "inside":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        main(arguments[2:])
        with open(arguments[1], "w") as counters_file:
            json.dump(tcp_counters(), counters_file)
    elif arguments[0] == "work":
        work(socket.AddressFamily(int(arguments[1])))
    elif arguments[0] == "serve":
        serve()
    elif arguments[0] == "far":
        far()
    elif arguments[0] == "across":
        across(int(arguments[1]), arguments[2])
    else:
        lossy(make_lossy())


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("inside", "work", "serve", "far", "across", "lossy"):
        main(sys.argv[1:])
    else:
        harness.main()
