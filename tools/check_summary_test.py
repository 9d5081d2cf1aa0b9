#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Summaries of real runs of ctest: a test that did not run must not look as if it had passed."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

SUMMARY = pathlib.Path(__file__).with_name("check_summary")
INNER = """import unittest
class Inner(unittest.TestCase):
    def test_a(self):
        self.skipTest('no device')
    def test_b(self):
        pass
unittest.main(verbosity=2)
"""
GTEST = """[==========] Running 4 tests from 1 test suite.
[ RUN      ] Suite.passes
[       OK ] Suite.passes (1500 ms)
[ RUN      ] Suite.skips
one.cpp:5: Skipped
no device

[  SKIPPED ] Suite.skips (0 ms)
[ RUN      ] Suite.fails/0
two.cpp:7: Failure
Expected 1, got 2
[  FAILED  ] Suite.fails/0, where GetParam() = 512 (3 ms)
[ RUN      ] Suite.last
"""
GTEST_END = """text without an end of line[       OK ] Suite.last (0 ms)
[==========] 4 tests from 1 test suite ran. (9 ms total)
[  SKIPPED ] 1 test, listed below:
[  SKIPPED ] Suite.skips
"""
PROJECT = """cmake_minimum_required(VERSION 3.25)
project(sample NONE)
enable_testing()
"""


class CheckSummaryTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        self.logs = self.root / "logs"
        self.logs.mkdir()

    def tearDown(self):
        self.directory.cleanup()

    def stage(self, name, status, log=""):
        (self.logs / f"{name}.status").write_text(f"{status} 61\n")
        (self.logs / f"{name}.log").write_text(log)

    def ctest(self, result, tests):
        (self.root / "CMakeLists.txt").write_text(PROJECT + tests)
        build = self.root / "build"
        subprocess.run(["cmake", "-S", self.root, "-B", build], check=True, capture_output=True)
        return subprocess.run(["ctest", "--test-dir", build, "--output-junit", self.logs / f"{result}.xml"],
                              capture_output=True, text=True)

    def ctest_stage(self, name, tests):
        run = self.ctest(name, tests)
        self.stage(name, run.returncode, run.stdout)

    def gtest(self, name, text, status):
        (self.root / name).write_text(text)
        return f"""add_test(NAME {name} COMMAND sh -c "cat '${{CMAKE_SOURCE_DIR}}/{name}'; exit {status}")\n"""

    def summary(self, *stages):
        run = subprocess.run([sys.executable, SUMMARY, self.logs, *stages], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        return run.returncode, run.stdout

    def test_passed_and_skipped_tests_are_distinguished(self):
        (self.root / "inner.py").write_text(INNER)
        self.ctest_stage("test", """
            add_test(NAME good COMMAND true)
            add_test(NAME live COMMAND sh -c "echo begin; echo 'no BTF here'; exit 77")
            set_tests_properties(live PROPERTIES SKIP_RETURN_CODE 77)
            add_test(NAME off COMMAND true)
            set_tests_properties(off PROPERTIES DISABLED 1)
            add_test(NAME inner COMMAND python3 ${CMAKE_SOURCE_DIR}/inner.py)
            """)
        status, text = self.summary("test")
        self.assertEqual(status, 0, text)
        self.assertIn("SKIPPED test: live: no BTF here\n", text)
        self.assertIn("SKIPPED test: off: disabled\n", text)
        self.assertIn("SKIPPED test: inner: test_a", text)
        self.assertIn("100% tests passed, 0 tests failed out of 3\n", text)
        self.assertIn("Total Test time (real)", text)
        self.assertTrue(text.endswith("\n2 passed, 0 failed, 3 skipped, 0 unsteady\n"), text)

    def test_each_case_of_a_program_counts(self):
        self.ctest_stage("test", self.gtest("suite", GTEST + GTEST_END, 1))
        _, text = self.summary("test")
        self.assertIn("SKIPPED test: Suite.skips: no device\n", text)
        self.assertIn("FAILED test: Suite.fails/0\n    two.cpp:7: Failure\n    Expected 1, got 2\n", text)
        self.assertIn(" 1.5 s  test: Suite.passes\n", text)
        self.assertTrue(text.endswith("\n2 passed, 1 failed, 1 skipped, 0 unsteady\n"), text)

    def test_a_program_that_dies_names_the_case(self):
        self.ctest_stage("test", self.gtest("dies", GTEST + "last words\n", 139) +
                         self.gtest("early", GTEST.replace("[ RUN      ] Suite.last\n", ""), 1) +
                         self.gtest("late", GTEST.replace("[  FAILED  ]", "[       OK ]") + GTEST_END + "leak\n", 1))
        status, text = self.summary("test")
        self.assertEqual(status, 1)
        self.assertIn("FAILED test: Suite.last\n    Suite.last\n    last words\n", text)
        self.assertIn("FAILED test: early: cases that did not run: 1\n", text)
        self.assertRegex(text, r"FAILED test: late\n(    .*\n)*    leak\n")

    def unsteady_stage(self, count, fails_again=False):
        names = [f"shaky{number}" for number in range(count)]
        tests = "".join(f"add_test(NAME {name} COMMAND sh -c \"echo why; exit %d\")\n" for name in names)
        first = self.ctest("live", tests % ((1,) * count) + self.gtest("suite", GTEST + GTEST_END, 1))
        mended = GTEST if fails_again else GTEST.replace("[  FAILED  ]", "[       OK ]")
        again = self.ctest("live.again", tests % ((0,) * count) + self.gtest("suite", mended + GTEST_END, int(fails_again)))
        self.stage("live", again.returncode, first.stdout)

    def test_a_second_success_is_unsteady(self):
        self.unsteady_stage(1)
        status, text = self.summary("live")
        self.assertEqual(status, 0, text)
        self.assertIn("UNSTEADY live: shaky0\n    why\n", text)
        self.assertIn("UNSTEADY live: Suite.fails/0\n    two.cpp:7: Failure\n", text)
        self.assertTrue(text.endswith("\n2 passed, 0 failed, 1 skipped, 2 unsteady\n"), text)

    def test_a_second_failure_is_a_failure(self):
        self.unsteady_stage(1, fails_again=True)
        status, text = self.summary("live")
        self.assertEqual(status, 1)
        self.assertIn("FAILED live: Suite.fails/0\n", text)
        self.assertTrue(text.endswith("\n2 passed, 1 failed, 1 skipped, 1 unsteady\n"), text)

    def test_three_unsteady_tests_fail_the_check(self):
        self.unsteady_stage(2)
        status, text = self.summary("live")
        self.assertEqual(status, 1)
        self.assertIn("3 tests passed only when they were run again; at most 2 may\n", text)

    def test_a_test_that_could_not_run_has_failed(self):
        self.ctest_stage("test", """
            add_test(NAME missing COMMAND ./not-built)
            add_test(NAME slow COMMAND sleep 60)
            set_tests_properties(slow PROPERTIES TIMEOUT 1)
            add_test(NAME bad COMMAND false)
            set_tests_properties(bad PROPERTIES FIXTURES_SETUP machine)
            add_test(NAME needs_bad COMMAND true)
            set_tests_properties(needs_bad PROPERTIES FIXTURES_REQUIRED machine)
            """)
        status, text = self.summary("test")
        self.assertEqual(status, 1)
        for name in ("missing", "slow", "bad", "needs_bad"):
            self.assertIn(f"FAILED test: {name}\n", text)
        self.assertTrue(text.endswith("\n0 passed, 4 failed, 0 skipped, 0 unsteady\n"), text)

    def test_a_failed_test_says_why(self):
        (self.root / "inner.py").write_text(INNER.replace("pass", "self.assertEqual('wanted', 'got')"))
        printed = "\\n".join(["[ RUN      ] Suite.one", "one.cpp:7: Failure", "Expected 1, got 2",
                             "[  FAILED  ] Suite.one (1 ms)", "[ RUN      ] Suite.two", "[       OK ] Suite.two (1 ms)"])
        self.ctest_stage("test", f"""
            add_test(NAME cases COMMAND sh -c "printf '{printed}'; exit 1")
            add_test(NAME inner COMMAND python3 ${{CMAKE_SOURCE_DIR}}/inner.py)
            add_test(NAME bare COMMAND sh -c "echo it ended; exit 3")
            """.replace("\\n", "\\\\n"))
        _, text = self.summary("test")
        self.assertIn("FAILED test: cases\n    one.cpp:7: Failure\n    Expected 1, got 2\n    [  FAILED  ] Suite.one (1 ms)\n"
                      "FAILED", text)
        self.assertRegex(text, r"FAILED test: inner\n    FAIL: test_b(.*\n)+    AssertionError: 'wanted' != 'got'\n")
        self.assertIn("FAILED test: bare\n    it ended\n", text)

    def test_the_slowest_ten_tests_are_named(self):
        self.ctest_stage("unit", "".join(f"add_test(NAME quick.{i} COMMAND true)\n" for i in range(10)))
        self.ctest_stage("vm", """
            add_test(NAME third COMMAND sleep 0.4)
            add_test(NAME first COMMAND sh -c "sleep 1.2; exit 1")
            add_test(NAME second COMMAND sleep 0.8)
            add_test(NAME machine COMMAND sh -c "echo '=== oracle took 70 s'; echo '=== filter took 60 s'")
            """)
        _, text = self.summary("unit", "vm")
        slowest = text.split("\n=== slowest tests\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(len(slowest), 10)
        for line, expected in zip(slowest, (r"70\.0 s  vm: machine: oracle", r"60\.0 s  vm: machine: filter",
                                            r"1\.\d s  vm: first", r"0\.\d s  vm: second", r"0\.\d s  vm: third")):
            self.assertRegex(line, f"^ +{expected}$")
        self.assertNotRegex(text, r"s  vm: machine\n")

    def test_stages_without_tests_count_once(self):
        self.stage("lint", 0)
        self.stage("build", 2)
        status, text = self.summary("lint", "build")
        self.assertEqual(status, 1)
        self.assertIn("FAILED build: the stage itself, status 2\n", text)
        self.assertTrue(text.endswith("\n1 passed, 1 failed, 0 skipped, 0 unsteady\n"), text)

    def test_failed_stage_with_passed_tests_has_failed(self):
        self.ctest_stage("test", "add_test(NAME good COMMAND true)")
        self.stage("test", 137)
        status, text = self.summary("test")
        self.assertEqual(status, 1)
        self.assertTrue(text.endswith("\n1 passed, 1 failed, 0 skipped, 0 unsteady\n"), text)


if __name__ == "__main__":
    unittest.main()
