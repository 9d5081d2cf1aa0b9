# SPDX-License-Identifier: BSD-3-Clause
"""docs/compat/eziotracer.md names each option of both programs, and no other; and each field and function of the lines."""
import pathlib
import re
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "acceptance"))
import harness

PAGE = (pathlib.Path(__file__).resolve().parents[3] / "docs" / "compat" / "eziotracer.md").read_text()
SHORT = {"--bufsize": "-size", "--device": "-dev", "--wakeup": "-wkup", "--sleep": "-sleep"}


def section(name):
    return PAGE.split(f"## {name}\n")[1].split("\n## ")[0]


class Documents(unittest.TestCase):
    def documented(self, name):
        return {tuple(re.findall(r"`([^`]+)`", line.split("|")[1])) for line in section(name).splitlines() if line.startswith("| `-")}

    def offered(self, name):
        usage = harness.run(harness.IOTRAIL, "as", name, "--help")
        self.assertEqual(usage.returncode, 0, usage.stderr)
        found = set()
        for short, long in re.findall(r"^ +(-\w)?,? *(--[\w-]+)?", usage.stdout, re.M):
            if short or long:
                found.add(tuple(word for word in (short or SHORT.get(long), long) if word))
        return found - {("-h", "--help")}

    def test_the_page_has_each_option(self):
        for name in ("eziotracer", "iotracer.sh"):
            self.assertEqual(self.documented(name), self.offered(name))

    def test_letters_of_levels_are_those_of_the_program(self):
        letters = set(re.findall(r"^\| `([a-z])` \| (?:`[A-Z]` )?\|", section("Lines"), re.M))
        refused = harness.run(harness.IOTRAIL, "as", "eziotracer", "-t", "x", "-l", "?")
        self.assertEqual(refused.returncode, 2)
        self.assertEqual(letters, set(re.findall(r"\b(\w) [A-Za-z]", refused.stderr.splitlines()[-1])))


if __name__ == "__main__":
    harness.main()
