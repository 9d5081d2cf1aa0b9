# SPDX-License-Identifier: BSD-3-Clause
"""I/O with known trails: trail_scenarios.py DIRECTORY runs each scenario on a file with its name.
Prints JSON with the expected result for each file: the processes that cause bytes on the device,
[[pid, cause, bytes or [least, most]], ...], and the fates of written bytes, {pid: [written,
to_device, absorbed, dropped]}."""
import ctypes
import fcntl
import json
import mmap
import os
import pathlib
import random
import sys

PAGE = 4096
KEEP_SIZE, PUNCH_HOLE = 1, 2
FICLONE = 0x40049409
RWF_APPEND = 0x10
SEED = 5


def in_child(work):
    """Runs `work` in a process of its own, waits for it and returns its pid."""
    pid = os.fork()
    if pid == 0:
        work()
        os._exit(0)
    os.waitpid(pid, 0)
    return pid


def sync_by_another(path):
    def sync():
        os.fsync(os.open(path, os.O_RDONLY))
    in_child(sync)


def write(path, offset, size, flags=0):
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | flags)
    os.pwrite(descriptor, b"w" * size, offset)
    os.close(descriptor)


def shares_blocks(path):
    """Whether files can share blocks on the file system with `path` in its root."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        return any(line.split()[1].replace("\\040", " ") == os.path.dirname(path) and line.split()[2] in ("xfs", "btrfs") for line in mounts)


def written_once(path):
    """The writer has exited before another process has its bytes written back."""
    writer = in_child(lambda: [write(path, page * PAGE, PAGE) for page in range(64)])
    sync_by_another(path)
    return [[writer, "write_back", 64 * PAGE]], {writer: [64 * PAGE, 64 * PAGE, 0, 0]}


def rewritten(path):
    """Pages are rewritten at random before they reach the device: the last writer counts."""
    pages = random.Random(SEED)
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    touched = set()
    for _ in range(400):
        page = pages.randrange(64)
        touched.add(page)
        os.pwrite(descriptor, b"r" * PAGE, page * PAGE)
    os.fsync(descriptor)
    here, last = os.getpid(), len(touched) * PAGE
    return [[here, "write_back", last]], {here: [400 * PAGE, last, 400 * PAGE - last, 0]}


def appended(path):
    """Appends of odd sizes share pages; the last page is padded."""
    sizes = random.Random(SEED)
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    total = sum(os.write(descriptor, b"a" * sizes.randrange(1, 900)) for _ in range(500))
    os.fsync(descriptor)
    here = os.getpid()
    return ([[here, "write_back", total], [here, "rounding", -total % PAGE]], {here: [total, total, 0, 0]})


def appended_anywhere(path):
    """An appending write goes to the end, whatever position it names."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    for _ in range(4):
        os.pwrite(descriptor, b"a" * 2 * PAGE, 0)
    plain = os.open(path, os.O_WRONLY)
    for _ in range(4):
        os.pwritev(plain, [b"v" * 2 * PAGE], 0, RWF_APPEND)
    os.fsync(descriptor)
    here = os.getpid()
    return [[here, "write_back", 16 * PAGE]], {here: [16 * PAGE, 16 * PAGE, 0, 0]}


def neighbours(path):
    """Two processes write to one page, and to the next."""
    first = in_child(lambda: write(path, 0, PAGE + 1000))
    second = in_child(lambda: write(path, PAGE + 1000, 2 * PAGE - 1000))
    sync_by_another(path)
    return ([[first, "write_back", PAGE + 1000], [second, "write_back", 2 * PAGE - 1000]],
            {first: [PAGE + 1000, PAGE + 1000, 0, 0], second: [2 * PAGE - 1000, 2 * PAGE - 1000, 0, 0]})


def truncated(path):
    """Bytes that are truncated before their write-back never reach the device."""
    write(path, 0, 8 * PAGE)
    sync_by_another(path)
    # Not the page of the new end, which xfs of Linux 6.1 writes back when it truncates.
    write(path, 16 * PAGE, 16 * PAGE)
    os.truncate(path, 8 * PAGE)
    sync_by_another(path)
    here = os.getpid()
    return [[here, "write_back", 8 * PAGE]], {here: [24 * PAGE, 8 * PAGE, 0, 16 * PAGE]}


def unlinked(path):
    write(path, 0, 16 * PAGE)
    os.unlink(path)
    return [], {os.getpid(): [16 * PAGE, 0, 0, 16 * PAGE]}


