// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of io_uring on paths: each call with its paths and the directories that they begin at.
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/openat2.h>
#include <linux/stat.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <string>

#include "kernel_async_fixture.hpp"
#include "left_behind.hpp"

namespace iotrail::live {
namespace {

std::uint64_t address(const void* object) {
  return reinterpret_cast<std::uintptr_t>(object);
}

io_uring_sqe on_path(std::uint8_t opcode, std::uint64_t number, int fd, const char* path) {
  io_uring_sqe sqe = entry(opcode, number, fd);
  sqe.addr = address(path);
  return sqe;
}

io_uring_sqe open_file(std::uint64_t number, int fd, const char* path, std::uint32_t flags) {
  io_uring_sqe sqe = on_path(IORING_OP_OPENAT, number, fd, path);
  sqe.len = 0600;
  sqe.open_flags = flags;
  return sqe;
}

io_uring_sqe on_both(std::uint8_t opcode, std::uint64_t number, int fd, const char* path,
                     int new_fd, const char* new_path, std::uint32_t flags = 0) {
  io_uring_sqe sqe = on_path(opcode, number, fd, path);
  sqe.len = static_cast<std::uint32_t>(new_fd);
  sqe.addr2 = address(new_path);
  sqe.rename_flags = flags;
  return sqe;
}

class KernelAsyncPaths : public KernelAsync {
protected:
  // The arguments of the operation with this number.
  Row paths(std::uint64_t number, std::uint32_t call, std::int64_t result) {
    SCOPED_TRACE(number);
    return paths_of(operation(number), call, result);
  }

  // Checks the fields that all of them share, and that the operation's record agrees.
  Row paths_of(const Row& whole, std::uint32_t call, std::int64_t result) {
    EXPECT_EQ(whole.u("call"), call);
    EXPECT_EQ(whole.s("result"), result);
    const std::vector<Row> rows = recording_.rows("async_path", "op_id", whole.u("op_id"));
    EXPECT_EQ(rows.size(), 1U);
    if (rows.size() != 1)
      return {};
    EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_async_path_untold), 0U);
    const Row& row = rows.front();
    EXPECT_EQ(row.u("parent_op"), whole.u("parent_op"));
    EXPECT_EQ(row.u("pid"), whole.u("pid"));
    EXPECT_GE(row.u("ts_ns"), whole.u("ts_ns") + whole.u("duration_ns"));
    for (const char* const column : {"result", "fd"})
      EXPECT_EQ(row.s(column), whole.s(column)) << column;
    for (const char* const column : {"file", "call"})
      EXPECT_EQ(row.u(column), whole.u(column)) << column;
    return row;
  }

  void expect_flags(const Row& row, std::uint64_t open, std::uint64_t rename, std::uint64_t other) {
    EXPECT_EQ(row.u("open_flags"), open);
    EXPECT_EQ(row.u("rename_flags"), rename);
    EXPECT_EQ(row.u("flags"), other);
  }
};

TEST_F(KernelAsyncPaths, async_path_of_an_open) {
  const std::string made = directory_ / "made";
  RECORD_RING([&](IoUring& ring) {
    const int at = ::open(directory_.c_str(), O_DIRECTORY | O_RDONLY);
    const open_how how{.flags = O_RDONLY, .mode = 0, .resolve = 0};
    io_uring_sqe second = on_path(IORING_OP_OPENAT2, 3, at, "file");
    second.len = sizeof how;
    second.addr2 = address(&how);
    char buffer[8];
    const int fd = ring.run(open_file(1, AT_FDCWD, made.c_str(), O_CREAT | O_RDWR));
    return fd > 2 && ring.run(open_file(2, at, "none", O_RDONLY)) == -ENOENT &&
                   ring.run(second) > 2 &&
                   ring.run(transfer(IORING_OP_WRITE, 4, fd, buffer, 8, 0)) == 8
               ? 0
               : 1;
  });
  const Row created = paths(1, IOT_async_call_IORING_OP_OPENAT, operation(4).s("fd"));
  EXPECT_EQ(text_of(created), made);
  EXPECT_EQ(created.u("new_path"), 0U);
  EXPECT_EQ(created.s("fd"), AT_FDCWD);
  EXPECT_EQ(created.s("new_fd"), IOT_NO_FD);
  EXPECT_EQ(path_of(created), made);
  EXPECT_EQ(created.u("file"), operation(4).u("file"));
  EXPECT_EQ(created.u("open_flags") & ~std::uint64_t{O_LARGEFILE | IOT_open_O_LARGEFILE},
            u(O_CREAT | O_RDWR));
  const std::int64_t at = one("syscall_open", IOT_syscall_openat).s("result");
  const Row missing = paths(2, IOT_async_call_IORING_OP_OPENAT, -ENOENT);
  EXPECT_EQ(text_of(missing), "none");
  EXPECT_EQ(missing.s("fd"), at);
  EXPECT_EQ(missing.u("file"), 0U);
  const Row second = paths(3, IOT_async_call_IORING_OP_OPENAT2, operation(3).s("result"));
  EXPECT_EQ(text_of(second), "file");
  EXPECT_EQ(path_of(second), file_);
  EXPECT_EQ(recording_.rows("async_path").size(), 3U) << "a write has no path";
}

