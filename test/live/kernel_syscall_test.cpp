// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer syscall: one known call in a child, every field of its
// record. Here: calls that move data, make it durable or map it. kernel_syscall_files_test.cpp has
// calls on whole files.

#include <linux/aio_abi.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "await.hpp"
#include "io_uring.hpp"
#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

void* map_a_page(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR);
  return ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 4096);
}

int read_by_aio(const std::string& path, char* buffer) {
  aio_context_t context = 0;
  if (::syscall(SYS_io_setup, 8, &context) != 0)
    return 1;
  iocb request{};
  request.aio_lio_opcode = IOCB_CMD_PREAD;
  request.aio_fildes = static_cast<__u32>(::open(path.c_str(), O_RDONLY));
  request.aio_buf = reinterpret_cast<__u64>(buffer);
  request.aio_nbytes = 512;
  iocb* list[] = {&request};
  io_event done[4];
  return ::syscall(SYS_io_submit, context, 1, list) == 1 &&
                 ::syscall(SYS_io_getevents, context, 1, 4, done, nullptr) == 1
             ? 0
             : 1;
}

TEST_F(KernelSyscall, syscall_read) {
  RECORD([&] {
    char buffer[4096];
    const int fd = ::open(file_.c_str(), O_RDONLY);
    iovec two[2] = {{buffer, 100}, {buffer + 100, 23}};
    return ::read(fd, buffer, 1000) == 1000 && ::pread(fd, buffer, 4096, 9000) == 1000 &&
                   ::preadv2(fd, two, 2, 50, RWF_HIPRI) == 123 && ::readv(fd, two, 2) == 123
               ? 0
               : 1;
  });
  const auto expect = [&](std::uint32_t call, std::int64_t offset, std::uint64_t bytes,
                          std::int64_t result, std::uint32_t flags) {
    SCOPED_TRACE(schema::value_name("syscall", call));
    const Row row = [&] {
      for (const Row& candidate : recording_.rows("syscall_read", "call", call))
        if (path_of(candidate) == file_)
          return candidate;
      return Row{};
    }();
    ASSERT_FALSE(row.numbers.empty());
    check_operation(row);
    EXPECT_EQ(row.s("offset"), offset);
    EXPECT_EQ(row.u("bytes_requested"), bytes);
    EXPECT_EQ(row.s("result"), result);
    EXPECT_EQ(row.u("flags"), flags);
    EXPECT_EQ(row.u("fd"), one("syscall_open", IOT_syscall_openat).u("result"));
  };
  expect(IOT_syscall_read, 0, 1000, 1000, 0);
  expect(IOT_syscall_pread64, 9000, 4096, 1000, 0);
  expect(IOT_syscall_preadv2, 50, 123, 123, RWF_HIPRI);
  expect(IOT_syscall_readv, 1000, 123, 123, 0);
}

TEST_F(KernelSyscall, a_call_in_which_a_process_was_before_is_counted) {
  recording_ = Recording::alone({.events = {"syscall_read"}}, [] { return 0; });
  SKIP_UNLESS_SERVED(recording_, "syscall_read");
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_call_begun_before), 1U) << "it waited to begin";
  EXPECT_TRUE(recording_.rows("syscall_read").empty());
}

TEST_F(KernelSyscall, syscall_read_with_a_descriptor_closed_meanwhile_is_counted) {
  recording_ = Recording::alone({.events = {"syscall_read"}}, [] {
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    char byte = 0;
    ssize_t got = 0;
    std::atomic<pid_t> tid = 0;
    std::thread reader([&] {
      tid = ::gettid();
      got = ::read(ends[0], &byte, 1);
    });
    const bool is_written = await([&] { return sleeps_in(tid, SYS_read); }) &&
                            ::close(ends[0]) == 0 && ::write(ends[1], "x", 1) == 1;
    reader.join();
    return is_written && got == 1 ? 0 : 1;
  });
  SKIP_UNLESS_SERVED(recording_, "syscall_read");
  ASSERT_EQ(recording_.status(), 0);
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_file_unknown), 1U);
  const std::vector<Row> reads = recording_.rows("syscall_read", "result", 1);
  ASSERT_EQ(reads.size(), 1U);
  EXPECT_EQ(reads[0].u("file"), 0U);
}

