# SPDX-License-Identifier: BSD-3-Clause
"""The tool reads back its own table of kernels."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).with_name("kernels_table")
LOADER = importlib.machinery.SourceFileLoader("kernels_table", str(PATH))
kernels_table = importlib.util.module_from_spec(importlib.util.spec_from_loader("kernels_table", LOADER))
LOADER.exec_module(kernels_table)


class KernelsTable(unittest.TestCase):
    BY_KERNEL = {"6.1": {"a": "T tp_btf/a", "b": "F fentry/b+c", "c": "-"},
                 "6.12": {"a": "T tp_btf/a", "b": "F fentry/d", "c": "T tp_btf/c"}}

    def test_the_table_is_read_back(self):
        text = kernels_table.table(self.BY_KERNEL)
        for name, column in self.BY_KERNEL.items():
            self.assertEqual(kernels_table.documented(name, text), column)

    def test_events_with_equal_hooks_share_a_row(self):
        text = kernels_table.table(self.BY_KERNEL)
        self.assertEqual(sum(line.startswith("| a ") for line in text.splitlines()), 1)
        self.assertEqual(sum(line.startswith("| b ") for line in text.splitlines()), 2)

    def test_the_table_is_of_the_kernels_that_tests_run_under(self):
        header = next(line for line in kernels_table.TABLE.read_text().splitlines() if line.startswith("| events"))
        self.assertEqual([cell.strip() for cell in header.strip("|").split("|")][1:-1], kernels_table.kernels())


if __name__ == "__main__":
    unittest.main()