def punched(path):
    """Punches a hole into dirty pages. A file system may write them back before."""
    write(path, 0, 16 * PAGE)
    ctypes.CDLL(None, use_errno=True).fallocate(
        ctypes.c_int(os.open(path, os.O_WRONLY)), ctypes.c_int(PUNCH_HOLE | KEEP_SIZE), ctypes.c_long(4 * PAGE), ctypes.c_long(4 * PAGE))
    sync_by_another(path)
    here = os.getpid()
    return [[here, "write_back", [12 * PAGE, 16 * PAGE]]], None


def committed(path):
    """A journal's commit tries to write a page back and leaves it dirty: the journal has written
    nothing."""
    write(path, 0, 100)
    os.truncate(path, 64 * PAGE)
    other = os.open(path + ".other", os.O_CREAT | os.O_WRONLY)
    os.write(other, b"o" * PAGE)
    os.fsync(other)
    sync_by_another(path)
    here = os.getpid()
    return [[here, "write_back", 100], [here, "rounding", PAGE - 100]], {here: [100, 100, 0, 0]}


def direct_over_dirty(path):
    """A direct write first has the dirty pages of its range written back: they belong to their
    writer."""
    writer = in_child(lambda: write(path, 0, 4 * PAGE))
    descriptor = os.open(path, os.O_WRONLY | os.O_DIRECT)
    os.pwrite(descriptor, mmap.mmap(-1, 2 * PAGE), PAGE)
    sync_by_another(path)
    return ([[writer, "write_back", 4 * PAGE], [os.getpid(), "direct", 2 * PAGE]], {writer: [4 * PAGE, 4 * PAGE, 0, 0]})


def mapped(path):
    """Stores to every second page through a mapping. With large folios, the pages between are
    written too."""
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR)
    os.pwrite(descriptor, b"m" * 32 * PAGE, 0)
    os.fsync(descriptor)
    with mmap.mmap(descriptor, 32 * PAGE) as memory:
        for page in range(0, 32, 2):
            memory[page * PAGE] = 1
        memory.flush()
    here = os.getpid()
    return [[here, "write_back", 32 * PAGE], [here, "mapped", [16 * PAGE, 32 * PAGE]]], None


def direct(path):
    descriptor = os.open(path, os.O_CREAT | os.O_RDWR | os.O_DIRECT)
    memory = mmap.mmap(-1, PAGE)
    for page in range(16):
        os.pwrite(descriptor, memory, page * PAGE)
    return [[os.getpid(), "direct", 16 * PAGE]], {}


def synchronous(path):
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_DSYNC)
    for page in range(8):
        os.pwrite(descriptor, b"s" * PAGE, page * PAGE)
    here = os.getpid()
    return [[here, "write_back", 8 * PAGE]], {here: [8 * PAGE, 8 * PAGE, 0, 0]}


def open_copy(path):
    """A file of 16 pages on the disk, and the file to copy it to."""
    source = path + ".source"
    write(source, 0, 16 * PAGE)
    sync_by_another(source)
    return os.open(source, os.O_RDONLY), os.open(path, os.O_CREAT | os.O_RDWR)


def copied(path):
    """sendfile copies through the page cache."""
    taken, descriptor = open_copy(path)
    moved = 0
    while moved < 16 * PAGE:
        moved += os.sendfile(descriptor, taken, moved, 16 * PAGE - moved)
    os.fsync(descriptor)
    return [[os.getpid(), "write_back", 16 * PAGE]], None


def spliced(path):
    """Copies from file to file through a pipe."""
    taken, descriptor = open_copy(path)
    reader, writer = os.pipe()
    moved = 0
    while moved < 16 * PAGE:
        moved += os.splice(reader, descriptor, os.splice(taken, writer, 4 * PAGE))
    os.fsync(descriptor)
    return [[os.getpid(), "write_back", 16 * PAGE]], None


def copied_in_kernel(path):
    """copy_file_range copies through the page cache or, if the file system can, shares the blocks."""
    taken, descriptor = open_copy(path)
    moved = 0
    while moved < 16 * PAGE:
        moved += os.copy_file_range(taken, descriptor, 16 * PAGE - moved)
    os.fsync(descriptor)
    return ([] if shares_blocks(path) else [[os.getpid(), "write_back", 16 * PAGE]]), None