TEST_F(KernelSyscall, syscall_read_of_more_parts_than_the_kernel_takes_asks_for_nothing) {
  constexpr int kParts = 1025;
  RECORD([&] {
    std::vector<iovec> parts(kParts, {contents_, 1});
    const int fd = ::open("/dev/zero", O_RDONLY);
    return ::readv(fd, parts.data(), kParts) < 0 && errno == EINVAL ? 0 : 1;
  });
  const Row read = one("syscall_read", IOT_syscall_readv);
  EXPECT_EQ(read.s("result"), -EINVAL);
  EXPECT_EQ(read.u("bytes_requested"), 0U);
}

TEST_F(KernelSyscall, syscall_read_of_a_pipe_has_no_offset) {
  RECORD([&] {
    int ends[2];
    char byte = 0;
    return ::pipe(ends) == 0 && ::write(ends[1], "x", 1) == 1 && ::read(ends[0], &byte, 1) == 1 &&
                   ::fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0 && ::read(ends[0], &byte, 1) < 0
               ? 0
               : 1;
  });
  const Row written = one("syscall_write", IOT_syscall_write);
  EXPECT_EQ(written.s("offset"), -1);
  EXPECT_TRUE(path_of(written).starts_with("pipe:["));
  const std::vector<Row> reads = recording_.rows("syscall_read", "file", written.u("file"));
  ASSERT_EQ(reads.size(), 2U);
  EXPECT_EQ(reads[0].s("result"), 1);
  EXPECT_EQ(reads[0].s("offset"), -1);
  EXPECT_EQ(reads[1].s("result"), -EAGAIN);
}

TEST_F(KernelSyscall, syscall_write) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_WRONLY);
    const int appending = ::open(file_.c_str(), O_WRONLY | O_APPEND);
    iovec two[2] = {{contents_, 7}, {contents_, 8}};
    return ::write(fd, contents_, 5) == 5 && ::write(fd, contents_, 6) == 6 &&
                   ::pwritev(fd, two, 2, 4000) == 15 && ::write(appending, contents_, 9) == 9
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_write", "call", IOT_syscall_write);
  ASSERT_EQ(rows.size(), 3U);
  for (const Row& row : rows) {
    check_operation(row);
    EXPECT_EQ(path_of(row), file_);
    EXPECT_EQ(row.u("flags"), 0U);
  }
  EXPECT_EQ(rows[0].s("offset"), 0);
  EXPECT_EQ(rows[0].u("bytes_requested"), 5U);
  EXPECT_EQ(rows[0].s("result"), 5);
  EXPECT_EQ(rows[1].s("offset"), 5);
  EXPECT_EQ(rows[1].s("result"), 6);
  EXPECT_EQ(rows[2].s("offset"), 10000) << "O_APPEND writes at the end";
  EXPECT_EQ(rows[2].s("result"), 9);
  EXPECT_NE(rows[2].u("fd"), rows[0].u("fd"));
  const Row vector = one("syscall_write", IOT_syscall_pwritev);
  EXPECT_EQ(vector.s("offset"), 4000);
  EXPECT_EQ(vector.u("bytes_requested"), 15U);
  EXPECT_EQ(vector.s("result"), 15);
}

TEST_F(KernelSyscall, syscall_seek) {
  RECORD([&] { return ::lseek(::open(file_.c_str(), O_RDONLY), -50, SEEK_END) == 9950 ? 0 : 1; });
  const Row row = one("syscall_seek", IOT_syscall_lseek);
  EXPECT_EQ(row.s("offset"), -50);
  EXPECT_EQ(row.s("result"), 9950);
  EXPECT_EQ(row.u("whence"), u(SEEK_END));
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.u("fd"), one("syscall_open", IOT_syscall_openat).u("result"));
}

TEST_F(KernelSyscall, syscall_sync) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::fsync(fd) == 0 && ::fdatasync(fd) == 0 &&
                   ::sync_file_range(fd, 4096, 8192, SYNC_FILE_RANGE_WRITE) == 0 &&
                   ::syncfs(fd) == 0
               ? 0
               : 1;
  });
  const std::uint64_t fd = one("syscall_open", IOT_syscall_openat).u("result");
  for (const std::uint32_t call : {IOT_syscall_fsync, IOT_syscall_fdatasync, IOT_syscall_syncfs}) {
    const Row row = one("syscall_sync", call);
    EXPECT_EQ(row.s("offset"), -1);
    EXPECT_EQ(row.u("bytes"), 0U);
    EXPECT_EQ(row.s("result"), 0);
    EXPECT_EQ(path_of(row), file_);
    EXPECT_EQ(row.u("fd"), fd);
    EXPECT_EQ(row.u("flags"), 0U);
  }
  const Row range = one("syscall_sync", IOT_syscall_sync_file_range);
  EXPECT_EQ(range.s("offset"), 4096);
  EXPECT_EQ(range.u("bytes"), 8192U);
  EXPECT_EQ(range.u("flags"), u(SYNC_FILE_RANGE_WRITE));
}

