# SPDX-License-Identifier: BSD-3-Clause
"""docs/compat/iotrace.md names each module, command and option of the program, and no other; and each column of events."""
import pathlib
import re

import iotrace
from iotrace import harness

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "compat" / "iotrace.md"
ENTRY = re.compile(r"^   -(\w)  --([\w-]+) ", re.M)
OPTION = re.compile(r"^  -(\w),--([\w-]+)", re.M)


def names(letter, name):
    return f"`-{letter}`, `--{name}`"


class Documents(iotrace.IotraceTest):
    def options(self, *words):
        return {names(*found) for found in OPTION.findall(self.iotrace(*words, "--help").stdout)} - {"`-H`, `--help`"}

    def commands(self):
        """{(module, command): options}"""
        found = {}
        usage = self.iotrace("--help").stdout
        modules, commands = usage.split("Commands:")
        for letter, name in ENTRY.findall(commands):
            known = name in ("help", "version")
            found["", names(letter, name)] = set() if known else self.options(f"--{name}")
        for letter, module in ENTRY.findall(modules):
            for short, name in ENTRY.findall(self.iotrace(f"-{letter}", "--help").stdout):
                options = self.options(f"-{letter}", f"-{short}")
                self.assertEqual(options, self.options(f"--{module}", f"--{name}"))
                found[names(letter, module), names(short, name)] = options
        return found

    def documented(self):
        found = {}
        module = command = ""
        for line in PAGE.read_text().split("## Command line")[1].split("## Events")[0].splitlines():
            cells = [cell.strip() for cell in line.strip("|").split("|")]
            if not line.startswith("|") or cells[0] in ("module", "---"):
                continue
            module = cells[0] or module
            if cells[1]:
                command = cells[1].split(", older ")[0]
                found[module, command] = set()
            elif cells[2]:
                found[module, command] |= set(cells[2].split("; "))
        return found

    def test_the_page_has_each_option(self):
        self.assertEqual(self.documented(), self.commands())

    def test_older_names_work(self):
        older = re.findall(r"older `(--[\w-]+)`", PAGE.read_text())
        self.assertEqual(len(older), 5)
        for name in older:
            self.assertIn("Usage: iotrace", self.iotrace(name, "--help").stdout)

    def test_the_page_has_each_column(self):
        device = self.disk()
        tracer = self.start("-S", "-d", device)
        self.write(device, 1)
        path = self.stop(tracer)["tracePath"]
        events = PAGE.read_text().split("## Events")[1].split("## Statistics")[0]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in events.splitlines() if line.startswith("| `")]
        json_names = {name for row in rows for name in re.findall(r"`([\w.]+)`", row[0])}
        csv_names = {name for row in rows for name in re.findall(r"`([\w.]+)`", row[1])}
        header = self.iotrace("-P", "-P", "-p", path, "-f", "csv").stdout.splitlines()[0]
        self.assertEqual(csv_names, set(header.split(",")))
        printed = set()
        def collect(value, prefix):
            for name, member in value.items():
                collect(member, f"{prefix}{name}.") if isinstance(member, dict) else printed.add(prefix + name)
        for event in self.lines(path):
            collect(event, "")
        self.assertLessEqual(printed, json_names)
        for member in {key for event in self.lines(path, "--raw") for key in event} - {"header"}:
            self.assertIn(f"`{member}`", events)


if __name__ == "__main__":
    harness.main()
