# SPDX-License-Identifier: BSD-3-Clause
"""The programs of trail_causes_test.py, in Python. The first argument is a directory on the disk.
Each prints what it knows of its I/O."""

STREAM = """
import ctypes, json, os, random, sys
library = ctypes.CDLL(None)
library.fopen.restype = ctypes.c_void_p
stream = ctypes.c_void_p(library.fopen((sys.argv[1] + '/stream').encode(), b'w'))
sizes = random.Random(5)
pieces = []
for part in range(3):
    for _ in range(200):
        pieces.append(sizes.randrange(1, 900))
        library.fwrite(b'p' * pieces[-1], 1, pieces[-1], stream)
    library.fflush(stream)
    os.fsync(library.fileno(stream))
print(json.dumps(pieces))
"""

FALLS_BACK = """
import ctypes, fcntl, json, mmap, os, struct, sys
PAGE, DIRECT, FICLONE, GETFLAGS, SETFLAGS, EXTENTS = 4096, os.O_DIRECT, 0x40049409, 0x80086601, 0x40086602, 0x80000
memory = mmap.mmap(-1, 16 * PAGE)
path = sys.argv[1] + '/direct'
fd = os.open(path, os.O_CREAT | os.O_RDWR)
kind = sys.argv[2]
if kind == 'ext4': # a file of single blocks: a hole is not filled directly
    flags, = struct.unpack('l', fcntl.ioctl(fd, GETFLAGS, bytes(8)))
    fcntl.ioctl(fd, SETFLAGS, struct.pack('l', flags & ~EXTENTS))
    os.pwrite(fd, b'b' * 8 * PAGE, 0)
    os.ftruncate(fd, 64 * PAGE)
    os.fsync(fd)
    place, size = 4 * PAGE, 8 * PAGE
elif kind == 'xfs': # a part of a block that is shared has to be copied
    source = os.open(path + '.source', os.O_CREAT | os.O_RDWR)
    os.pwrite(source, b'b' * 8 * PAGE, 0)
    os.fsync(source)
    fcntl.ioctl(fd, FICLONE, source)
    place, size = PAGE + 512, 1024
else: # not at a sector
    os.pwrite(fd, b'b' * 8 * PAGE, 0)
    os.fsync(fd)
    place, size = PAGE + 100, 1000
direct = os.open(path, os.O_RDWR | DIRECT)
print(json.dumps([place, os.pwritev(direct, [memoryview(memory)[:size]], place)]))
os.fsync(direct)
"""

# Fills the disk, frees some room twice, and writes into it until it is full.
NO_ROOM = """
import ctypes, json, mmap, os, sys
PAGE, ROOM = 4096, 512 << 10
point = sys.argv[1]
disk = os.open(point, os.O_RDONLY)
files = {name: os.open(point + '/' + name, os.O_CREAT | os.O_WRONLY | flags) for name, flags in (('cached', 0), ('direct', os.O_DIRECT))}
filler = os.open(point + '/filler', os.O_CREAT | os.O_WRONLY)
size, end = 512 << 20, 0
while size >= PAGE:
    try:
        os.posix_fallocate(filler, end, size)
        end += size
    except OSError:
        size //= 2
def fill(name, memory):
    global end
    end -= ROOM
    os.ftruncate(filler, end)
    ctypes.CDLL(None).syncfs(disk) # now the room is there
    results = []
    while not results or results[-1] >= 0 and len(results) < 4096:
        try:
            results.append(os.write(files[name], memory))
        except OSError as error:
            results.append(-error.errno)
    os.fsync(files[name])
    return results
print(json.dumps({'cached': fill('cached', b'n' * 5000), 'direct': fill('direct', mmap.mmap(-1, 4 * PAGE))}))
"""

FAILS = """
import json, mmap, os, sys
results = {}
for name, flags in (('cached', 0), ('direct', os.O_DIRECT)):
    fd = os.open(sys.argv[1] + '/' + name, os.O_WRONLY | flags)
    results[name] = []
    for call in (lambda: os.write(fd, mmap.mmap(-1, 16 * 4096)), lambda: os.fsync(fd)):
        try:
            results[name].append(call() or 0)
        except OSError as error:
            results[name].append(-error.errno)
print(json.dumps(results))
"""

CREATES = """
import ctypes, json, os, sys
directory = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
def written():
    return int(open(sys.argv[3]).read().split()[6]) * 512
before = written()
for number in range(int(sys.argv[2])):
    os.close(os.open('new%d' % number, os.O_CREAT | os.O_WRONLY | os.O_EXCL, dir_fd=directory))
ctypes.CDLL(None).syncfs(directory)
print(json.dumps(written() - before))
"""