TEST_F(KernelAsyncPaths, async_path_of_a_file_in_the_table_of_the_ring_has_no_descriptor) {
  RECORD_RING([&](IoUring& ring) {
    const int places[1] = {-1};
    if (::syscall(SYS_io_uring_register, ring.fd(), IORING_REGISTER_FILES, places, 1) != 0)
      return 1;
    io_uring_sqe open = open_file(1, AT_FDCWD, file_.c_str(), O_RDONLY);
    open.file_index = 1; // the first fixed file
    return ring.run(open) == 0 ? 0 : 1;
  });
  const Row opened = paths(1, IOT_async_call_IORING_OP_OPENAT, 0);
  EXPECT_EQ(text_of(opened), file_);
  EXPECT_EQ(opened.u("file"), 0U) << "descriptor 0 is another file";
}

TEST_F(KernelAsyncPaths, async_path_of_calls_on_names) {
  const std::string folder = directory_ / "folder";
  const std::string moved = folder + "/moved";
  RECORD_RING([&](IoUring& ring) {
    const int at = ::open(directory_.c_str(), O_DIRECTORY | O_RDONLY);
    struct statx status;
    io_uring_sqe make = on_path(IORING_OP_MKDIRAT, 1, AT_FDCWD, folder.c_str());
    make.len = 0700;
    io_uring_sqe look = on_path(IORING_OP_STATX, 2, at, "file");
    look.len = STATX_SIZE;
    look.off = address(&status);
    look.statx_flags = AT_SYMLINK_NOFOLLOW;
    io_uring_sqe link = on_both(IORING_OP_LINKAT, 3, at, "file", at, "hard", AT_SYMLINK_FOLLOW);
    io_uring_sqe symlink = on_path(IORING_OP_SYMLINKAT, 4, at, "any text");
    symlink.addr2 = address("soft");
    io_uring_sqe rename =
        on_both(IORING_OP_RENAMEAT, 5, at, "hard", AT_FDCWD, moved.c_str(), RENAME_NOREPLACE);
    io_uring_sqe remove = on_path(IORING_OP_UNLINKAT, 6, AT_FDCWD, folder.c_str());
    remove.unlink_flags = AT_REMOVEDIR;
    return ring.run(make) == 0 && ring.run(look) == 0 && ring.run(link) == 0 &&
                   ring.run(symlink) == 0 && ring.run(rename) == 0 && ring.run(remove) == -ENOTEMPTY
               ? 0
               : 1;
  });
  const std::int64_t at = one("syscall_open", IOT_syscall_openat).s("result");
  const Row made = paths(1, IOT_async_call_IORING_OP_MKDIRAT, 0);
  EXPECT_EQ(text_of(made), folder);
  EXPECT_EQ(made.s("fd"), AT_FDCWD);
  const Row seen = paths(2, IOT_async_call_IORING_OP_STATX, 0);
  EXPECT_EQ(text_of(seen), "file");
  EXPECT_EQ(seen.s("fd"), at);
  expect_flags(seen, 0, 0, AT_SYMLINK_NOFOLLOW);
  const Row link = paths(3, IOT_async_call_IORING_OP_LINKAT, 0);
  EXPECT_EQ(text_of(link), "file");
  EXPECT_EQ(text_of(link, "new_path"), "hard");
  EXPECT_EQ(link.s("fd"), at);
  EXPECT_EQ(link.s("new_fd"), at);
  expect_flags(link, 0, 0, AT_SYMLINK_FOLLOW);
  const Row symlink = paths(4, IOT_async_call_IORING_OP_SYMLINKAT, 0);
  EXPECT_EQ(text_of(symlink), "any text");
  EXPECT_EQ(text_of(symlink, "new_path"), "soft");
  EXPECT_EQ(symlink.s("fd"), IOT_NO_FD);
  EXPECT_EQ(symlink.s("new_fd"), at);
  const Row renamed = paths(5, IOT_async_call_IORING_OP_RENAMEAT, 0);
  EXPECT_EQ(text_of(renamed), "hard");
  EXPECT_EQ(text_of(renamed, "new_path"), moved);
  EXPECT_EQ(renamed.s("fd"), at);
  EXPECT_EQ(renamed.s("new_fd"), AT_FDCWD);
  expect_flags(renamed, 0, RENAME_NOREPLACE, 0);
  const Row removed = paths(6, IOT_async_call_IORING_OP_UNLINKAT, -ENOTEMPTY);
  EXPECT_EQ(text_of(removed), folder);
  expect_flags(removed, 0, 0, AT_REMOVEDIR);
}

