// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of io_uring with several completions, and operations that fail before they begin. Each
// completion has one record.
#include <arpa/inet.h>
#include <linux/time_types.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <numeric>

#include "kernel_async_fixture.hpp"

namespace iotrail::live {
namespace {

// Newer than the headers of some machines.
constexpr unsigned kReceiveMultishot = 1U << 1;
constexpr unsigned kAcceptMultishot = 1U << 0;
constexpr unsigned kTimeoutMultishot = 1U << 6;
constexpr unsigned kSendBundle = 1U << 4;
constexpr unsigned kNotification = 1U << 3;

constexpr std::uint16_t kGroup = 7;
constexpr unsigned kBufferBytes = 32;
constexpr std::array<int, 3> kSizes = {5, 7, 32};

class KernelAsyncMultishot : public KernelAsync {
protected:
  // The results of a running operation, in order.
  std::vector<Row> results(std::uint64_t number) {
    std::vector<Row> rows = recording_.rows("async_result", "user_data", kUserData + number);
    std::ranges::sort(rows, {}, [](const Row& row) { return row.u("ts_ns"); });
    return rows;
  }
  void expect_results(const Row& whole, std::uint64_t number,
                      const std::vector<std::int64_t>& expected) {
    const std::vector<Row> rows = results(number);
    ASSERT_EQ(rows.size(), expected.size());
    for (std::size_t at = 0; at < rows.size(); ++at) {
      EXPECT_EQ(rows[at].s("result"), expected[at]);
      EXPECT_EQ(rows[at].u("op_id"), whole.u("op_id"));
      EXPECT_EQ(rows[at].u("file"), whole.u("file"));
      EXPECT_EQ(rows[at].u("call"), whole.u("call"));
    }
  }

  // A result that moves bytes has their number in two fields.
  void expect_bytes_of_each(std::uint64_t number) {
    for (const Row& row : results(number))
      EXPECT_EQ(row.s("result"), u(row.s("bytes")));
  }

  char buffers_[4 * kBufferBytes] = {};
};

// Provides four buffers, which operations of the group pick from.
bool provide_buffers(IoUring& ring, char* memory) {
  io_uring_sqe sqe = transfer(IORING_OP_PROVIDE_BUFFERS, 100, 4, memory, kBufferBytes, 0);
  sqe.buf_group = kGroup;
  return ring.run(sqe) >= 0;
}

io_uring_sqe into_any_buffer(std::uint8_t opcode, std::uint64_t number, int fd) {
  io_uring_sqe sqe = entry(opcode, number, fd);
  sqe.flags = IOSQE_BUFFER_SELECT;
  sqe.buf_group = kGroup;
  if (opcode == IOT_async_call_IORING_OP_READ_MULTISHOT)
    sqe.off = ~0ULL;
  else
    sqe.ioprio = kReceiveMultishot;
  return sqe;
}

// False: the kernel does not know this operation.
bool submit_lasting(IoUring& ring, const io_uring_sqe& sqe) {
  ring.push(sqe);
  return ring.enter(1, 0) == 1 && !ring.pop();
}

// Makes the kernel reuse its request objects, so that nothing of ended operations remains.
bool use_requests_again(IoUring& ring) {
  for (std::uint64_t number = 1000; number < 1100; ++number)
    if (ring.run(entry(IORING_OP_NOP, number)) != 0)
      return false;
  return true;
}

std::optional<Completion> next(IoUring& ring) {
  if (const auto there = ring.pop())
    return there;
  return ring.enter(0, 1) == 0 ? ring.pop() : std::nullopt;
}

// Sends messages of kSizes, then ends. 0: the program got a completion for each.
int pass_messages(IoUring& ring, const io_uring_sqe& sqe, int sender) {
  const char bytes[kBufferBytes] = {};
  if (!submit_lasting(ring, sqe))
    return kRefused;
  for (const int size : kSizes) {
    const auto completion =
        ::write(sender, bytes, static_cast<std::size_t>(size)) == size ? next(ring) : std::nullopt;
    if (!completion || completion->res != size || !(completion->flags & IORING_CQE_F_MORE))
      return 1;
  }
  ::close(sender);
  const auto last = next(ring);
  return last && last->res == 0 && !(last->flags & IORING_CQE_F_MORE) ? 0 : 1;
}

TEST_F(KernelAsyncMultishot, async_result_for_each_read_of_a_pipe) {
  RECORD_RING([&](IoUring& ring) {
    int ends[2];
    if (::pipe(ends) != 0 || !provide_buffers(ring, buffers_))
      return 1;
    return pass_messages(ring, into_any_buffer(IOT_async_call_IORING_OP_READ_MULTISHOT, 1, ends[0]),
                         ends[1]);
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), 0);
  EXPECT_EQ(whole.u("bytes"), 0U);
  EXPECT_EQ(whole.u("call"), u(IOT_async_call_IORING_OP_READ_MULTISHOT));
  EXPECT_TRUE(path_of(whole).starts_with("pipe:"));
  expect_results(whole, 1, {kSizes.begin(), kSizes.end()});
  expect_bytes_of_each(1);
}

TEST_F(KernelAsyncMultishot, async_result_for_each_message_of_a_socket) {
  RECORD_RING([&](IoUring& ring) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || !provide_buffers(ring, buffers_))
      return 1;
    return pass_messages(ring, into_any_buffer(IORING_OP_RECV, 1, ends[0]), ends[1]);
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), 0);
  EXPECT_NE(whole.u("file"), 0U);
  expect_results(whole, 1, {kSizes.begin(), kSizes.end()});
  expect_bytes_of_each(1);
}

