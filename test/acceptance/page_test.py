# SPDX-License-Identifier: BSD-3-Clause
"""The page of `report --html` has the numbers and the words of the reports, and works in a browser
without a network. The tests in a browser need Chromium."""
import json
import pathlib
import re
import shutil
import tempfile
import unittest

import browser
import harness

ROWS = 200  # of a table in the page
TEMPLATE_BYTES = 150_000
DATA_BYTES = 2_000_000
AXE = pathlib.Path(__file__).parents[2] / ".deps/axe-core/axe.min.js"
HOSTILE = ["</script><script>alert(1)</script>", "<!--<script>", "<img src=x onerror=alert(1)>", "\"'`${alert(1)}",
           "new\nline", "esc\x1b[31m", "left\u202eright", "separator\u2028here", "__proto__", "constructor",
           "&lt;b&gt;", "x" * 255]


def needs_browser(test):
    return unittest.skipUnless(browser.program(), "needs Chromium: tools/setup --check installs it")(test)


def block_of(html):
    """The data of a page, and the page without it."""
    before, rest = html.split('<script type="application/json" id="iotrail-data">')
    data, after = rest.split("</script>", 1)
    return data, before + after


class Page(harness.AcceptanceTest):
    def page_of(self, trace, *options, name="page.html"):
        path = self.folder / name
        process = harness.run(harness.IOTRAIL, "report", trace, "--html", path, *options)
        self.assertEqual(process.returncode, 0, process.stderr)
        return path

    def printed(self, *arguments):
        process = harness.run(harness.IOTRAIL, *arguments)
        self.assertEqual(process.returncode, 0, process.stderr)
        return process.stdout

    small = None  # a recording and its page, for all tests

    def small_recording(self):
        if not Page.small:
            folder = pathlib.Path(tempfile.mkdtemp(dir=harness.SCRATCH))
            self.addClassCleanup(shutil.rmtree, folder, ignore_errors=True)
            script = "for i in 1 2 3 4 5 6 7; do dd if=/dev/zero of=f$i bs=64k count=20 conv=fsync; cat f$i; done; cat /no/file"
            Page.small = self.record("sh", "-c", script, expect=None, cwd=folder).path.rename(folder / "t.iotrail")
        return Page.small

    def small_page(self):
        page = self.small_recording().with_suffix(".html")
        return page if page.exists() else self.page_of(self.small_recording(), name=page)

    def assert_same_section(self, shown, section, rows):
        self.assertEqual(shown["title"], section["title"]["text"])
        self.assertEqual(shown["intro"] + shown["notes"], [note["text"] for note in section["notes"]])
        self.assertEqual(shown["all_rows"], section["all_rows"])
        names = [column["name"] for column in shown["columns"]]
        for page_row, row in zip(shown["rows"], rows or [], strict=True):
            for name, value in zip(names, page_row, strict=True):
                if name.startswith("_"):
                    continue  # for people alone
                if isinstance(row[name], int) and isinstance(value, str):
                    value = int(value)  # a script cannot hold each integer: some are digits in a text
                if isinstance(value, float):  # a sum of shares, in any order
                    self.assertAlmostEqual(value, row[name], 9, f"{shown['id']}.{name}")
                else:
                    self.assertEqual(value, row[name], f"{shown['id']}.{name}")
        return len(shown["rows"])

    def test_numbers_of_the_page_are_those_of_the_report(self):
        trace = self.small_recording()
        data = json.loads(block_of(self.small_page().read_text())[0])
        report = json.loads(self.printed("report", trace, "--json", "--top", ROWS))
        sections = {section["id"]: section for section in report["sections"]}
        compared = 0
        for shown in data["report"]["sections"]:
            compared += self.assert_same_section(shown, sections.pop(shown["id"]), report.get(shown["id"]))
        self.assertGreater(compared, 30)
        self.assertEqual([section for section in sections.values() if section["columns"]], [])  # others: for programs alone
        self.assertEqual([fact["value"] for fact in data["report"]["facts"]],
                         [fact["value"]["text"] for fact in report["facts"]])

    def test_words_of_the_page_are_those_of_the_first_screen_and_the_findings(self):
        trace = self.small_recording()
        data = json.loads(block_of(self.small_page().read_text())[0])
        screen = " ".join(self.printed("report", trace).split())
        for text in [data["answer"]["title"], *(text for section in data["answer"]["sections"]
                                                for text in [section["title"], *section["intro"], *section["notes"]])]:
            self.assertIn(" ".join(text.split()), screen)
        findings = json.loads(self.printed("findings", trace, "--json"))
        self.assertEqual([section["title"] for section in data["findings"]["sections"]],
                         [section["title"]["text"] for section in findings["sections"]])
        self.assertEqual([section["intro"] + section["notes"] for section in data["findings"]["sections"]],
                         [[note["text"] for note in section["notes"]] for section in findings["sections"]])

    def test_time_line_of_the_page_adds_up_to_the_layers(self):
        trace = self.small_recording()
        data = json.loads(block_of(self.small_page().read_text())[0])
        (bins,) = [each for each in data["pictures"]["list"] if each["view"] == "op_bins"]
        self.assertEqual((bins["keys"][0], bins["columns"][1:3]), ("layer", ["operations", "bytes"]))
        width, sums = len(bins["columns"]), {}
        for (layer, *_), numbers in bins["series"]:
            seen = sums.setdefault(layer, [0, 0])
            seen[0] += sum(numbers[1::width])
            seen[1] += sum(numbers[2::width])
        expected = {}
        for row in json.loads(self.printed("report", trace, "--json"))["layers"]:
            seen = expected.setdefault(row["layer"], [0, 0])
            seen[0] += row["operations"]
            seen[1] += row["bytes"] or 0
        self.assertEqual(sums, expected)
        self.assertGreater(expected["syscall"][0], 100)

    def picture(self, data, view):
        (found,) = [each for each in data["pictures"]["list"] if each["view"] == view]
        self.assertEqual(found["failure"], "")
        return found

    def test_bars_have_each_part_of_time_that_the_report_has(self):
        source = pathlib.Path(__file__).parents[2] / "src"
        columns = re.findall(r'part\("[^"]+", "(\w+)"', (source / "report/sections/calls/call_times.cpp").read_text())
        bars = re.search(r"TIME_PARTS = (\[.*?\]);", (source / "render/html/ui/35_bars.js").read_text(), re.DOTALL)[1]
        self.assertGreater(len(columns), 4)
        self.assertEqual(re.findall(r"\['(\w+)',", bars), columns)

    def test_flows_of_the_page_add_up_to_the_byte(self):
        trace = self.small_recording()
        data = json.loads(block_of(self.small_page().read_text())[0])
        flows = self.picture(data, "byte_flows")
        come, go = {}, {}
        for (direction, *nodes), (size,) in flows["series"]:
            source, target = (direction, *nodes[:2]), (direction, *nodes[2:])
            go[source] = go.get(source, 0) + size
            come[target] = come.get(target, 0) + size
        for node in set(come) & set(go):
            self.assertEqual(come[node], go[node], node)
        balance = json.loads(self.printed("report", trace, "--json"))["byte_balance"]
        completed = {row["direction"]: row["bytes"] for row in balance if row["part"] == "completed"}
        self.assertGreater(completed["write"], 7 * 20 * 65536 - 1)
        self.assertEqual(come["write", "devices", "devices"], completed["write"])
        self.assertEqual(go.get(("read", "devices", "devices"), 0), completed.get("read", 0))

    def test_histograms_and_bins_of_the_page_have_the_sums_of_the_report(self):
        trace = self.small_recording()
        data = json.loads(block_of(self.small_page().read_text())[0])
        report = json.loads(self.printed("report", trace, "--json", "--top", ROWS))
        classes = [column for column in report["sizes"][0] if column.startswith("from_")]
        counts = {(row["layer"], row["operation"]): sum(row[name] for name in classes) for row in report["sizes"]}
        self.assertEqual({(layer, operation): sum(numbers[1::3])
                          for (layer, operation), numbers in self.picture(data, "sizes")["series"]}, counts)
        delays = sum(sum(numbers[1::3]) for _, numbers in self.picture(data, "dirty_delays")["series"])
        self.assertLessEqual(delays, sum(row["bytes"] for row in report["write_backs"]))
        self.assertGreater(delays, 7 * 20 * 65536 // 2)
        files = {path: sum(numbers[1::5]) for (path,), numbers in self.picture(data, "file_bins")["series"]}
        expected = {row["path"]: row["operations"] for row in report["files"]}
        written = [path for path in files if re.fullmatch(r".*/f[1-7]", path)]
        self.assertEqual(len(written), 7)
        for path in written:
            self.assertEqual(files[path], expected[path], path)
        cache = json.loads(self.printed("cache", trace, "--json"))
        (curve,) = data["cache"]["sections"]
        shares = [row[[column["name"] for column in curve["columns"]].index("miss_share")] for row in curve["rows"]]
        self.assertEqual(shares, [row["miss_share"] for row in cache["sizes"]])

    @harness.long
    def test_pages_stay_small_whatever_the_trace(self):
        code = ("import os\nfor i in range(3000):\n  name = '%04d' % i + '<' * 240\n"
                "  with open(name, 'wb') as file: file.write(b'x' * 5000)\n  os.stat(name)\n")
        trace = self.record("python3", "-c", code, cwd=self.folder).path
        data, template = block_of(self.page_of(trace).read_text())
        self.assertLess(len(data.encode()), DATA_BYTES)
        self.assertGreater(len(data.encode()), DATA_BYTES // 10)

    def test_template_is_small_and_its_script_is_well_formed(self):
        html = self.small_page().read_text()
        template = block_of(html)[1]
        self.assertLess(len(template.encode()), TEMPLATE_BYTES)
        (script,) = re.findall(r"<script>(.*?)</script>", template, re.S)
        if not shutil.which("node"):
            self.skipTest("needs node, which npm brings: tools/setup installs it")
        path = self.folder / "page.js"
        path.write_text(script)
        checked = harness.run("node", "--check", path)
        self.assertEqual(checked.returncode, 0, checked.stderr)

    def test_a_page_replaces_no_file_and_excludes_other_forms(self):
        trace = self.small_recording()
        kept = self.folder / "kept.html"
        kept.write_text("mine")
        refused = harness.run(harness.IOTRAIL, "report", trace, "--html", kept)
        self.assertEqual(refused.returncode, 1)
        self.assertIn("File exists", refused.stderr)
        self.assertEqual(kept.read_text(), "mine")
        for option in ("--json", "--full", "--wide", "--by=file"):
            process = harness.run(harness.IOTRAIL, "report", trace, "--html", self.folder / "new.html", option)
            self.assertEqual(process.returncode, 2, option)
        self.assertFalse((self.folder / "new.html").exists())

    def hostile_recording(self):
        folder = self.folder / "hostile"
        folder.mkdir()
        code = ("import os, sys\nfor name in sys.argv[2:]:\n"
                "  with open(os.path.join(sys.argv[1], name.replace('/', '\\u2215')), 'wb') as file: file.write(b'x' * 9000)\n")
        deep = folder
        for _ in range(14):
            deep /= "<b>" + "y" * 250
        deep.mkdir(parents=True)
        return self.record("python3", "-c", code, folder, *HOSTILE, str(deep / "file")[len(str(folder)) + 1:].replace("/", "_")[:200]).path

    def test_hostile_names_end_no_element(self):
        html = self.page_of(self.hostile_recording()).read_text()
        data, template = block_of(html)
        self.assertNotIn("<", data)
        self.assertNotRegex(data, "[\x00-\x09\x0b-\x1f\u2028\u2029\u202e]")
        self.assertEqual(template.count("<script"), 2 - 1)  # the block's own is cut out
        self.assertIn("img src=x onerror", data)

    @needs_browser
    def test_hostile_names_stay_text(self):
        path = self.page_of(self.hostile_recording())
        with browser.Browser() as page:
            page.open(path)
            self.assertEqual(page.value("document.images.length"), 0)
            self.assertEqual(page.value("document.scripts.length"), 2)
            page.value("document.querySelectorAll('.tools button').forEach((button) => button.click())")
            text = page.value("document.body.textContent")
            self.assertIn("<img src=x onerror=alert(1)>", text)
            self.assertIn("\\x1b", text)
            self.assertIn("__proto__", text)
            self.assertEqual(page.troubles(), [])

    @needs_browser
    def test_page_in_a_browser_has_the_texts_of_the_report(self):
        trace = self.small_recording()
        lines = self.printed("report", trace, "--full", "--wide", "--top", ROWS).splitlines()
        with browser.Browser() as page:
            page.open(self.small_page())
            page.value("document.querySelectorAll('.tools button').forEach((button) => button.click())")
            tables = page.value("""[...document.querySelectorAll('section[id^=section-]')].map((section) => [
                section.querySelector('h2').textContent,
                [...section.querySelectorAll('tbody tr')].map((row) => [...row.cells].map((cell) => cell.textContent))])""")
            compared = 0
            for title, rows in tables:
                below = iter(" ".join(line.split()) for line in lines[lines.index(title) if rows else 0:])
                for cells in rows:
                    row = " ".join(" ".join(cells).split())
                    self.assertIn(row, below, f"{title}: {cells}")  # in this order
                    compared += len(cells)
            self.assertGreater(compared, 100)
            self.assertEqual(page.troubles(), [])

    @harness.long
    @needs_browser
    def test_tables_sort_and_filter_by_keyboard(self):
        with browser.Browser() as page:
            page.open(self.small_page())
            first = "document.querySelector('#section-files tbody tr').textContent"
            page.value("[...document.querySelectorAll('#section-files th button')].find((b) => b.textContent === 'file').focus()")
            page.press("Enter", 13, "\r")
            self.assertEqual(page.value("document.querySelector('#section-files th[aria-sort]').ariaSort"), "ascending")
            ascending = page.value(first)
            page.press("Enter", 13, "\r")
            self.assertNotEqual(page.value(first), ascending)
            page.value("document.querySelector('#section-files input').focus()")
            for letter in "f5":
                page.press(letter, 0, letter)
            rows = page.value("[...document.querySelectorAll('#section-files tbody tr')].map((row) => row.textContent)")
            self.assertTrue(rows and all("f5" in row for row in rows), rows)
            self.assertEqual(page.troubles(), [])

    @needs_browser
    def test_brush_selects_a_part_of_the_run(self):
        with browser.Browser() as page:
            page.look()
            page.open(self.small_page())
            calls = "[...document.querySelectorAll('#time tbody tr')].reduce((sum, row) => sum + Number(row.cells[2].textContent.replace(/\\D/g, '')), 0)"
            page.value("document.querySelectorAll('#time .tools button').forEach((button) => /^all/.test(button.textContent) && button.click())")
            whole = page.value("document.querySelector('#time code').textContent")
            self.assertEqual(whole, "")
            all_rows = page.value(calls)
            box = page.value("""(() => { const canvas = document.querySelector('#time canvas'); canvas.scrollIntoView({behavior: 'instant', block: 'center'});
                const box = canvas.getBoundingClientRect(); return [box.left, box.top, box.width]; })()""")
            for kind, share in (("mousePressed", 0.5), ("mouseMoved", 0.6), ("mouseReleased", 0.7)):
                page.call("Input.dispatchMouseEvent", type=kind, x=box[0] + share * box[2], y=box[1] + 20, button="left", buttons=1, clickCount=1)
            self.assertRegex(page.value("document.querySelector('#time code').textContent"), r"--since [\d.]+s --until [\d.]+s")
            self.assertLess(page.value(calls), all_rows)
            page.press("Escape", 27)
            self.assertEqual(page.value("document.querySelector('#time code').textContent"), "")
            self.assertEqual(page.troubles(), [])

    @needs_browser
    def test_findings_lead_to_their_evidence_and_other_parts_say_what_they_cover(self):
        code = "import os\nf = os.open('f', os.O_CREAT | os.O_WRONLY)\nfor i in range(400): os.write(f, b'x' * 99); os.fsync(f)\n"
        trace = self.record("python3", "-c", code, cwd=self.folder).path
        with browser.Browser() as page:
            page.look()
            page.open(self.page_of(trace))
            targets = page.value("[...document.querySelectorAll('.place a')].map((a) => [a.textContent, document.querySelector(a.getAttribute('href')).tagName])")
            self.assertEqual({tag for _, tag in targets}, {"SECTION"})
            shown = "[...document.querySelectorAll('.whole, .selected')].filter((each) => each.offsetParent !== null).length"
            self.assertEqual(page.value(shown), 0)
            page.value("(() => { const [from] = document.querySelectorAll('#time input[type=number]'); from.value = 0.001; from.dispatchEvent(new Event('change')); })()")
            self.assertGreater(page.value(shown), 5)
            self.assertEqual(page.troubles(), [])

    @needs_browser
    def test_pictures_say_that_they_add_up(self):
        with browser.Browser() as page:
            page.look()
            page.open(self.small_page())
            notes = page.value("[...document.querySelectorAll('#section-byte_balance p, #section-call_times p')].map((p) => p.textContent)")
            self.assertTrue(any(re.fullmatch(r"adds up: [\d,]+ B completed by devices", note) for note in notes), notes)
            self.assertTrue(any(note.startswith("adds up: the parts of each of") for note in notes), notes)
            self.assertGreater(page.value("document.querySelectorAll('#section-byte_balance svg path').length"), 2)
            self.assertEqual(page.value("document.querySelectorAll('#section-byte_balance .warning').length"), 0)
            self.assertEqual(page.troubles(), [])

    @needs_browser
    @harness.long
    def test_nothing_is_hidden_from_people_who_hear_or_magnify_the_page(self):
        if not AXE.exists():
            self.skipTest("tools/setup --check fetches axe-core")
        rules = AXE.read_text()
        for path in (self.small_page(), self.page_of(self.record("true", name="none").path, name="none.html")):
            with browser.Browser() as page:
                for width, scheme in ((1280, "light"), (390, "dark")):
                    page.look(width, 844, scheme)
                    page.open(path)
                    page.value(rules + "; 0")
                    found = page.value("axe.run().then((result) => result.violations.map((each) => [each.id, each.nodes.map((node) => node.html).slice(0, 3)]))")
                    self.assertEqual(found, [], f"{width} {scheme}")

    @harness.long
    @needs_browser
    def test_slowest_operations_are_drawn(self):
        trace = self.small_recording()
        explained = json.loads(self.printed("explain", trace, "--slowest", 12, "--json"))["operations"]
        with browser.Browser() as page:
            page.look()
            page.open(self.small_page())
            self.assertEqual(page.value("[...document.querySelectorAll('#slowest-trails summary')].map((each) => each.textContent)"),
                             [each["title"]["text"] for each in explained])
            self.assertGreater(page.value("document.querySelector('#slowest-trails .spans i').getBoundingClientRect().width"), 1)

    @needs_browser
    @harness.long
    def test_page_fits_a_phone_and_follows_the_colour_scheme(self):
        path = self.small_page()
        with browser.Browser() as page:
            colours = set()
            for width, scheme in ((390, "light"), (390, "dark"), (768, "light"), (1280, "dark")):
                page.look(width, 844, scheme)
                page.open(path)
                self.assertLessEqual(page.value("document.documentElement.scrollWidth"), width)
                colours.add(page.value("getComputedStyle(document.body).backgroundColor"))
                self.assertEqual(page.troubles(), [])
            self.assertEqual(len(colours), 2)
            page.look(media="print")
            self.assertEqual(page.value("getComputedStyle(document.querySelector('nav')).display"), "none")
            self.assertNotEqual(page.value("document.querySelector('.verdict').textContent"), "")


if __name__ == "__main__":
    harness.main()
