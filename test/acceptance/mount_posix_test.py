# SPDX-License-Identifier: BSD-3-Clause
"""The same calls on a directory of `iotrail mount` and on a plain one have the same outcomes."""
import ctypes
import errno
import fcntl
import mmap
import os
import stat
import time

import harness
from mount_test import MountTest

LIBC = ctypes.CDLL(None, use_errno=True)
EXCHANGE, NOREPLACE = 2, 1
PUNCH_HOLE, KEEP_SIZE = 2, 1


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result


def rename2(old, new, flags):
    return checked(LIBC.renameat2(-100, os.fsencode(old), -100, os.fsencode(new), flags))


def fallocate(fd, mode, offset, length):
    return checked(LIBC.fallocate(fd, mode, ctypes.c_long(offset), ctypes.c_long(length)))


def link_descriptor(fd, path):
    follow_symlinks = 0x400
    return checked(LIBC.linkat(-100, os.fsencode(f"/proc/self/fd/{fd}"), -100, os.fsencode(path), follow_symlinks))


def use(path, flags, action=lambda fd: None, mode=0o644):
    fd = os.open(path, flags, mode)
    try:
        return action(fd)
    finally:
        os.close(fd)


def attributes(path):
    """All but times, inode and device numbers, and the size of a directory."""
    found = os.lstat(path)
    return (oct(found.st_mode), found.st_nlink, found.st_uid, found.st_gid,
            None if stat.S_ISDIR(found.st_mode) else found.st_size)


def content(path):
    with open(path, "rb") as file:
        return file.read()


def append(fd):
    return os.write(fd, b"abc"), os.lseek(fd, 0, os.SEEK_CUR)


def map_shared(fd):
    os.ftruncate(fd, 8192)
    with mmap.mmap(fd, 8192) as mapped:
        mapped[5000:5003] = b"map"
        mapped.flush()
    os.pwrite(fd, b"W", 5001)
    with mmap.mmap(fd, 8192) as mapped:
        return mapped[4999:5004], os.pread(fd, 5, 4999)


def unlinked(path):
    def still(fd):
        os.unlink(path)
        os.write(fd, b"still")
        return os.fstat(fd).st_nlink, os.pread(fd, 9, 0), os.fstat(fd).st_size
    return use(path, os.O_RDWR | os.O_CREAT, still)


def tmpfile(folder):
    def name(fd):
        os.write(fd, b"tmp")
        link_descriptor(fd, folder / "named")
        return attributes(folder / "named"), content(folder / "named")
    return use(folder, os.O_TMPFILE | os.O_RDWR, name)


def lock_twice(path):
    def lock(fd):
        fcntl.flock(fd, fcntl.LOCK_EX)
        return use(path, os.O_RDWR, lambda other: fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB))
    return use(path, os.O_RDWR, lock)


def copy_range(folder):
    return use(folder / "soft", os.O_RDONLY, lambda source: use(
        folder / "copy", os.O_WRONLY | os.O_CREAT, lambda to: os.copy_file_range(source, to, 50_000)))


def direct(fd):
    with mmap.mmap(-1, 8192) as aligned:
        return os.readv(fd, [memoryview(aligned)[:4096]])


def set_times(path):
    os.utime(path, ns=(1_000_000_002, 3_000_000_004))
    return os.stat(path).st_atime_ns, os.stat(path).st_mtime_ns


def times_now(path):
    os.utime(path)
    return abs(os.stat(path).st_mtime - time.time()) < 5


def setgid_directory(folder):
    (folder / "g").mkdir(0o777)
    os.chown(folder / "g", 0, 77)
    os.chmod(folder / "g", 0o2777)
    (folder / "g/h").mkdir(0o755)
    use(folder / "g/f", os.O_CREAT | os.O_RDWR)
    return attributes(folder / "g/h"), attributes(folder / "g/f")


def many_names(folder):
    (folder / "many").mkdir()
    for number in range(2000):
        use(folder / f"many/{number:0200}", os.O_CREAT | os.O_WRONLY)
    first = sorted(os.listdir(folder / "many"))
    for name in first[::2]:
        os.unlink(folder / "many" / name)
    return first, sorted(os.listdir(folder / "many"))


