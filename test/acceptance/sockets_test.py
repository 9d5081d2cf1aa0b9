# SPDX-License-Identifier: BSD-3-Clause
"""Other sockets than TCP, with known messages and bytes: the recording agrees with the program, and
with the kernel's counters of the program's network namespace."""
import ctypes
import json
import os
import socket
import struct
import subprocess
import sys

import harness

DATAGRAMS = 200  # more than the receiver's small buffer holds
DATAGRAM_BYTES = 700
ANSWERS = 40
ANSWER_BYTES = 30
ROOM_BYTES = 16384
PROTOCOL, IP_HEADER_BYTES = 253, 20  # a number for experiments
SO_ATTACH_FILTER, BPF_RET = 26, 6  # from the kernel's headers
LOOPBACK = "127.0.0.1"
# Without the sockets of ip(8) to the kernel.
OF_INTERNET = "SELECT file FROM syscall_socket WHERE family = 'AF_INET'"


def counters(protocol):
    """Counters of this network namespace since it was made."""
    names, values = (line.split() for line in open("/proc/net/snmp") if line.startswith(f"{protocol}:"))
    return dict(zip(names[1:], map(int, values[1:])))


def drain(receiver):
    """The datagrams in the receiver's queue."""
    count = 0
    while True:
        try:
            receiver.recv(DATAGRAM_BYTES, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return count
        count += 1


def udp():
    """One socket gets more than its buffer holds, in part from a child; then other calls send and
    receive."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
    receiver.bind((LOOPBACK, 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind((LOOPBACK, 0))
    child = os.fork()
    for _ in range(DATAGRAMS // 2):
        sender.sendto(b"d" * DATAGRAM_BYTES, receiver.getsockname())
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    came = drain(receiver)
    sender.connect(receiver.getsockname())
    for number in range(ANSWERS):
        sender.sendmsg([b"a" * 10, b"b" * (ANSWER_BYTES - 10)])
        if number % 2:
            data, _, _, address = receiver.recvmsg(ANSWER_BYTES)
        else:
            receiver.recv(1, socket.MSG_PEEK)
            data, address = receiver.recvfrom(ANSWER_BYTES)
        assert len(data) == ANSWER_BYTES and address == sender.getsockname()
    return {"receiver": "%s:%d" % receiver.getsockname(), "sender": "%s:%d" % sender.getsockname(), "came": came,
            "drops": drops_of(receiver)}


def drops_of(receiver):
    """The kernel's own count for the socket."""
    inode = os.fstat(receiver.fileno()).st_ino
    rows = [line.split() for line in open("/proc/net/udp")][1:]
    return next(int(row[-1]) for row in rows if int(row[9]) == inode)


def refused_udp():
    """A socket with a filter that drops everything."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind((LOOPBACK, 0))
    nothing = ctypes.create_string_buffer(struct.pack("HBBI", BPF_RET, 0, 0, 0))
    receiver.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HL", 1, ctypes.addressof(nothing)))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    for _ in range(ANSWERS):
        sender.sendto(b"d" * DATAGRAM_BYTES, receiver.getsockname())
    return {"drops": drops_of(receiver)}


def crowded_udp(size_bytes):
    """Sends more than the device can take. No program reads it."""
    subprocess.run(["ip", "link", "set", "lo", "mtu", "1500"], check=True)
    subprocess.run(["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", "8kbit", "burst", "4kb", "limit", "8kb"], check=True)
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.bind((LOOPBACK, 0))
    sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sender.bind((LOOPBACK, 0))
    for _ in range(ANSWERS):
        sender.sendto(b"d" * int(size_bytes), receiver.getsockname())
    return {"receiver": "%s:%d" % receiver.getsockname(), "sender": "%s:%d" % sender.getsockname()}


def send_in_turn(number, sender, data):
    """Bytes sent, by one of the sending calls."""
    if number % 3 == 0:
        return sender.send(data)
    return sender.sendmsg([data[:1], data[1:]]) if number % 3 == 1 else os.write(sender.fileno(), data)


def receive_in_turn(number, receiver):
    if number % 3 == 0:
        return len(receiver.recv(4096))
    return len(receiver.recvmsg(4096)[0]) if number % 3 == 1 else len(os.read(receiver.fileno(), 4096))


def unix_stream(folder):
    """Both ends of a connection send in turn."""
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(f"{folder}/server")
    listener.listen()
    client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    client.bind(f"{folder}/client")
    client.connect(f"{folder}/server")
    server, _ = listener.accept()
    asked = answered = 0
    for number in range(ANSWERS):
        asked += send_in_turn(number, client, b"q" * (100 + number))
        assert receive_in_turn(number, server) == 100 + number
        answered += send_in_turn(number, server, b"a" * (10 + number))
        assert receive_in_turn(number, client) == 10 + number
    return {"asked": asked, "answered": answered}


def unix_datagrams(folder):
    """Sends by name until the receiver's queue is full, then reads."""
    receiver, sender = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(2))
    receiver.bind(f"{folder}/receiver")
    sender.bind(f"{folder}/sender")
    sent, sent_bytes = 0, 0
    while True:
        try:
            sent_bytes += sender.sendto(b"d" * (10 + sent), socket.MSG_DONTWAIT, f"{folder}/receiver")
            sent += 1
        except BlockingIOError:
            break
    received_bytes = 0
    for _ in range(sent):
        data, address = receiver.recvfrom(4096)
        assert address == f"{folder}/sender"
        received_bytes += len(data)
    return {"sent": sent, "sent_bytes": sent_bytes, "received_bytes": received_bytes}


