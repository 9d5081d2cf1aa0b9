# SPDX-License-Identifier: BSD-3-Clause
"""The table that tools/trail_shares makes."""
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

TOOL = pathlib.Path(__file__).with_name("trail_shares")


class TrailShares(unittest.TestCase):
    def test_a_column_for_each_file_system_and_kernel_and_a_row_for_all_that_is_alike(self):
        rows = [["6.1", "ext4", "once", {"exact": 4096}], ["6.1", "xfs", "once", {"exact": 3072, "shared": 1024}],
                ["6.1", "xfs", "copied", {"inferred": 10}], ["6.1", "xfs", "spliced", {"inferred": 7}]]
        with tempfile.NamedTemporaryFile("w", suffix=".shares") as file:
            file.writelines(json.dumps(row) + "\n" for row in rows)
            file.flush()
            table = subprocess.run([sys.executable, TOOL, file.name], capture_output=True, text=True, check=True).stdout
        self.assertEqual(table.splitlines(), [
            "| scenarios | ext4, 6.1 | xfs, 6.1 |",
            "|---|---|---|",
            "| copied, spliced | - | inferred |",
            "| once | exact | 75.0 % exact, 25.0 % shared |"])

    def test_a_missing_file_is_reported(self):
        process = subprocess.run([sys.executable, TOOL], capture_output=True, text=True, check=False)
        self.assertNotEqual(process.returncode, 0)
        self.assertIn("trail_shares FILE", process.stderr)


if __name__ == "__main__":
    unittest.main()