TEST_F(KernelAsyncMultishot, async_result_by_a_registered_file_has_that_file) {
  RECORD_RING([&](IoUring& ring) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || !provide_buffers(ring, buffers_) ||
        ::syscall(SYS_io_uring_register, ring.fd(), IORING_REGISTER_FILES, ends, 1) != 0)
      return 1;
    io_uring_sqe receive = into_any_buffer(IORING_OP_RECV, 1, 0);
    receive.flags |= IOSQE_FIXED_FILE;
    return pass_messages(ring, receive, ends[1]);
  });
  const Row whole = operation(1);
  EXPECT_TRUE(path_of(whole).starts_with("socket:"));
  expect_results(whole, 1, {kSizes.begin(), kSizes.end()});
}

// The last buffer is taken: the program gets a completion and the operation ends.
TEST_F(KernelAsyncMultishot, async_operation_that_runs_out_of_buffers_ends) {
  RECORD_RING([&](IoUring& ring) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || !provide_buffers(ring, buffers_))
      return 1;
    if (!submit_lasting(ring, into_any_buffer(IORING_OP_RECV, 1, ends[0])))
      return kRefused;
    const char bytes[kBufferBytes] = {};
    for (int times = 0; times < 4; ++times)
      if (::write(ends[1], bytes, 10) != 10 || next(ring)->res != 10)
        return 1;
    return ::write(ends[1], bytes, 10) == 10 && next(ring)->res == -ENOBUFS ? 0 : 1;
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), -ENOBUFS);
  expect_results(whole, 1, {10, 10, 10, 10});
}

// A listening socket on the loopback device, and its address.
int listening(sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  address = {
      .sin_family = AF_INET, .sin_port = 0, .sin_addr = {htonl(INADDR_LOOPBACK)}, .sin_zero = {}};
  socklen_t size = sizeof(address);
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  return ::bind(fd, any, size) == 0 && ::listen(fd, 8) == 0 && ::getsockname(fd, any, &size) == 0
             ? fd
             : -1;
}

int connected(const sockaddr_in& address) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  return ::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0 ? fd : -1;
}

TEST_F(KernelAsyncMultishot, async_result_for_each_connection) {
  RECORD_RING([&](IoUring& ring) {
    sockaddr_in address{};
    io_uring_sqe accept = entry(IORING_OP_ACCEPT, 1, listening(address));
    accept.ioprio = kAcceptMultishot;
    if (!submit_lasting(ring, accept))
      return kRefused;
    for (int times = 0; times < 3; ++times) {
      const auto completion = connected(address) >= 0 ? next(ring) : std::nullopt;
      if (!completion || completion->res < 0 || !(completion->flags & IORING_CQE_F_MORE))
        return 1;
    }
    return cancel(ring, accept, 2);
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), -ECANCELED);
  EXPECT_NE(whole.u("file"), 0U);
  EXPECT_EQ(operation(2).s("result"), 0);
  const std::vector<Row> rows = results(1);
  ASSERT_EQ(rows.size(), 3U);
  for (const Row& row : rows) {
    EXPECT_GT(row.s("result"), 2) << "a descriptor";
    EXPECT_EQ(row.u("bytes"), 0U);
    EXPECT_EQ(row.u("op_id"), whole.u("op_id"));
  }
}

