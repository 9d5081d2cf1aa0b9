# SPDX-License-Identifier: BSD-3-Clause
"""Pseudonyms: real programs leave their names nowhere in the copy, its exports and its page, and all numbers stay."""
import collections
import json
import os
import pathlib
import re
import shutil
import socket
import struct
import subprocess
import sys

import harness

# Each is a name of its own kind: a directory, a file, an author, an argument, a program, an address.
SECRETS = ("quokkaland", "wombatbooks", "platypusauthor", "echidnamessage", "bandicootprogram", "numbatsocket", "bilbytag", "possumtable",
           "127.71.72.73")
PROGRAM = """
set -e
cd "$1/quokkaland"
git init -q .
echo one > wombatbooks.txt
git add .
git -c user.name=platypusauthor -c user.email=p@platypusauthor.example commit -q -m 'echidnamessage of today'
sqlite3 wombatbooks.db 'CREATE TABLE possumtable(a); INSERT INTO possumtable VALUES (1); SELECT * FROM possumtable;'
cp /bin/true ./bandicootprogram
./bandicootprogram --author=platypusauthor
exec "$2" "$3" serve
"""
ROOT = pathlib.Path(__file__).parents[2]
FORMATS_OF_TEXT = {"text"}  # for people: the same as csv


def serve():
    """A server and its client, by TCP and by a socket with a path."""
    for family, address in ((socket.AF_INET, ("127.71.72.73", 0)), (socket.AF_UNIX, "numbatsocket")):
        with socket.socket(family) as listener, socket.socket(family) as client:
            listener.bind(address)
            listener.listen()
            client.connect(listener.getsockname())
            with listener.accept()[0] as server:
                client.sendall(b"r" * 1000)
                while server.recv(1000, socket.MSG_WAITALL) == b"":
                    pass


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def columns(path):
    """The bytes of all columns of a segment, decompressed: docs/format.md."""
    data = path.read_bytes()
    at, plain, compressed = 48, b"", b""
    while at < len(data):
        magic, _, count, _, size = struct.unpack_from("<IHHII", data, at)
        assert magic == 0x4b4c4249
        place, stored = at + 64, []
        for _ in range(count):
            code, place = data[place], place + 1
            if code & 127 in (5, 6):
                _, place = varint(data, place)
            length, place = varint(data, place)
            if code & 128:
                _, place = varint(data, place)
            stored.append((code & 128, length))
        for is_compressed, length in stored:
            piece, place = data[place:place + length], place + length
            if is_compressed:
                compressed += piece
            else:
                plain += piece
        at += 64 + size
        assert place == at
    return plain + subprocess.run(["zstd", "-dc"], input=compressed, capture_output=True, check=True).stdout


def numbers(value):
    """All numbers of a document, but those that say how long its texts are."""
    if isinstance(value, dict):
        return [number for key, each in value.items() if key not in ("trace_bytes", "events_bytes") for number in numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in numbers(each)]
    return [value] if isinstance(value, (int, float)) and not isinstance(value, bool) else []