// The kernel refuses these before it has a copy of the path, or drops the copy.
TEST_F(KernelAsyncPaths, async_path_of_a_refused_operation) {
  const std::string too_long(PATH_MAX, 'x');
  RECORD_RING([&](IoUring& ring) {
    const int at = ::open(directory_.c_str(), O_DIRECTORY | O_RDONLY);
    char soft[] = "soft"; // in memory: the kernel does not read it
    io_uring_sqe symlink = on_path(IORING_OP_SYMLINKAT, 3, at, too_long.c_str());
    symlink.addr2 = address(soft);
    return ring.run(open_file(1, at, too_long.c_str(), O_RDONLY)) == -ENAMETOOLONG &&
                   ring.run(on_both(IORING_OP_RENAMEAT, 2, at, "file", AT_FDCWD, too_long.c_str(),
                                    RENAME_NOREPLACE)) == -ENAMETOOLONG &&
                   ring.run(symlink) == -ENAMETOOLONG &&
                   ring.run(on_path(IORING_OP_STATX, 4, at, nullptr)) == -EFAULT
               ? 0
               : 1;
  });
  const std::int64_t at = one("syscall_open", IOT_syscall_openat).s("result");
  const std::string cut = too_long.substr(0, PATH_MAX - 1);
  const Row opened = paths(1, IOT_async_call_IORING_OP_OPENAT, -ENAMETOOLONG);
  EXPECT_EQ(text_of(opened), cut);
  EXPECT_EQ(opened.s("fd"), at);
  const Row renamed = paths(2, IOT_async_call_IORING_OP_RENAMEAT, -ENAMETOOLONG);
  EXPECT_EQ(text_of(renamed), "file");
  EXPECT_EQ(text_of(renamed, "new_path"), cut);
  EXPECT_EQ(renamed.s("new_fd"), AT_FDCWD);
  expect_flags(renamed, 0, RENAME_NOREPLACE, 0);
  const Row symlink = paths(3, IOT_async_call_IORING_OP_SYMLINKAT, -ENAMETOOLONG);
  EXPECT_EQ(text_of(symlink), cut);
  EXPECT_EQ(text_of(symlink, "new_path"), "soft");
  EXPECT_EQ(symlink.s("new_fd"), at);
  EXPECT_EQ(text_of(paths(4, IOT_async_call_IORING_OP_STATX, -EFAULT)), "");
}

TEST_F(KernelAsyncPaths, async_path_of_attributes) {
  RECORD_RING([&](IoUring& ring) {
    char value[16] = "value";
    io_uring_sqe get = on_path(IORING_OP_GETXATTR, 1, 0, "user.none");
    get.addr2 = address(value);
    get.addr3 = address(file_.c_str());
    get.len = sizeof value;
    const int result = ring.run(get);
    return result == -ENODATA || result == -EOPNOTSUPP ? 0 : 1;
  });
  const Row read = paths(1, IOT_async_call_IORING_OP_GETXATTR, operation(1).s("result"));
  EXPECT_EQ(text_of(read), file_);
  EXPECT_EQ(read.s("fd"), AT_FDCWD);
}

// Opening a named pipe without a writer blocks a worker thread of the kernel.
TEST_F(KernelAsyncPaths, async_path_of_a_hanging_operation_is_recorded_when_the_recording_stops) {
  const std::string pipe = directory_ / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  const LeftBehind submitter;
  recording_ = Recording::alone(choice_, [&] {
    const bool is_waiting = submitter.start(SYS_io_uring_enter, [&] {
      IoUring ring(8);
      if (!ring.is_open())
        return;
      io_uring_sqe open = open_file(1, AT_FDCWD, pipe.c_str(), O_RDONLY);
      open.flags = IOSQE_ASYNC; // else the open is nonblocking
      ring.push(open);
      ring.enter(1, 1);
    });
    return is_waiting ? 0 : kRefused;
  });
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  if (WEXITSTATUS(recording_.status()) == kRefused)
    GTEST_SKIP() << "the machine refuses io_uring";
  ASSERT_FALSE(recording_.rows("async_operation").empty());
  EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
  const Row opened = paths_of(recording_.rows("async_operation").at(0),
                              IOT_async_call_IORING_OP_OPENAT, IOT_UNFINISHED);
  EXPECT_EQ(text_of(opened), pipe);
  EXPECT_EQ(opened.s("fd"), AT_FDCWD);
}

} // namespace
} // namespace iotrail::live