def raw():
    """Packets of an unassigned protocol; received data includes the IP header."""
    receiver, sender = (socket.socket(socket.AF_INET, socket.SOCK_RAW, PROTOCOL) for _ in range(2))
    receiver.bind((LOOPBACK, 0))
    sent_bytes = received_bytes = 0
    for number in range(ANSWERS):
        sent_bytes += sender.sendto(b"r" * (ANSWER_BYTES + number), (LOOPBACK, 0))
        data, (address, _) = receiver.recvfrom(4096)
        assert address == LOOPBACK
        received_bytes += len(data)
    return {"sent_bytes": sent_bytes, "received_bytes": received_bytes}


def serve_udp():
    """Keeps a socket unread, then reads it."""
    receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    receiver.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, ROOM_BYTES)
    receiver.bind((LOOPBACK, 0))
    print(receiver.getsockname()[1], flush=True)
    sys.stdin.readline()
    print(drain(receiver), flush=True)


class Sockets(harness.AcceptanceTest):
    def record_work(self, *arguments, layers, inside=()):
        recording = self.record(*inside, sys.executable, __file__, *arguments, options=("--layers", layers))
        self.require(recording, *layers.split(","))
        self.assert_adds_up(recording)
        return recording

    def one_namespace(self, *work, layers):
        """The recording, and the counts of the program and of the kernel in its namespace."""
        self.require_program("unshare", "ip")
        if os.geteuid() != 0:
            self.skipTest("a network namespace needs root")
        counts_file = self.folder / "counts"
        recording = self.record_work("inside", counts_file, *work, layers=layers, inside=("unshare", "-n"))
        return recording, json.loads(counts_file.read_text())

    def hook_of_drops(self, recording):
        return next(hook["hook"] for hook in recording.manifest["hooks"] if hook["event"] == "net_drop")

    def require_drops_of_udp(self, recording):
        if self.hook_of_drops(recording) == "tp_btf/kfree_skb (no receiver)":
            self.skipTest("this kernel does not report the owner of a dropped datagram")

    def check_drops(self, recording, counted):
        self.require_drops_of_udp(recording)
        drops = recording.query(
            "SELECT d.pid AS pid, f.path AS socket, own.text AS local, other.text AS peer, d.bytes AS bytes, d.reason AS reason, "
            "d.direction AS direction, d.protocol AS protocol, count(*) AS n FROM net_drop AS d LEFT JOIN files AS f ON d.file = f.file "
            "LEFT JOIN strings AS own ON d.local = own.string LEFT JOIN strings AS other ON d.peer = other.string GROUP BY ALL")
        (drop,) = drops
        self.assertEqual(int(drop["n"]), counted["RcvbufErrors"])
        self.assertEqual(counted["RcvbufErrors"], counted["InErrors"])
        self.assertEqual(counted["RcvbufErrors"], counted["drops"])
        self.assertEqual(int(drop["n"]), DATAGRAMS - counted["came"])
        self.assertTrue(drop["socket"].startswith("socket:["), drop)
        self.assertEqual((drop["local"], drop["peer"]), (counted["receiver"], counted["sender"]))
        self.assertEqual((int(drop["bytes"]), drop["reason"], drop["direction"], drop["protocol"]),
                         (DATAGRAM_BYTES, "SOCKET_RCVBUFF", "received", "UDP"))
        self.assertEqual(int(drop["pid"]), counted["pid"], "the receiver, whichever process sent it")

    def test_datagrams_that_a_udp_socket_has_no_room_for(self):
        recording, counted = self.one_namespace("udp", layers="net")
        self.assertGreater(counted["RcvbufErrors"], 0)
        self.check_drops(recording, counted)

    def test_datagrams_that_a_filter_refuses(self):
        recording, counted = self.one_namespace("refused_udp", layers="net")
        if self.hook_of_drops(recording).endswith("(no receiver)"):
            self.skipTest("this kernel does not report the owner of a datagram that a filter dropped")
        (drop,) = recording.query("SELECT reason, direction, count(*) AS n FROM net_drop GROUP BY ALL")
        self.assertEqual((drop["reason"], drop["direction"], int(drop["n"])), ("SOCKET_FILTER", "received", counted["drops"]))
        self.assertEqual(counted["drops"], ANSWERS)

    def sent_and_dropped(self, size_bytes):
        self.require_program("tc")
        recording, counted = self.one_namespace("crowded_udp", size_bytes, layers="net")
        rows = recording.query("SELECT own.text AS local, other.text AS peer, pid, count(*) AS n FROM net_drop AS d "
                               "LEFT JOIN strings AS own ON d.local = own.string LEFT JOIN strings AS other ON d.peer = other.string "
                               "WHERE direction = 'sent' GROUP BY ALL")
        self.assertTrue(rows)
        self.assertEqual({(row["local"], int(row["pid"])) for row in rows}, {(counted["sender"], counted["pid"])})
        return {row["peer"]: int(row["n"]) for row in rows}, counted

    def test_datagrams_that_a_device_has_no_room_for(self):
        drops, counted = self.sent_and_dropped(DATAGRAM_BYTES)
        self.assertEqual(drops, {counted["receiver"]: counted["SndbufErrors"]})

    def test_fragments_that_a_device_has_no_room_for(self):
        """Only the first fragment has the port of the receiver."""
        drops, counted = self.sent_and_dropped(6 * 1500)
        self.assertLessEqual(set(drops), {counted["receiver"], None})
        self.assertGreaterEqual(sum(drops.values()), counted["SndbufErrors"])

    def test_datagrams_of_udp(self):
        recording, counted = self.one_namespace("udp", layers="syscall,net")
        self.check_drops(recording, counted)
        sent = recording.query("SELECT count(*) AS n, sum(result) AS bytes FROM syscall_send "
                               f"WHERE result >= 0 AND file IN ({OF_INTERNET})")[0]
        self.assertEqual(int(sent["n"]), counted["OutDatagrams"])
        self.assertEqual(int(sent["n"]), DATAGRAMS + ANSWERS)
        self.assertEqual(int(sent["bytes"]), DATAGRAMS * DATAGRAM_BYTES + ANSWERS * ANSWER_BYTES)
        received = recording.query("SELECT call, flags, s.text AS address, result, count(*) AS n FROM syscall_receive AS r "
                                   f"LEFT JOIN strings AS s ON r.address = s.string WHERE file IN ({OF_INTERNET}) GROUP BY ALL")

        def count(**columns):
            return sum(int(row["n"]) for row in received if all(row[name] == value for name, value in columns.items()))
        self.assertEqual(count(result=DATAGRAM_BYTES, flags=int(socket.MSG_DONTWAIT)), counted["came"], received)
        self.assertEqual(count(result=ANSWER_BYTES, call="recvfrom", address=counted["sender"]), ANSWERS // 2, received)
        self.assertEqual(count(result=ANSWER_BYTES, call="recvmsg", address=counted["sender"]), ANSWERS // 2, received)
        self.assertEqual(count(result=1, flags=int(socket.MSG_PEEK)), ANSWERS // 2, received)
        self.assertEqual(count(result=-11), 1, "the queue was empty once")
        self.assertEqual(counted["InDatagrams"], counted["came"] + ANSWERS)

    def messages(self, recording, table, family):
        """(address, calls, bytes) of the calls that moved data."""
        rows = recording.query(f"SELECT s.text AS address, count(*) AS n, sum(result) AS bytes FROM {table} AS c "
                               f"LEFT JOIN strings AS s ON c.address = s.string WHERE result >= 0 AND "
                               f"file IN (SELECT file FROM syscall_socket WHERE family = '{family}') GROUP BY ALL")
        return [(row["address"], int(row["n"]), int(row["bytes"])) for row in rows]

    def test_streams_of_unix_sockets(self):
        recording, counted = self.one_namespace("unix_stream", self.folder, layers="syscall")
        rows = {row["side"]: row for row in recording.query("SELECT * FROM connections WHERE address LIKE 'unix:%'")}
        self.assertEqual(set(rows), {"connect", "accept"})
        for side, address, sent, received in (("connect", "server", "asked", "answered"), ("accept", "client", "answered", "asked")):
            row = rows[side]
            self.assertEqual(row["address"], f"unix:{self.folder}/{address}")
            self.assertEqual((int(row["sent"]), int(row["received"])), (counted[sent], counted[received]), row)
            self.assertEqual(int(row["operations"]), 2 * ANSWERS, row)
            self.assertEqual(int(row["pid"]), counted["pid"])
        # Bytes of sockets count where those of files do.
        ends = "SELECT path FROM files WHERE file IN (SELECT socket FROM connections WHERE address LIKE 'unix:%')"
        (ends,) = recording.query(f"SELECT sum(bytes_read) AS came, sum(bytes_written) AS went FROM top_files WHERE path IN ({ends})")
        both = counted["asked"] + counted["answered"]
        self.assertEqual((int(ends["came"]), int(ends["went"])), (both, both))
        (process,) = recording.query(f"SELECT bytes_read, bytes_written FROM top_processes WHERE pid = {counted['pid']}")
        self.assertGreaterEqual(int(process["bytes_read"]), both)
        self.assertGreaterEqual(int(process["bytes_written"]), both)

    def test_datagrams_of_unix_sockets(self):
        recording, counted = self.one_namespace("unix_datagrams", self.folder, layers="syscall")
        self.assertEqual(self.messages(recording, "syscall_send", "AF_UNIX"),
                         [(f"unix:{self.folder}/receiver", counted["sent"], counted["sent_bytes"])])
        self.assertEqual(self.messages(recording, "syscall_receive", "AF_UNIX"),
                         [(f"unix:{self.folder}/sender", counted["sent"], counted["received_bytes"])])
        self.assertEqual(counted["sent_bytes"], counted["received_bytes"])
        full = recording.query("SELECT count(*) AS n FROM syscall_send WHERE errno_name(result) = 'EAGAIN'")
        self.assertEqual(int(full[0]["n"]), 1, "the receiver's queue was full once")

    def test_raw_sockets(self):
        recording, counted = self.one_namespace("raw", layers="syscall")
        self.assertEqual(counted["sent_bytes"] + ANSWERS * IP_HEADER_BYTES, counted["received_bytes"])
        self.assertEqual(counted["ip"]["OutRequests"], ANSWERS)
        self.assertEqual(self.messages(recording, "syscall_send", "AF_INET"),
                         [(f"{LOOPBACK}:0", counted["ip"]["OutRequests"], counted["sent_bytes"])])
        # The sender has the same protocol and gets a copy of each, which it does not read.
        self.assertEqual(self.messages(recording, "syscall_receive", "AF_INET"),
                         [(f"{LOOPBACK}:0", ANSWERS, counted["received_bytes"])])
        sockets = recording.query(f"SELECT type, count(*) AS n FROM syscall_socket WHERE protocol = {PROTOCOL} GROUP BY ALL")
        self.assertEqual(len(sockets), 1, sockets)
        self.assertEqual(int(sockets[0]["n"]), 2)

    def test_drops_at_a_process_that_runs(self):
        """The socket exists before the recording, and stays unused until all is sent."""
        server = subprocess.Popen([sys.executable, __file__, "serve_udp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for stream in (server.stdin, server.stdout):
            self.addCleanup(stream.close)
        self.addCleanup(server.kill)
        address = (LOOPBACK, int(server.stdout.readline()))
        path = self.folder / "t.iotrail"
        recorder = subprocess.Popen([harness.IOTRAIL, "record", "-o", path, "--layers", "net", "-p", str(server.pid)],
                                    stderr=subprocess.PIPE)
        self.addCleanup(recorder.kill)
        harness.wait_until_running(path)
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            for _ in range(DATAGRAMS):
                sender.sendto(b"d" * DATAGRAM_BYTES, address)
        came = int(server.communicate("\n", timeout=harness.PATIENCE_S)[0])
        recorder.communicate(timeout=harness.PATIENCE_S)
        recording = harness.Recording(path, recorder)
        self.require(recording, "net")
        self.assert_adds_up(recording)
        self.require_drops_of_udp(recording)
        (drops,) = recording.query("SELECT d.pid AS pid, f.path AS path, count(*) AS n FROM net_drop AS d "
                                   "LEFT JOIN files AS f ON d.file = f.file GROUP BY ALL")
        self.assertEqual((int(drops["pid"]), int(drops["n"])), (server.pid, DATAGRAMS - came))
        self.assertTrue(drops["path"].startswith("socket:["), drops)


def main(arguments):
    """As the recorded program: `inside FILE WORK` runs WORK in its own namespace, and writes its
    answer and the counters to FILE."""
    if arguments[0] == "inside":
        subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
        answer = globals()[arguments[2]](*arguments[3:])
        with open(arguments[1], "w") as counts_file:
            json.dump({**(answer or {}), **counters("Udp"), "ip": counters("Ip"), "pid": os.getpid()}, counts_file)
    else:
        globals()[arguments[0]]()


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] in ("inside", "serve_udp"):
        main(sys.argv[1:])
    else:
        harness.main()