# Three processes, one after another, with the same pid, which clone3 takes as an argument.
SAME_PID = """
import ctypes, json, os, sys
CLONE3, SIGCHLD, PAGE = 435, 17, 4096
call = ctypes.PyDLL(None, use_errno=True).syscall
call.restype = ctypes.c_long
def run(pid, name, place, pages):
    wanted = ctypes.c_int(pid)
    rest = (ctypes.addressof(wanted), 1) if pid else (0, 0)
    child = call(CLONE3, (ctypes.c_uint64 * 11)(0, 0, 0, 0, SIGCHLD, 0, 0, 0, *rest, 0), ctypes.c_size_t(88))
    if child == 0:
        os.pwrite(os.open(sys.argv[1] + '/shared', os.O_CREAT | os.O_WRONLY), b's' * pages * PAGE, place * PAGE)
        os.write(os.open(sys.argv[1] + '/' + name, os.O_CREAT | os.O_WRONLY), b'o' * pages * 1000)
        os._exit(0)
    if child > 0:
        os.waitpid(child, 0)
    return child
first = run(0, 'first', 0, 4)
pids = [first, run(first, 'second', 4, 8), run(first, 'third', 2, 1)]
for name in ('shared', 'first', 'second', 'third'):
    if pids == 3 * [first]:
        os.fsync(os.open(sys.argv[1] + '/' + name, os.O_RDONLY))
print(json.dumps(pids))
"""

# Reads at random, three pages in order at a time, each page once. Before each read, cachestat(2)
# says which pages are in the cache.
WASTE = """
import ctypes, json, os, random, sys, time
CACHESTAT, PAGE, PAGES = 451, 4096, 1024
call = ctypes.CDLL(None, use_errno=True).syscall
fd = os.open(sys.argv[1] + '/scattered', os.O_RDONLY)
def cached(page, pages):
    counts = (ctypes.c_uint64 * 5)()
    assert call(CACHESTAT, fd, (ctypes.c_uint64 * 2)(page * PAGE, pages * PAGE), counts, 0) == 0, os.strerror(ctypes.get_errno())
    return counts[0]
try:
    cached(0, PAGES)
except AssertionError:
    print(json.dumps(None))
    sys.exit()
assert cached(0, PAGES) == 0
asked, used = 0, 0
for place in random.Random(5).sample(range(PAGES // 4), 12):
    for page in range(place * 4, place * 4 + 3):
        there = cached(page, 1)
        os.pread(fd, PAGE, page * PAGE)
        used += there
        asked += 1 - there
print(json.dumps([asked * PAGE, used * PAGE, cached(0, PAGES) * PAGE]))
"""

# Writes with so little memory that the kernel must write most of it back meanwhile.
PRESSURE = """
import json, os, sys
with open(sys.argv[2] + '/cgroup.procs', 'w') as members:
    members.write(str(os.getpid()))
fd = os.open(sys.argv[1] + '/more', os.O_CREAT | os.O_WRONLY)
size = sum(os.write(fd, b'm' * (1 << 20)) for _ in range(96))
os.fsync(fd)
print(json.dumps([os.getpid(), size]))
"""

# Children that are killed while they read, once the disk has begun.
KILLED = """
import ctypes, json, mmap, os, sys, time
CACHESTAT, SIZE = 451, 64 << 20
def cached(fd):
    counts = (ctypes.c_uint64 * 5)()
    failed = ctypes.CDLL(None).syscall(CACHESTAT, fd, (ctypes.c_uint64 * 2)(0, SIZE), counts, 0)
    in_cache, _, _, evicted, _ = counts  # a machine short of memory evicts pages before they are counted
    return None if failed else (in_cache + evicted) * 4096
def count(name, place):
    return int(open(sys.argv[2] + '/' + name).read().split()[place])
memory = mmap.mmap(-1, SIZE)
truth = {}
for name, flags in (('cached', 0), ('direct', os.O_DIRECT)):
    fd = os.open(sys.argv[1] + '/' + name, os.O_RDONLY)
    begun = count('stat', 2)
    child = os.fork()
    if child == 0:
        os.preadv(os.open(sys.argv[1] + '/' + name, os.O_RDONLY | flags), [memory], 0)
        time.sleep(60)
    while count('stat', 2) - begun < 8192:  # half of it may be metadata
        pass
    os.kill(child, 9)
    os.waitpid(child, 0)
    while count('inflight', 0):
        time.sleep(0.001)
    truth[name] = [child, cached(fd)]
print(json.dumps(truth))
"""
