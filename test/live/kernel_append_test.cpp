// SPDX-License-Identifier: BSD-3-Clause
//
// The position of appending writes, whatever offset they name, and other operations of io_uring
// with a position known late.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/falloc.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "kernel_async_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint32_t kAppended = 100; // bytes of each write
constexpr std::int64_t kLength = 1000;   // of the file before the first write

struct KernelAppend : KernelAsync {
  static int open_to_append(const std::string& path, int flags = O_APPEND) {
    const int fd = ::open(path.c_str(), O_RDWR | O_TRUNC | flags);
    return ::ftruncate(fd, kLength) == 0 ? fd : -1;
  }
  // Positions of the child's calls, in order.
  std::vector<std::int64_t> places(iot_u32 call) {
    std::vector<std::int64_t> found;
    for (const Row& row : recording_.rows("syscall_write", "call", call))
      if (path_of(row) == file_)
        found.push_back(row.s("offset"));
    return found;
  }
  static io_uring_sqe append(std::uint64_t number, int fd, std::uint64_t place = 0) {
    static char bytes[kAppended];
    return transfer(IORING_OP_WRITE, number, fd, bytes, kAppended, place);
  }
};

using Places = std::vector<std::int64_t>;

TEST_F(KernelAppend, a_pwrite_that_appends_is_at_the_end) {
  RECORD([&] {
    const int fd = open_to_append(file_);
    const char bytes[kAppended] = {};
    bool is_done = true;
    for (int at = 0; at < 2; ++at)
      is_done &= ::pwrite(fd, bytes, kAppended, 5) == kAppended;
    return is_done ? 0 : 1;
  });
  EXPECT_EQ(places(IOT_syscall_pwrite64), (Places{kLength, kLength + kAppended}));
}

TEST_F(KernelAppend, a_pwritev2_says_by_itself_that_it_appends) {
  RECORD([&] {
    const int fd = open_to_append(file_, 0);
    char bytes[kAppended] = {};
    const iovec vector{bytes, kAppended};
    const bool is_done = ::pwritev2(fd, &vector, 1, 5, RWF_APPEND) == kAppended;
    if (::lseek(fd, 0, SEEK_END) != kLength + kAppended)
      return kRefused;
    return is_done && ::pwritev2(fd, &vector, 1, 5, 0) == kAppended ? 0 : 1;
  });
  if (WEXITSTATUS(recording_.status()) == kRefused)
    GTEST_SKIP()
        << "the file system here does not append for RWF_APPEND, as overlayfs of Linux 6.1";
  EXPECT_EQ(places(IOT_syscall_pwritev2), (Places{kLength, 5}));
}

TEST_F(KernelAppend, a_write_of_io_uring_that_appends_is_at_the_end) {
  RECORD_RING([&](IoUring& ring) {
    const int fd = open_to_append(file_);
    return ring.run(append(1, fd)) == kAppended && ring.run(append(2, fd)) == kAppended ? 0 : 1;
  });
  EXPECT_EQ(operation(1).s("offset"), kLength);
  EXPECT_EQ(operation(2).s("offset"), kLength + kAppended);
}

TEST_F(KernelAppend, an_operation_of_io_uring_starts_at_the_position_of_the_descriptor) {
  RECORD_RING([&](IoUring& ring) {
    const int fd = open_to_append(file_, 0);
    if (::lseek(fd, 7, SEEK_SET) != 7)
      return 1;
    return ring.run(append(1, fd, UINT64_MAX)) == kAppended &&
                   ring.run(append(2, fd, UINT64_MAX)) == kAppended
               ? 0
               : 1;
  });
  EXPECT_EQ(operation(1).s("offset"), 7);
  EXPECT_EQ(operation(2).s("offset"), 7 + kAppended);
}

TEST_F(KernelAppend, the_position_of_an_appending_write_of_libaio_is_unknown) {
  RECORD([&] {
    const int fd = open_to_append(file_);
    char bytes[kAppended] = {};
    aio_context_t context = 0;
    iocb operation{};
    operation.aio_lio_opcode = IOCB_CMD_PWRITE;
    operation.aio_fildes = static_cast<std::uint32_t>(fd);
    operation.aio_buf = reinterpret_cast<std::uintptr_t>(bytes);
    operation.aio_nbytes = kAppended;
    iocb* list[] = {&operation};
    io_event event{};
    return ::syscall(SYS_io_setup, 1, &context) == 0 &&
                   ::syscall(SYS_io_submit, context, 1, list) == 1 &&
                   ::syscall(SYS_io_getevents, context, 1, 1, &event, nullptr) == 1 &&
                   event.res == kAppended
               ? 0
               : 1;
  });
  const std::vector<Row> rows =
      recording_.rows("async_operation", "call", IOT_async_call_IOCB_CMD_PWRITE);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].s("offset"), IOT_OFFSET_NONE);
}

TEST_F(KernelAppend, truncations_and_punches_of_io_uring_have_their_position) {
  constexpr std::uint8_t kFtruncate = 55; // since Linux 6.9
  RECORD_RING([&](IoUring& ring) {
    const int fd = ::open(file_.c_str(), O_RDWR);
    io_uring_sqe punch = transfer(IORING_OP_FALLOCATE, 1, fd, nullptr,
                                  FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 500);
    punch.addr = 300; // bytes
    io_uring_sqe enlarge = transfer(IORING_OP_FALLOCATE, 2, fd, nullptr, 0, 0);
    enlarge.addr = 20000;
    ring.run(transfer(kFtruncate, 3, fd, nullptr, 0, 700));
    return ring.run(punch) == 0 && ring.run(enlarge) == 0 ? 0 : 1;
  });
  EXPECT_EQ(operation(1).s("offset"), 500);
  EXPECT_EQ(operation(1).u("bytes_requested"), 300U);
  EXPECT_EQ(operation(2).s("offset"), IOT_OFFSET_NONE);
  if (operation(3).s("result") == 0) {
    EXPECT_EQ(operation(3).s("offset"), 700);
  }
}

} // namespace
} // namespace iotrail::live