TEST_F(KernelSyscall, syscall_mmap) {
  RECORD([&] {
    void* mapped = map_a_page(file_);
    void* memory = ::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* refused = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, 1000, 0);
    return mapped != MAP_FAILED && memory != MAP_FAILED && refused == MAP_FAILED ? 0 : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_mmap");
  ASSERT_EQ(rows.size(), 3U);
  check_operation(rows[0]);
  EXPECT_EQ(rows[0].u("bytes"), 4096U);
  EXPECT_EQ(rows[0].s("offset"), 4096);
  EXPECT_EQ(rows[0].s("result"), 0);
  EXPECT_EQ(rows[0].u("prot"), u(PROT_READ | PROT_WRITE));
  EXPECT_EQ(rows[0].u("flags"), u(MAP_SHARED));
  EXPECT_EQ(path_of(rows[0]), file_);
  EXPECT_EQ(rows[1].u("bytes"), 8192U);
  EXPECT_EQ(rows[1].u("file"), 0U);
  EXPECT_EQ(rows[1].s("fd"), -1);
  EXPECT_EQ(rows[1].s("offset"), -1);
  EXPECT_EQ(rows[2].s("result"), -EBADF);
  EXPECT_EQ(rows[2].u("address"), 0U);
}

TEST_F(KernelSyscall, syscall_msync) {
  RECORD([&] {
    void* mapped = map_a_page(file_);
    return mapped != MAP_FAILED && ::msync(mapped, 4096, MS_SYNC) == 0 ? 0 : 1;
  });
  const Row synced = one("syscall_msync", IOT_syscall_msync);
  EXPECT_EQ(synced.u("address"), one("syscall_mmap", IOT_syscall_mmap).u("address"));
  EXPECT_EQ(synced.u("bytes"), 4096U);
  EXPECT_EQ(synced.u("flags"), u(MS_SYNC));
  EXPECT_EQ(path_of(synced), file_);
  EXPECT_EQ(synced.s("offset"), 4096);
}

TEST_F(KernelSyscall, syscall_munmap) {
  RECORD([&] {
    void* mapped = map_a_page(file_);
    return mapped != MAP_FAILED && ::munmap(mapped, 4096) == 0 && ::munmap(mapped, 4096) == 0 ? 0
                                                                                              : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_munmap");
  ASSERT_EQ(rows.size(), 2U);
  check_operation(rows[0]);
  for (const Row& unmapped : rows) {
    EXPECT_EQ(unmapped.u("address"), one("syscall_mmap", IOT_syscall_mmap).u("address"));
    EXPECT_EQ(unmapped.u("bytes"), 4096U);
    EXPECT_EQ(unmapped.s("result"), 0);
  }
  EXPECT_EQ(path_of(rows[0]), file_);
  EXPECT_EQ(rows[0].s("offset"), 4096);
  EXPECT_EQ(rows[1].u("file"), 0U) << "nothing was mapped there any more";
  EXPECT_EQ(rows[1].s("offset"), -1);
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_map_unread), 0U);
}

TEST_F(KernelSyscall, syscall_copy) {
  const std::string copy = directory_ / "copy";
  RECORD([&] {
    const int in = ::open(file_.c_str(), O_RDONLY);
    const int out = ::open(copy.c_str(), O_CREAT | O_RDWR, 0600);
    off_t place = 40;
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    return ::syscall(SYS_sendfile, out, in, nullptr, 600) == 600 &&
                   ::syscall(SYS_copy_file_range, in, &place, out, nullptr, 700, 0) == 700 &&
                   ::syscall(SYS_splice, in, nullptr, ends[1], nullptr, 800, SPLICE_F_MOVE) == 800
               ? 0
               : 1;
  });
  const Row sent = one("syscall_copy", IOT_syscall_sendfile);
  EXPECT_EQ(sent.u("bytes_requested"), 600U);
  EXPECT_EQ(sent.s("result"), 600);
  EXPECT_EQ(path_of(sent, "in_file"), file_);
  EXPECT_EQ(path_of(sent, "out_file"), copy);
  EXPECT_EQ(sent.u("flags"), 0U);
  EXPECT_EQ(sent.s("in_position"), 0);
  EXPECT_EQ(sent.s("out_position"), 0);
  const Row copied = one("syscall_copy", IOT_syscall_copy_file_range);
  EXPECT_EQ(copied.u("bytes_requested"), 700U);
  EXPECT_EQ(copied.u("in_fd"), sent.u("in_fd"));
  EXPECT_EQ(copied.u("out_fd"), sent.u("out_fd"));
  EXPECT_EQ(path_of(copied, "out_file"), copy);
  EXPECT_EQ(copied.s("in_position"), 40);
  EXPECT_EQ(copied.s("out_position"), 600);
  const Row spliced = one("syscall_copy", IOT_syscall_splice);
  EXPECT_EQ(spliced.s("result"), 800);
  EXPECT_EQ(spliced.s("in_position"), 600);
  EXPECT_EQ(spliced.s("out_position"), -1);
  EXPECT_EQ(spliced.u("flags"), u(SPLICE_F_MOVE));
  EXPECT_TRUE(path_of(spliced, "out_file").starts_with("pipe:["));
}

TEST_F(KernelSyscall, syscall_aio_submit) {
  RECORD([&] { return read_by_aio(file_, contents_); });
  const Row submitted = one("syscall_aio_submit", IOT_syscall_io_submit);
  EXPECT_EQ(submitted.s("requested"), 1);
  EXPECT_EQ(submitted.s("result"), 1);
  EXPECT_NE(submitted.u("context"), 0U);
}

TEST_F(KernelSyscall, syscall_aio_getevents) {
  RECORD([&] { return read_by_aio(file_, contents_); });
  const Row reaped = one("syscall_aio_getevents", IOT_syscall_io_getevents);
  EXPECT_EQ(reaped.u("context"), one("syscall_aio_submit", IOT_syscall_io_submit).u("context"));
  EXPECT_EQ(reaped.s("minimum"), 1);
  EXPECT_EQ(reaped.s("maximum"), 4);
  EXPECT_EQ(reaped.s("result"), 1);
}

TEST_F(KernelSyscall, syscall_uring_enter) {
  RECORD([&] {
    const IoUring ring(4);
    return !ring.is_open() || ring.enter(0, 0) == 0 ? 0 : 1;
  });
  if (recording_.rows("syscall_uring_enter").empty())
    GTEST_SKIP() << "the machine refuses io_uring";
  const Row row = one("syscall_uring_enter", IOT_syscall_io_uring_enter);
  EXPECT_EQ(row.u("to_submit"), 0U);
  EXPECT_EQ(row.u("min_complete"), 0U);
  EXPECT_EQ(row.u("flags"), 0U);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_GT(row.s("fd"), 2);
}

TEST_F(KernelSyscall, syscall_uring_setup) {
  RECORD([&] {
    const IoUring ring(3, IORING_SETUP_CLAMP);
    return 0;
  });
  const Row row = one("syscall_uring_setup", IOT_syscall_io_uring_setup);
  EXPECT_EQ(row.u("entries"), 3U);
  EXPECT_EQ(row.u("flags"), u(IOT_uring_setup_IORING_SETUP_CLAMP));
  EXPECT_EQ(row.u("idle_ms"), 0U);
  if (row.s("result") < 0)
    GTEST_SKIP() << "the machine refuses io_uring";
  EXPECT_EQ(row.u("submission_entries"), 4U) << "the next power of two";
  EXPECT_EQ(row.u("completion_entries"), 8U);
  EXPECT_GT(row.s("result"), 2);
}

TEST_F(KernelSyscall, syscall_uring_register) {
  RECORD([&] {
    const IoUring ring(4);
    int fds[] = {0, 0, 0};
    return !ring.is_open() ||
                   ::syscall(SYS_io_uring_register, ring.fd(), IORING_REGISTER_FILES, fds, 3) == 0
               ? 0
               : 1;
  });
  if (recording_.rows("syscall_uring_register").empty())
    GTEST_SKIP() << "the machine refuses io_uring";
  const Row row = one("syscall_uring_register", IOT_syscall_io_uring_register);
  EXPECT_EQ(row.u("request"), u(IOT_uring_register_IORING_REGISTER_FILES));
  EXPECT_EQ(row.u("count"), 3U);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_GT(row.s("fd"), 2);
}

} // namespace
} // namespace iotrail::live
