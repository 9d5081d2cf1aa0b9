# SPDX-License-Identifier: BSD-3-Clause
"""`iotrail cache` of a recorded program equals simulators of caches that look at every page, on the
accesses that the program says it made."""
import collections
import json
import random

import harness

PAGE = 4096
PAGES = 300
SIZES = (1, 2, 5, 16, 50, 128, 299, 300, 1000)

PROGRAM = """
import json, os, random
chance = random.Random(28)
page, pages = {page}, {pages}
fd = os.open("data", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, page * pages)
done = []
for i in range(1500):
    first = min(int(chance.paretovariate(0.7)) - 1, pages - 3) if i % 3 else i // 3 % (pages - 3)
    offset, length = first * page + chance.randrange(page), 1 + chance.randrange(2 * page)
    is_read = chance.random() < 0.8
    moved = len(os.pread(fd, length, offset)) if is_read else os.pwrite(fd, b"x" * length, offset)
    done.append((is_read, offset, moved))
print(json.dumps(done))
"""


def lru(accesses, size):
    stack, misses = collections.OrderedDict(), 0
    for is_read, page in accesses:
        misses += is_read and page not in stack
        stack[page] = True
        stack.move_to_end(page)
        if len(stack) > size:
            stack.popitem(last=False)
    return misses


def fifo(accesses, size):
    queue, misses = collections.deque(), 0
    for is_read, page in accesses:
        if page in queue:
            continue
        misses += is_read
        queue.append(page)
        if len(queue) > size:
            queue.popleft()
    return misses


class Misses(harness.AcceptanceTest):
    def recorded(self):
        program = PROGRAM.format(page=PAGE, pages=PAGES)
        recording = self.record("python3", "-c", program, cwd=self.folder)
        done = json.loads(recording.process.stdout)
        accesses = [(is_read, page) for is_read, offset, moved in done
                    for page in range(offset // PAGE, (offset + moved - 1) // PAGE + 1)]
        return recording, accesses

    def curve(self, recording, *options):
        process = harness.run(harness.IOTRAIL, "cache", recording.path, "--file", self.folder / "data", "--json",
                              "--sizes", ",".join(str(size * PAGE) for size in SIZES), *options)
        self.assertEqual(process.returncode, 0, process.stderr)
        return json.loads(process.stdout)["sizes"]

    def test_misses_equal_those_of_simulators_that_look_at_each_page(self):
        recording, accesses = self.recorded()
        reads = sum(is_read for is_read, page in accesses)
        rows = self.curve(recording, "--policy", "fifo")
        self.assertEqual([row["size_bytes"] for row in rows], [size * PAGE for size in SIZES])
        for row, size in zip(rows, SIZES):
            self.assertEqual(row["misses"], lru(accesses, size), size)
            self.assertAlmostEqual(row["miss_share"], lru(accesses, size) / reads)
            self.assertAlmostEqual(row["fifo_miss_share"], fifo(accesses, size) / reads)
            self.assertEqual(row["miss_error"], 0)

    def test_sample_is_near_the_truth_and_says_how_near(self):
        recording, accesses = self.recorded()
        reads = sum(is_read for is_read, page in accesses)
        for row, size in zip(self.curve(recording, "--sample", 200), SIZES):
            if size >= 16:
                self.assertGreater(row["miss_error"], 0)
                self.assertLess(abs(row["miss_share"] - lru(accesses, size) / reads), 0.25, size)


if __name__ == "__main__":
    harness.main()