TEST_F(KernelAsyncMultishot, async_result_for_each_time_that_passed) {
  RECORD_RING([&](IoUring& ring) {
    __kernel_timespec each{.tv_sec = 0, .tv_nsec = 1000000};
    io_uring_sqe timeout = transfer(IORING_OP_TIMEOUT, 1, -1, &each, 1, 3);
    timeout.timeout_flags = kTimeoutMultishot;
    if (!submit_lasting(ring, timeout))
      return kRefused;
    for (int times = 0; times < 3; ++times)
      if (next(ring)->res != -ETIME)
        return 1;
    return 0;
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), -ETIME);
  expect_results(whole, 1, {-ETIME, -ETIME});
}

// A program may give two operations the same number.
TEST_F(KernelAsyncMultishot, async_result_of_operations_of_the_same_number) {
  RECORD_RING([&](IoUring& ring) {
    int first[2];
    int second[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, first) != 0 ||
        ::socketpair(AF_UNIX, SOCK_STREAM, 0, second) != 0 || !provide_buffers(ring, buffers_))
      return 1;
    if (!submit_lasting(ring, into_any_buffer(IORING_OP_RECV, 1, first[0])) ||
        !submit_lasting(ring, into_any_buffer(IORING_OP_RECV, 1, second[0])))
      return kRefused;
    ::close(second[1]);
    if (next(ring)->res != 0)
      return 1;
    if (::write(first[1], "xyz", 3) != 3 || next(ring)->res != 3)
      return 1;
    ::close(first[1]);
    return next(ring)->res == 0 ? 0 : 1;
  });
  EXPECT_EQ(recording_.rows("async_operation", "user_data", kUserData + 1).size(), 2U);
  const std::vector<Row> rows = results(1);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].u("bytes"), 3U);
}

TEST_F(KernelAsyncMultishot, async_operation_that_sends_without_a_copy_has_two_completions) {
  RECORD_RING([&](IoUring& ring) {
    sockaddr_in address{};
    const int server = listening(address);
    const int sender = connected(address);
    const int receiver = ::accept(server, nullptr, nullptr);
    ring.push(transfer(IOT_async_call_IORING_OP_SEND_ZC, 1, sender, contents_, 100, 0));
    if (ring.enter(1, 1) != 1)
      return 1;
    const auto sent = next(ring);
    if (sent->res == -EINVAL)
      return kRefused;
    char bytes[200];
    if (sent->res != 100 || !(sent->flags & IORING_CQE_F_MORE) ||
        ::recv(receiver, bytes, sizeof(bytes), 0) != 100)
      return 1;
    const auto free = next(ring);
    if (!free || !(free->flags & kNotification))
      return 1;
    return use_requests_again(ring) ? 0 : 1;
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), 100);
  EXPECT_EQ(whole.u("bytes"), 100U);
  EXPECT_NE(whole.u("file"), 0U);
  const std::vector<Row> rows = results(1);
  ASSERT_EQ(rows.size(), 1U) << "that the memory is free again";
  EXPECT_EQ(rows[0].s("result"), 0);
  EXPECT_EQ(rows[0].u("bytes"), 0U);
  EXPECT_EQ(rows[0].u("op_id"), whole.u("op_id"));
  EXPECT_GE(rows[0].u("ts_ns"), whole.u("ts_ns") + whole.u("duration_ns"));
}

TEST_F(KernelAsyncMultishot, async_result_for_each_part_of_a_bundle_that_is_sent) {
  RECORD_RING([&](IoUring& ring) {
    int ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) != 0 || !provide_buffers(ring, buffers_))
      return 1;
    io_uring_sqe send = into_any_buffer(IORING_OP_SEND, 1, ends[0]);
    send.ioprio = kSendBundle;
    ring.push(send);
    if (ring.enter(1, 1) != 1)
      return 1;
    unsigned bytes = 0;
    unsigned count = 0;
    for (auto completion = next(ring);; completion = next(ring)) {
      if (completion->res == -EINVAL || completion->res == -EOPNOTSUPP)
        return kRefused;
      bytes += static_cast<unsigned>(completion->res);
      ++count;
      if (!(completion->flags & IORING_CQE_F_MORE))
        break;
    }
    return bytes == sizeof(buffers_) && count > 1 ? 0 : 1;
  });
  const Row whole = operation(1);
  const std::vector<Row> rows = results(1);
  EXPECT_GE(rows.size(), 1U);
  std::uint64_t bytes = whole.u("bytes");
  for (const Row& row : rows) {
    bytes += row.u("bytes");
    EXPECT_EQ(row.u("op_id"), whole.u("op_id"));
  }
  EXPECT_EQ(bytes, sizeof(buffers_));
}