def as_nobody(folder):
    """Calls of another user, in a child."""
    folder.chmod(0o777)
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.umask(0o027)
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            use(folder / "theirs", os.O_CREAT | os.O_WRONLY, mode=0o666)
            os.mkdir(folder / "their directory")
            os.symlink("x", folder / "their link")
            for path in ("secret", "d/b"):
                try:
                    os.open(folder / path, os.O_RDWR)
                except OSError as refused:
                    status = 0 if refused.errno == errno.EACCES else 2
        finally:
            os._exit(status)
    _, status = os.waitpid(child, 0)
    return status, [attributes(folder / name) for name in ("theirs", "their directory", "their link")]


RDWR, RDONLY, CREATE = os.O_RDWR, os.O_RDONLY, os.O_RDWR | os.O_CREAT | os.O_EXCL
# Calls in this order, each with the directory; their outcomes are compared.
CALLS = {
    "open missing": lambda d: use(d / "none", RDONLY),
    "create": lambda d: use(d / "a", CREATE, lambda fd: os.write(fd, b"0123456789")),
    "create again": lambda d: use(d / "a", CREATE),
    "read": lambda d: use(d / "a", RDONLY, lambda fd: os.pread(fd, 100, 3)),
    "append": lambda d: use(d / "a", os.O_WRONLY | os.O_APPEND, append),
    "append later": lambda d: use(d / "a", os.O_WRONLY, lambda fd: (fcntl.fcntl(fd, fcntl.F_SETFL, os.O_APPEND), append(fd))),
    "no more append": lambda d: use(d / "a", os.O_WRONLY | os.O_APPEND, lambda fd: (fcntl.fcntl(fd, fcntl.F_SETFL, 0), os.pwrite(fd, b"X", 2))),
    "appended": lambda d: content(d / "a"),
    "write to read only": lambda d: use(d / "a", RDONLY, lambda fd: os.write(fd, b"x")),
    "read of write only": lambda d: use(d / "a", os.O_WRONLY, lambda fd: os.read(fd, 1)),
    "mkdir": lambda d: os.mkdir(d / "d", 0o750),
    "mkdir again": lambda d: os.mkdir(d / "d"),
    "unlink directory": lambda d: os.unlink(d / "d"),
    "write directory": lambda d: use(d / "d", os.O_WRONLY),
    "below a file": lambda d: os.mkdir(d / "a/b"),
    "link": lambda d: os.link(d / "a", d / "d/hard"),
    "links": lambda d: (attributes(d / "a"), os.path.samefile(d / "a", d / "d/hard")),
    "link directory": lambda d: os.link(d / "d", d / "e"),
    "rmdir full": lambda d: os.rmdir(d / "d"),
    "symlink": lambda d: os.symlink("a", d / "soft"),
    "read symlink": lambda d: (os.readlink(d / "soft"), content(d / "soft")),
    "absolute symlink": lambda d: (os.symlink("/x/y", d / "absolute"), os.readlink(d / "absolute")),
    "loop": lambda d: (os.symlink("loop", d / "loop"), os.stat(d / "loop")),
    "nofollow": lambda d: use(d / "soft", RDONLY | os.O_NOFOLLOW),
    "symlink's owner": lambda d: (os.lchown(d / "soft", 12, 13), attributes(d / "soft")),
    "rename": lambda d: os.rename(d / "a", d / "d/b"),
    "renamed": lambda d: (attributes(d / "d/b"), os.path.exists(d / "a")),
    "rename into itself": lambda d: os.rename(d / "d", d / "d/e"),
    "rename over directory": lambda d: os.rename(d / "d/b", d / "d"),
    "exchange": lambda d: (rename2(d / "soft", d / "d/b", EXCHANGE), attributes(d / "soft")),
    "noreplace": lambda d: rename2(d / "soft", d / "d/b", NOREPLACE),
    "chmod": lambda d: (os.chmod(d / "soft", 0o4711), attributes(d / "soft")),
    "chown clears setuid": lambda d: (os.chown(d / "soft", 1, 2), attributes(d / "soft")),
    "truncate": lambda d: (os.truncate(d / "soft", 100_000), attributes(d / "soft")),
    "truncate to a negative length": lambda d: os.truncate(d / "soft", -1),
    "ftruncate": lambda d: use(d / "soft", RDWR, lambda fd: os.ftruncate(fd, 32768)),
    "open with O_TRUNC": lambda d: (use(d / "d/hard", os.O_WRONLY | os.O_TRUNC), attributes(d / "d/hard")),
    "write far": lambda d: use(d / "soft", RDWR, lambda fd: os.pwrite(fd, b"far", 1 << 20)),
    "seek data": lambda d: use(d / "soft", RDONLY, lambda fd: os.lseek(fd, 0, os.SEEK_DATA)),
    "seek hole": lambda d: use(d / "soft", RDONLY, lambda fd: os.lseek(fd, 5000, os.SEEK_HOLE)),
    "seek beyond": lambda d: use(d / "soft", RDONLY, lambda fd: os.lseek(fd, 1 << 30, os.SEEK_HOLE)),
    "fallocate": lambda d: (use(d / "soft", RDWR, lambda fd: fallocate(fd, 0, 0, 1 << 21)), attributes(d / "soft")),
    "punch a hole": lambda d: use(d / "soft", RDWR, lambda fd: fallocate(fd, PUNCH_HOLE | KEEP_SIZE, 4096, 8192)),
    "copy a range": copy_range,
    "copied": lambda d: content(d / "copy"),
    "set xattr": lambda d: os.setxattr(d / "copy", "user.one", b"value"),
    "create xattr again": lambda d: os.setxattr(d / "copy", "user.one", b"v", os.XATTR_CREATE),
    "get xattr": lambda d: os.getxattr(d / "copy", "user.one"),
    "get missing xattr": lambda d: os.getxattr(d / "copy", "user.two"),
    "list xattr": lambda d: os.listxattr(d / "copy"),
    "remove xattr": lambda d: (os.removexattr(d / "copy", "user.one"), os.listxattr(d / "copy")),
    "fifo": lambda d: (os.mkfifo(d / "fifo", 0o600), attributes(d / "fifo")),
    "device": lambda d: (os.mknod(d / "null", stat.S_IFCHR | 0o600, os.makedev(1, 3)), os.stat(d / "null").st_rdev),
    "times": lambda d: set_times(d / "copy"),
    "times now": lambda d: times_now(d / "copy"),
    "O_TMPFILE": tmpfile,
    "unlinked, but open": lambda d: unlinked(d / "gone"),
    "shared mapping": lambda d: use(d / "named", RDWR, map_shared),
    "mapped": lambda d: content(d / "named"),
    "sync": lambda d: use(d / "named", RDWR, lambda fd: (os.fsync(fd), os.fdatasync(fd))),
    "sync a directory": lambda d: use(d / "d", RDONLY | os.O_DIRECTORY, os.fsync),
    "lock": lambda d: lock_twice(d / "named"),
    "record lock": lambda d: use(d / "named", RDWR, lambda fd: fcntl.lockf(fd, fcntl.LOCK_EX | fcntl.LOCK_NB, 5)),
    "direct": lambda d: use(d / "named", RDONLY | os.O_DIRECT, direct),
    "name too long": lambda d: os.mkdir(d / ("n" * 256)),
    "many names": many_names,
    "file system": lambda d: (os.statvfs(d).f_bsize, os.statvfs(d).f_blocks, os.statvfs(d).f_namemax),
    "rmdir": lambda d: (os.mkdir(d / "empty"), os.rmdir(d / "empty"), os.path.exists(d / "empty")),
    "setgid directory": setgid_directory,
    "secret": lambda d: use(d / "secret", CREATE, mode=0o600),
    "another user": as_nobody,
}


def outcome(call, folder):
    try:
        return call(folder)
    except OSError as refused:
        return errno.errorcode.get(refused.errno, refused.errno)


class Posix(MountTest):
    def test_calls_have_the_outcomes_of_a_plain_directory(self):
        model = self.folder / "model"
        model.mkdir()
        process = self.mount()
        os.umask(0o022)
        for name, call in CALLS.items():
            with self.subTest(name):
                self.assertEqual(outcome(call, self.point), outcome(call, model))
        self.end(process)

    @harness.long
    def test_with_the_kernels_cache_too(self):
        model = self.folder / "model"
        model.mkdir()
        process = self.mount("--cache")
        for name, call in CALLS.items():
            with self.subTest(name):
                self.assertEqual(outcome(call, self.point), outcome(call, model))
        self.end(process)


if __name__ == "__main__":
    harness.main()
