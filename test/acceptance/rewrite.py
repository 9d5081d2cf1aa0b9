#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""rewrite.py FILE [WRITES]: processes rewrite the same pages while another one has them written
back. Prints for each page the pid of its last writer, as the file itself says at the end."""
import os
import random
import sys

PAGE, PAGES, WRITERS = 4096, 64, 3
WRITES = int(sys.argv[2]) if len(sys.argv) > 2 else 15000


def in_children(works):
    children = []
    for work in works:
        child = os.fork()
        if child == 0:
            work()
            os._exit(0)
        children.append(child)
    return children


def rewrite(descriptor):
    content = (str(os.getpid()).encode() + b" ").ljust(PAGE)
    pages = random.Random(os.getpid())
    for _ in range(WRITES):
        os.pwrite(descriptor, content, pages.randrange(PAGES) * PAGE)


def sync(descriptor):
    while True:
        os.fdatasync(descriptor)


descriptor = os.open(sys.argv[1], os.O_CREAT | os.O_RDWR)
os.pwrite(descriptor, b"0".ljust(PAGE) * PAGES, 0)
writers = in_children([lambda: rewrite(descriptor)] * WRITERS)
(syncer,) = in_children([lambda: sync(descriptor)])
for writer in writers:
    os.waitpid(writer, 0)
os.kill(syncer, 9)
os.waitpid(syncer, 0)
os.fsync(descriptor)
print(*(int(os.pread(descriptor, PAGE, page * PAGE).split()[0]) for page in range(PAGES)))