class Anonymize(harness.AcceptanceTest):
    def setUp(self):
        super().setUp()
        self.key = self.folder / "key"
        self.key.write_bytes(bytes(range(32)))
        self.key.chmod(0o600)

    def copy_of(self, trace, name="copy"):
        path = self.folder / f"{name}.iotrail"
        made = harness.run(harness.IOTRAIL, "anonymize", trace, "--key", self.key, "-o", path)
        self.assertEqual(made.returncode, 0, made.stderr)
        return harness.Recording(path, made)

    def record_programs(self):
        self.require_program("git", "sqlite3", "zstd")
        (self.folder / "quokkaland").mkdir()
        original = self.record("sh", "-c", PROGRAM, "sh", self.folder, sys.executable, __file__, cwd=self.folder)
        tagged = harness.run(harness.IOTRAIL, "tag", original.path, "bilbytag=bilbytag")
        self.assertEqual(tagged.returncode, 0, tagged.stderr)
        return original

    def answers(self, trace, *options):
        """All that iotrail writes about the trace, by name."""
        listed = harness.run(harness.IOTRAIL, "export", trace, "--to", "nosuch").stderr
        texts = {}
        for name in set(re.search(r"the formats are (.*)", listed)[1].split(", ")) - FORMATS_OF_TEXT:
            path = self.folder / "out"
            exported = harness.run(harness.IOTRAIL, "export", trace, "--to", name, "-o", path, *options)
            if exported.returncode == 0:
                files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
                read = [str(file.relative_to(self.folder)).encode() + self.content(file) for file in files]
                texts[name] = b"\n".join([exported.stderr.encode(), *read])
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
        return texts

    @staticmethod
    def content(file):
        data = file.read_bytes()
        return subprocess.run(["gzip", "-dc"], input=data, capture_output=True, check=True).stdout if data.startswith(b"\x1f\x8b") else data

    def documents(self, trace):
        page = self.folder / "page.html"
        page.unlink(missing_ok=True)
        texts = {"report": harness.run(harness.IOTRAIL, "report", trace).stdout, "json": harness.run(harness.IOTRAIL, "report", trace, "--json").stdout,
                 "info": harness.run(harness.IOTRAIL, "info", trace).stdout, "manifest": (trace / "manifest.json").read_text(),
                 "page": harness.run(harness.IOTRAIL, "report", trace, "--html", page).stderr + page.read_text()}
        return {name: text.encode() for name, text in texts.items()}

    def names_in(self, original):
        """Words of five letters or more in names of the trace."""
        found = set()
        for column in ("comm FROM processes", "exe FROM processes", "command FROM processes", "cgroup FROM processes", "path FROM files",
                       "text FROM strings WHERE text NOT LIKE '%;%'"):
            for row in original.query(f"SELECT DISTINCT {column}"):
                for text in row.values():
                    found |= {word for word in re.split(r"[/ =;'\"(),\n]", text or "") if len(word) >= 5 and re.search("[a-z]", word)}
        return found | {original.manifest["host"]} | set(SECRETS)

    @harness.long
    def test_no_name_is_left(self):
        original = self.record_programs()
        one_call = self.folder / "one.txt"
        one_call.write_text("7 1.000000 read(3</x>, \"\", 1) = 1 <0.000001>\n")
        base = self.folder / "base.iotrail"
        self.assertEqual(harness.run(harness.IOTRAIL, "import", one_call, "-o", base).returncode, 0)
        own = [file.read_bytes() for folder in ("docs", "schema", "src") for file in (ROOT / folder).rglob("*") if file.is_file()]
        terms = b"\n".join([*own, *self.answers(base).values(), *self.documents(base).values()])
        names = {name.encode() for name in self.names_in(original)}
        names = {name for name in names if name not in terms}
        self.assertGreaterEqual(names, {name.encode() for name in SECRETS})
        copy = self.copy_of(original.path)
        texts = {file.name: columns(file) for file in copy.path.glob("*.seg")} | self.answers(copy.path) | self.documents(copy.path)
        self.assertGreater(len(texts), 25)
        for where, text in texts.items():
            words = set(re.split(rb"[^\w.:@+-]", text))
            left = {name for name in names if name in words or name.decode() in SECRETS and name in text}
            self.assertEqual(left, set(), where)
        # The same names are in the original, or this test could not fail.
        self.assertIn(b"wombatbooks", columns(original.path / "dictionary.seg"))
        self.assertIn(b"quokkaland", self.documents(original.path)["page"])
        for name, text in self.answers(original.path, "--anonymize", str(self.key)).items():
            self.assertEqual([name for name in SECRETS if name.encode() in text], [], name)

    def test_numbers_stay(self):
        original = self.record_programs()
        copy = self.copy_of(original.path)
        for sql in ("SELECT layer, class, count(*) AS n, sum(bytes) AS bytes, sum(duration_ns) AS ns FROM events GROUP BY ALL ORDER BY ALL",
                    "SELECT cause, count(*) AS n, sum(bytes) AS bytes FROM links GROUP BY ALL ORDER BY ALL",
                    "SELECT count(*) AS n, sum(total_ns) AS ns FROM (SELECT path, sum(duration_ns) AS total_ns FROM operations GROUP BY path) "
                    "GROUP BY total_ns ORDER BY ALL",
                    "SELECT length(path) - length(replace(path, '/', '')) AS depth, regexp_extract(path, '\\.(db|txt|c|so|db-journal)$', 1) AS extension, "
                    "count(*) AS files FROM files GROUP BY ALL ORDER BY ALL"):
            self.assertEqual(copy.query(sql), original.query(sql))
        documents = [json.loads(harness.run(harness.IOTRAIL, "report", each.path, "--json").stdout) for each in (original, copy)]
        self.assertEqual(*(collections.Counter(numbers(document)) for document in documents))
        self.assert_adds_up(copy, lost=None)
        again = self.copy_of(original.path, "again")
        self.assertEqual([file.read_bytes() for file in sorted(again.path.iterdir())], [file.read_bytes() for file in sorted(copy.path.iterdir())])

    def test_bad_keys(self):
        trace = self.record("true", options=("-l", "app") if os.geteuid() else ()).path
        for make, why in ((lambda: self.key.chmod(0o644), "other users may open it"), (lambda: self.key.write_bytes(b"short"), "it has 5 bytes"),
                          (self.key.unlink, "No such file")):
            self.key.chmod(0o600)
            make()
            for words in (("anonymize", trace, "--key", self.key, "-o", self.folder / "c.iotrail"),
                          ("export", trace, "--anonymize", self.key, "-o", self.folder / "c.sqlite")):
                refused = harness.run(harness.IOTRAIL, *words)
                self.assertEqual(refused.returncode, 1)
                self.assertIn(why, refused.stderr)
                self.assertEqual([path.name for path in self.folder.glob("c.*")], [])


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    else:
        harness.main()