TEST_F(KernelAsyncMultishot, async_operation_without_a_completion_has_its_file) {
  RECORD_RING([&](IoUring& ring) {
    io_uring_sqe silent =
        transfer(IORING_OP_READ, 1, ::open(file_.c_str(), O_RDWR), contents_, 512, 4096);
    silent.flags = IOSQE_CQE_SKIP_SUCCESS;
    ring.push(silent);
    return ring.enter(1, 0) == 1 && !ring.pop() && use_requests_again(ring) ? 0 : 1;
  });
  const Row silent = recording_.rows("async_operation", "user_data", kUserData + 1).at(0);
  EXPECT_EQ(silent.s("result"), IOT_UNFINISHED);
  EXPECT_EQ(silent.u("bytes_requested"), 512U);
  EXPECT_EQ(silent.s("offset"), 4096);
  EXPECT_EQ(path_of(silent), file_);
}

TEST_F(KernelAsyncMultishot, async_operation_that_the_kernel_does_not_begin) {
  RECORD_RING([&](IoUring& ring) {
    const int fd = ::open(file_.c_str(), O_RDWR);
    io_uring_sqe refused = entry(IORING_OP_FSYNC, 1, fd);
    refused.fsync_flags = 1U << 31;
    io_uring_sqe unknown = entry(250, 2, fd);
    return ring.run(refused) == -EINVAL && ring.run(unknown) == -EINVAL ? 0 : 1;
  });
  const Row refused = operation(1);
  EXPECT_EQ(refused.s("result"), -EINVAL);
  EXPECT_EQ(refused.u("call"), u(IOT_async_call_IORING_OP_FSYNC));
  EXPECT_EQ(path_of(refused), file_);
  const Row unknown = operation(2);
  EXPECT_EQ(unknown.s("result"), -EINVAL);
  EXPECT_EQ(unknown.u("call"), 250U);
}

TEST_F(KernelAsyncMultishot, async_operation_of_a_chain_with_one_that_the_kernel_does_not_begin) {
  RECORD_RING([&](IoUring& ring) {
    const int fd = ::open(file_.c_str(), O_RDWR);
    io_uring_sqe first = transfer(IORING_OP_READ, 1, fd, contents_, 8, 0);
    io_uring_sqe refused = transfer(IORING_OP_WRITE, 2, fd, contents_, 16, 512);
    refused.ioprio = 0xffff;
    first.flags = refused.flags = IOSQE_IO_LINK;
    ring.push(first);
    ring.push(refused);
    ring.push(entry(IORING_OP_NOP, 3));
    if (ring.enter(3, 3) != 3)
      return 1;
    int refused_count = 0;
    while (const auto completion = ring.pop())
      refused_count +=
          completion->res == (completion->user_data == refused.user_data ? -EINVAL : -ECANCELED);
    return refused_count == 3 ? 0 : 1;
  });
  EXPECT_EQ(operation(1).s("result"), -ECANCELED);
  EXPECT_EQ(path_of(operation(1)), file_);
  const Row refused = operation(2);
  EXPECT_EQ(refused.s("result"), -EINVAL);
  EXPECT_EQ(refused.s("offset"), 512);
  EXPECT_EQ(refused.u("bytes_requested"), 16U);
  EXPECT_EQ(path_of(refused), file_);
  EXPECT_EQ(operation(3).s("result"), -ECANCELED);
}

TEST_F(KernelAsyncMultishot, async_operation_that_is_cancelled_with_its_chain_has_its_file) {
  RECORD_RING([&](IoUring& ring) {
    const int fd = ::open(file_.c_str(), O_RDWR);
    io_uring_sqe fails = transfer(IORING_OP_READ, 1, 999, contents_, 8, 0);
    fails.flags = IOSQE_IO_LINK;
    ring.push(fails);
    ring.push(transfer(IORING_OP_WRITE, 2, fd, contents_, 512, 4096));
    return ring.enter(2, 2) == 2 && next(ring)->res == -EBADF && next(ring)->res == -ECANCELED ? 0
                                                                                               : 1;
  });
  const Row cancelled = operation(2);
  EXPECT_EQ(cancelled.s("result"), -ECANCELED);
  EXPECT_EQ(cancelled.u("bytes"), 0U);
  EXPECT_EQ(cancelled.u("bytes_requested"), 512U);
  EXPECT_EQ(cancelled.s("offset"), 4096);
  EXPECT_EQ(path_of(cancelled), file_);
  EXPECT_GT(cancelled.s("fd"), 2);
  EXPECT_EQ(operation(1).u("file"), 0U);
}

} // namespace
} // namespace iotrail::live
