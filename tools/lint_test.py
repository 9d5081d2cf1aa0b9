#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Every rule of tools/lint refuses a bad sample, at the right line, and lets a good one pass."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).with_name("lint")
SPDX = "// SPDX-License-Identifier: BSD-3-Clause\n"


def body(lines):
    return "int f() {\n" + "  ;\n" * (lines - 2) + "}\n"


class LintTest(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.directory.name)
        subprocess.run(["git", "init", "-q", self.root], check=True)

    def tearDown(self):
        self.directory.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def lint(self, *base):
        run = subprocess.run([sys.executable, LINT, self.root, *base], capture_output=True, text=True)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.returncode, 0 if run.stdout == "lint: no violation\n" else 1)
        return run.stdout

    def refuses(self, name, text, *complaints):
        self.write(name, text)
        found = self.lint()
        for complaint in complaints:
            self.assertIn(complaint, found)
        self.assertEqual(len(found.splitlines()), len(complaints), found)

    def found(self):
        """Violations so far, one a line."""
        return self.lint().splitlines()

    def accepts(self, name, text):
        self.write(name, text)
        self.assertEqual(self.lint(), "lint: no violation\n")

    def test_layers_and_classes_by_name_in_sql(self):
        self.refuses("src/analysis/views/a.sql", "SELECT 1\nWHERE layer = 'block' OR\n  class IN ('read', 'copy')\n",
                     "src/analysis/views/a.sql:2: a layer by its name", "src/analysis/views/a.sql:3: a class by its name")

    def test_layers_and_classes_by_rows_of_the_schema(self):
        self.accepts("src/analysis/views/a.sql",
                     "SELECT 1 WHERE layer = layer_at('devices') AND reads(class) AND r.layer IN ('', b.layer)\n")

    def test_layers_by_name_in_rows_of_sql(self):
        self.write("schema/layers.def", 'LAYER(6, block, kernel, devices, 0, "Bios.")\n')
        self.refuses("src/analysis/views/a.sql", "INSERT INTO rules VALUES\n  (1, 'the block; another'),\n  (2, 'block');\n",
                     "src/analysis/views/a.sql:3: layer block by its name")
        self.accepts("src/analysis/views/a.sql", "INSERT INTO rules VALUES (2, 'devices');\nSELECT 'block';\n")

    def test_long_functions(self):
        self.refuses("src/base/a.cpp", SPDX + body(71), "src/base/a.cpp:2: function of 71 lines")

    def test_functions_at_the_limit(self):
        self.accepts("src/base/a.cpp", SPDX + body(70))

    def test_long_methods_in_classes_in_namespaces(self):
        text = SPDX + "namespace a {\nclass B : public C {\n" + body(90) + "};\n} // namespace a\n"
        self.refuses("src/base/a.hpp", text, "src/base/a.hpp:4: function of 90 lines")

    def test_containers_are_not_functions(self):
        text = SPDX + 'namespace a {\nextern "C" {\n' + "int x;\n" * 80 + "}\nstruct S {\n" + "int x;\n" * 80 + "};\n}\n"
        self.accepts("src/base/a.cpp", text + "const int kTable[] = {\n" + "1,\n" * 80 + "};\n")

    def test_braces_in_text_and_comments_do_not_count(self):
        text = 'int f() {\n  g("}"); // }\n  char c = \'}\';\n' + "  ;\n" * 70 + "}\n"
        self.refuses("src/base/a.cpp", SPDX + text, "function of 74 lines")

    def test_long_functions_of_scripts(self):
        text = "# SPDX-License-Identifier: BSD-3-Clause\n"
        self.write("tools/x.py", text + "def f():\n" + "    pass\n" * 71)
        self.refuses("tools/y", "#!/usr/bin/env bash\n" + text + "f() {\n" + "  :\n" * 70 + "}\n",
                     "tools/x.py:2: function of 72 lines", "tools/y:3: function of 72 lines")

    def test_long_files(self):
        self.refuses("src/base/a.hpp", SPDX + "int x;\n" * 500, "src/base/a.hpp: 501 lines")

    def test_sources_without_a_licence(self):
        self.write("tools/run", "#!/bin/sh\ntrue\n")
        self.refuses("src/base/a.hpp", "int x;\n", "src/base/a.hpp:1: no SPDX", "tools/run:1: no SPDX")

    def test_includes_that_evade_the_order_of_folders(self):
        text = SPDX + '#include "store/format/block.hpp"\n#include "../cli/units.hpp"\n#  include "a/../../cli/units.hpp"\n'
        self.refuses("src/store/a.cpp", text, "src/store/a.cpp:3: an include by ..", "src/store/a.cpp:4: an include by ..")

    def test_includes_by_the_name_of_a_folder(self):
        self.accepts("src/capture/a.cpp", SPDX + '#include "abi.h"\n#include "store/a..b/writer.hpp"\n')

    def test_circles_of_folders(self):
        self.write("src/store/a.hpp", SPDX + '#include "base/a.hpp"\n')
        self.write("src/base/b.cpp", SPDX + '#include "base/a.hpp"\n#include "text/a.hpp"\n')
        self.write("src/text/a.hpp", SPDX + '#include "store/a.hpp"\n')
        self.refuses("src/base/a.hpp", SPDX, "src/base: a circle of includes with src/store, src/text")

    def test_folders_below_one_another(self):
        self.write("src/store/a.hpp", SPDX + '#include "base/a.hpp"\n#include "b.hpp"\n#include <store/c.hpp>\n#include "abi.h"\n')
        self.write("src/store/b.hpp", SPDX + '#include "store/a.hpp"\n')
        self.write("src/base/a_test.cpp", SPDX + '#include "store/a.hpp"\n')
        self.accepts("src/base/a.hpp", SPDX)

    def test_circles_of_files_of_bpf(self):
        bpf = "src/capture/kernel/bpf/"
        self.write(bpf + "track/a.bpf.h", SPDX + '#include "track/b.bpf.h"\n')
        self.write(bpf + "track/c.bpf.h", SPDX + '#include "a.bpf.h"\n')
        self.refuses(bpf + "track/b.bpf.h", SPDX + '#include "a.bpf.h"\n',
                     bpf + "track/a.bpf.h: a circle of includes with " + bpf + "track/b.bpf.h")
        self.refuses(bpf + "track/b.bpf.h", SPDX + '#include "b.bpf.h"\n', bpf + "track/b.bpf.h: a circle of includes:")
        self.write("src/base/b.bpf.h", SPDX + '#include "base/a.hpp"\n')
        self.write("src/base/a.hpp", SPDX + '#include "base/b.bpf.h"\n')
        self.accepts(bpf + "track/b.bpf.h", SPDX)

    def test_folders_of_many_files(self):
        for number in range(30):
            self.write(f"src/base/a{number}.def", "")
        self.write("src/base/sub/a.hpp", SPDX)
        self.accepts("src/base/CMakeLists.txt", "")
        self.refuses("src/base/a.cpp", SPDX, "src/base: 31 files of code, at most 30")

    def test_banned_calls(self):
        calls = ["strcpy(a, b);", "system(a);", "std::sprintf(a, b);", "int v = LINUX_VERSION_CODE;"]
        self.refuses("src/cli/a.cpp", SPDX + "\n".join(calls) + "\n", *[f"src/cli/a.cpp:{n}: " for n in (2, 3, 4, 5)])

    def test_windows_of_all_rows(self):
        self.refuses("src/report/a.cpp", SPDX + 'auto sql = "SELECT count(*) OVER () FROM a";\n', "src/report/a.cpp:2: a window of all rows")
        self.accepts("src/report/a.cpp", SPDX + 'auto sql = "SELECT count(*) OVER (PARTITION BY a) FROM a";\n')
        self.refuses("src/analysis/views/a.sql", "SELECT count(*) OVER () FROM a\n", "src/analysis/views/a.sql:1: a window of all rows")

    def test_tests_may_run_a_shell(self):
        self.accepts("test/live/a.cpp", SPDX + 'int f() { return system("true"); }\n')

    def test_printing_is_for_output_code(self):
        text = SPDX + 'void f() { std::printf("x"); }\n'
        for name in ("src/cli/a.cpp", "src/render/text/a.cpp", "test/live/a.c", "bench/a.cpp", "src/store/a_test.cpp"):
            self.write(name, text)
        self.refuses("src/store/a.cpp", text, "src/store/a.cpp:2: printf: only cli/ and what prints")

    def test_names_and_comments_are_not_calls(self):
        self.accepts("src/store/a.cpp", SPDX + '// strcpy(a, b)\nauto x = "system(1)"; int n = snprintf(a, 1, b); filesystem(x);\n')

    def test_events_without_a_live_test(self):
        self.write("schema/block.def", 'EVENT(0x0601, block_queue, block, "A")\nEVENT(0x0602, block_issue, block, "B")\n')
        self.write("schema/dictionary.def", 'EVENT(0x0f01, files, dictionary, "A")\n')
        self.write("schema/app.def", 'EVENT(0x0101, app_read, app, "A")\nEVENT(0x0102, app_sync, app, "B")\n')
        text = SPDX + "TEST_F(Block, block_queue_of_one) {\n  // block_issue\n}\nTEST(app_read, files) {}\n"
        self.refuses("test/live/a.cpp", text + "TEST(Block, not_block_issue) {}\nTEST(App, app_synced) {}\n",
                     "schema/block.def: event block_issue has no live test",
                     "schema/app.def: event app_sync has no live test")

    def test_events_with_live_tests(self):
        self.write("schema/block.def", 'EVENT(0x0601, block_queue, block, "A")\nEVENT(0x0602, block_issue, block, "B")\n')
        self.accepts("test/live/a.cpp", SPDX + "TEST_F(Block, block_queue) {}\nTEST_F(Block, block_issue_of_two) {}\n")

    def test_unfinished_work(self):
        self.refuses("src/base/a.hpp", SPDX + "// TO" + "DO later\n", "src/base/a.hpp:2: TO" + "DO: do it")

    def test_documents_with_two_titles(self):
        self.refuses("docs/a.md", "# One\n\n# Two\n", "docs/a.md: 2 titles")

    def test_comments_in_code_blocks_are_not_titles(self):
        self.accepts("docs/a.md", "# One\n\n```sh\n# a comment, see src/a.cpp:3\n```\n")

    def test_line_numbers_in_documents(self):
        self.refuses("docs/a.md", "# One\n\nSee src/store/reader.cpp:12.\n", "docs/a.md:3: src/store/reader.cpp:12")

    def test_links_to_nothing(self):
        self.write("docs/b.md", "# B\n")
        self.refuses("docs/a.md", "# One\n[b](b.md#b) [up](../docs) [out](https://example.org/x) [in](#one)\n[no](c.md)\n",
                     "docs/a.md:3: link to c.md")

    def test_hard_words_in_documents(self):
        self.refuses("docs/a.md", "# One\n\nNobody is told.\nA file, of\nwhich it is Whose?\n",
                     "docs/a.md:3: Nobody: say it", "docs/a.md:3: told: say it", "docs/a.md:4: of which: say it", "docs/a.md:5: Whose: say it")

    def test_hard_words_are_not_looked_for_in_code(self):
        self.accepts("docs/a.md", "# One\n\nThe column `told`, and retold; of `that\nof` which.\n```\nwhose\n```\n")

    def test_hard_words_in_documents_that_programs_write(self):
        self.accepts("docs/sql.md", "# One\n\nWhose file.\n")

    def test_hard_words_in_comments(self):
        self.refuses("src/base/a.cpp", SPDX + "int a; // one that\n       // of which\n/* It\n * goes\n * on. */\n",
                     "src/base/a.cpp:2: that of: say it", "src/base/a.cpp:5: goes on: say it")
        self.refuses("tools/b", "#!/usr/bin/env python3\n" + SPDX.replace("//", "#") + '"""Whose."""\nA = 1  # nobody\n',
                     *self.found(), "tools/b:3: Whose: say it", "tools/b:4: nobody: say it")
        self.refuses("src/c.sql", "SELECT 1 -- whose\n", *self.found(), "src/c.sql:1: whose: say it")
        self.refuses("src/d.def", "/* Told. */\n", *self.found(), "src/d.def:1: Told: say it")
        self.refuses("CMakeLists.txt", "# Told.\n", *self.found(), "CMakeLists.txt:1: Told: say it")

    def test_hard_words_outside_of_comments(self):
        self.accepts("src/base/a.cpp", SPDX + 'int told; // of\nchar whose = which; // which, as in `nobody`\nauto a = "goes on // told";\n')
        self.accepts("tools/b", "#!/usr/bin/env python3\n" + SPDX.replace("//", "#") + 'NOBODY = """told"""\nA = "# whose"\n')

    def test_size_of_the_first_document(self):
        self.refuses("README.md", "# One\n" + "a\n" * 149 + "b" * 101 + "\n",
                     "README.md: 151 lines, at most 150", "README.md:151: 101 columns, at most 100")
        self.accepts("README.md", "# One\n" + "a\n" * 148 + "b" * 100 + "\n")

    def commit(self, subject):
        author = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        subprocess.run(["git", "-C", self.root, *author, "commit", "-q", "--allow-empty", "-m", subject], check=True)

    def test_subjects_of_commits(self):
        for subject in ("old and never judged", "docs: say it", "say: It", "no area", "area: " + "a" * 67):
            self.commit(subject)
        found = self.lint("HEAD~4")
        self.assertRegex(found, r"(?m)^[0-9a-f]+: subject of 73 columns, at most 72$")
        self.assertRegex(found, r"(?m)^[0-9a-f]+: subject is not `area: do this`: say: It$")
        self.assertRegex(found, r"(?m)^[0-9a-f]+: subject is not `area: do this`: no area$")
        self.assertEqual(len(found.splitlines()), 3, found)

    def test_subjects_where_the_base_is_not_known(self):
        self.commit("no area")
        self.assertEqual(self.lint("0123456"), "lint: no violation\n")


if __name__ == "__main__":
    unittest.main()