def reflinked(path):
    """If two files share blocks, only rewritten blocks reach the disk again."""
    taken, descriptor = open_copy(path)
    if shares_blocks(path):
        fcntl.ioctl(descriptor, FICLONE, taken)
    os.pwrite(descriptor, b"r" * 2 * PAGE, PAGE)
    os.fsync(descriptor)
    here = os.getpid()
    return [[here, "write_back", 2 * PAGE]], {here: [2 * PAGE, 2 * PAGE, 0, 0]}


def mapped_without_msync(path):
    """Stores through a mapping reach the disk without a call of the storing process."""
    write(path, 0, 16 * PAGE)
    sync_by_another(path)

    def store():
        descriptor = os.open(path, os.O_RDWR)
        memory = mmap.mmap(descriptor, 16 * PAGE)
        for page in range(16):
            memory[page * PAGE] = 1
        os._exit(0)
    storer = in_child(store)
    sync_by_another(path)
    return [[os.getpid(), "write_back", 16 * PAGE], [storer, "mapped", 16 * PAGE]], None


def data_synced(path):
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    for turn in range(3):
        os.pwrite(descriptor, b"d" * 4 * PAGE, turn * 2 * PAGE)
        os.fdatasync(descriptor)
    here = os.getpid()
    return [[here, "write_back", 12 * PAGE]], {here: [12 * PAGE, 12 * PAGE, 0, 0]}


def written_through(path):
    """O_SYNC, by writes that share pages: each write takes its whole page with it."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY | os.O_SYNC)
    for place in range(8):
        os.pwrite(descriptor, b"t" * (PAGE // 2), place * PAGE // 2)
    here = os.getpid()
    return [[here, "write_back", 4 * PAGE], [here, "rounding", [3 * PAGE, 4 * PAGE]]], {here: [4 * PAGE, 4 * PAGE, 0, 0]}


def range_synced(path):
    """sync_file_range has a part written, another process the rest."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.pwrite(descriptor, b"r" * 16 * PAGE, 0)
    ctypes.CDLL(None).sync_file_range(ctypes.c_int(descriptor), ctypes.c_long(4 * PAGE), ctypes.c_long(4 * PAGE), ctypes.c_uint(7))
    sync_by_another(path)
    here = os.getpid()
    return [[here, "write_back", 16 * PAGE]], {here: [16 * PAGE, 16 * PAGE, 0, 0]}


def synced_all(path):
    """sync(2) of another process: the kernel's own threads write for it."""
    write(path, 0, 8 * PAGE)
    in_child(os.sync)
    here = os.getpid()
    return [[here, "write_back", 8 * PAGE]], {here: [8 * PAGE, 8 * PAGE, 0, 0]}


def allocated(path):
    """If space is reserved, only its written bytes reach the disk."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.posix_fallocate(descriptor, 0, 16 * PAGE)
    os.pwrite(descriptor, b"a" * 4 * PAGE, 2 * PAGE)
    os.fsync(descriptor)
    here = os.getpid()
    return [[here, "write_back", 4 * PAGE]], {here: [4 * PAGE, 4 * PAGE, 0, 0]}


def forked(path):
    """A descriptor that parent and child share."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    os.write(descriptor, b"p" * 4 * PAGE)
    child = in_child(lambda: os.write(descriptor, b"c" * 4 * PAGE))
    os.fsync(descriptor)
    here = os.getpid()
    return ([[here, "write_back", 4 * PAGE], [child, "write_back", 4 * PAGE]],
            {here: [4 * PAGE, 4 * PAGE, 0, 0], child: [4 * PAGE, 4 * PAGE, 0, 0]})


def sparse(path):
    """Single pages far apart, each in a bio of its own."""
    descriptor = os.open(path, os.O_CREAT | os.O_WRONLY)
    for page in range(0, 512, 16):
        os.pwrite(descriptor, b"h" * PAGE, page * PAGE)
    os.fsync(descriptor)
    here = os.getpid()
    return [[here, "write_back", 32 * PAGE]], {here: [32 * PAGE, 32 * PAGE, 0, 0]}


SCENARIOS = [written_once, rewritten, appended, appended_anywhere, neighbours, truncated, unlinked, punched, committed,
             direct_over_dirty, mapped, direct, synchronous, copied, forked,
             sparse, spliced, copied_in_kernel, reflinked, mapped_without_msync, data_synced, range_synced, synced_all,
             allocated, written_through]

if __name__ == "__main__":
    directory = pathlib.Path(sys.argv[1])
    print(json.dumps({scenario.__name__: scenario(str(directory / scenario.__name__)) for scenario in SCENARIOS}))
