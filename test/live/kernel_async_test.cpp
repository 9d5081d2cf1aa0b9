// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of io_uring and libaio that the test knows: their arguments, the submitting call and
// the result.
#include <linux/aio_abi.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <optional>
#include <string>

#include "await.hpp"
#include "kernel_async_fixture.hpp"
#include "shared.hpp"

namespace iotrail::live {
namespace {

const Recording::Choice kSteps{.events = {"async_operation", "async_step"}};

TEST_F(KernelAsync, async_operation_of_io_uring_has_request_and_result) {
  RECORD_RING([&](IoUring& ring) {
    char buffer[1000];
    iovec two[2] = {{buffer, 10}, {buffer + 10, 20}};
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ring.run(transfer(IORING_OP_READ, 1, fd, buffer, 512, 100)) == 512 &&
                   ring.run(transfer(IORING_OP_READ, 2, fd, buffer, 1000, 9900)) == 100 &&
                   ring.run(transfer(IORING_OP_WRITE, 3, fd, buffer, 300, 2000)) == 300 &&
                   ring.run(transfer(IORING_OP_READV, 4, fd, two, 2, 40)) == 30 &&
                   ring.run(entry(IORING_OP_FSYNC, 5, fd)) == 0 &&
                   ring.run(entry(IORING_OP_NOP, 6)) == 0 &&
                   ring.run(transfer(IORING_OP_READ, 7, 999, buffer, 8, 0)) == -EBADF &&
                   ring.run(entry(IORING_OP_CLOSE, 8, fd)) == 0
               ? 0
               : 1;
  });
  const auto expect = [&](std::uint64_t number, std::uint32_t call, std::int64_t offset,
                          std::uint64_t requested, std::int64_t result) {
    SCOPED_TRACE(number);
    const Row row = operation(number);
    EXPECT_EQ(row.u("call"), call);
    EXPECT_EQ(row.s("offset"), offset);
    EXPECT_EQ(row.u("bytes_requested"), requested);
    EXPECT_EQ(row.s("result"), result);
    EXPECT_EQ(row.u("bytes"), u(std::max<std::int64_t>(result, 0)));
    EXPECT_LT(row.u("handed_over_ns"), row.u("duration_ns"));
    const Row enter = submitter(row, "syscall_uring_enter");
    EXPECT_GE(row.u("ts_ns"), enter.u("ts_ns"));
    EXPECT_EQ(row.u("ring"), operation(1).u("ring"));
    return row;
  };
  const Row read = expect(1, IOT_async_call_IORING_OP_READ, 100, 512, 512);
  EXPECT_EQ(path_of(read), file_);
  EXPECT_GT(read.s("fd"), 2);
  EXPECT_EQ(path_of(expect(2, IOT_async_call_IORING_OP_READ, 9900, 1000, 100)), file_);
  EXPECT_EQ(path_of(expect(3, IOT_async_call_IORING_OP_WRITE, 2000, 300, 300)), file_);
  EXPECT_EQ(path_of(expect(4, IOT_async_call_IORING_OP_READV, 40, 0, 30)), file_);
  EXPECT_EQ(read.u("flags"), 0U);
  EXPECT_EQ(read.u("handed_over_ns"), 0U) << "it is in memory";
  EXPECT_EQ(path_of(expect(5, IOT_async_call_IORING_OP_FSYNC, -1, 0, 0)), file_);
  const Row nothing = expect(6, IOT_async_call_IORING_OP_NOP, -1, 0, 0);
  EXPECT_EQ(nothing.u("file"), 0U);
  EXPECT_EQ(nothing.s("fd"), IOT_NO_FD);
  const Row refused = expect(7, IOT_async_call_IORING_OP_READ, 0, 8, -EBADF);
  EXPECT_EQ(refused.u("file"), 0U);
  EXPECT_EQ(refused.s("fd"), 999);
  const Row closed = expect(8, IOT_async_call_IORING_OP_CLOSE, -1, 0, 0);
  EXPECT_EQ(path_of(closed), file_);
  EXPECT_EQ(closed.s("fd"), read.s("fd"));
}

TEST_F(KernelAsync, async_operation_of_a_message_has_its_request) {
  RECORD_RING([&](IoUring& ring) {
    char buffer[100];
    int ends[2];
    return ::socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0 &&
                   ring.run(transfer(IORING_OP_SEND, 1, ends[0], buffer, 70, 0)) == 70 &&
                   ring.run(transfer(IORING_OP_RECV, 2, ends[1], buffer, 90, 0)) == 70
               ? 0
               : 1;
  });
  EXPECT_EQ(operation(1).u("bytes_requested"), 70U);
  EXPECT_EQ(operation(2).u("bytes_requested"), 90U);
  EXPECT_EQ(operation(2).u("bytes"), 70U);
}

TEST_F(KernelAsync, async_operation_by_a_registered_file_has_that_file) {
  RECORD_RING([&](IoUring& ring) {
    char buffer[100];
    int fds[] = {::open("/dev/null", O_RDONLY), ::open(file_.c_str(), O_RDONLY)};
    if (::syscall(SYS_io_uring_register, ring.fd(), IORING_REGISTER_FILES, fds, 2) != 0)
      return 1;
    io_uring_sqe read = transfer(IORING_OP_READ, 1, 1, buffer, 64, 8);
    read.flags = IOSQE_FIXED_FILE;
    return ring.run(read) == 64 ? 0 : 1;
  });
  const Row row = operation(1);
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.s("fd"), 1);
  EXPECT_EQ(row.u("flags"), u(IOT_sqe_FIXED_FILE));
  EXPECT_EQ(row.u("bytes"), 64U);
}

TEST_F(KernelAsync, async_operation_of_a_worker_thread_says_when_it_was_handed_over) {
  RECORD_RING([&](IoUring& ring) {
    char buffer[100];
    io_uring_sqe read =
        transfer(IORING_OP_READ, 1, ::open(file_.c_str(), O_RDONLY), buffer, 100, 0);
    read.flags = IOSQE_ASYNC;
    return ring.run(read) == 100 ? 0 : 1;
  });
  const Row row = operation(1);
  EXPECT_EQ(row.u("flags"), u(IOT_sqe_ASYNC));
  EXPECT_GT(row.u("handed_over_ns"), 0U);
  EXPECT_LT(row.u("handed_over_ns"), row.u("duration_ns"));
  EXPECT_EQ(path_of(row), file_);
}

TEST_F(KernelAsync, async_operation_has_the_pages_that_a_worker_thread_makes_dirty) {
  recording_ = Recording::of({schema::Layer::async, schema::Layer::cache}, [&] {
    IoUring ring(8);
    if (!ring.is_open())
      return kRefused;
    io_uring_sqe write =
        transfer(IORING_OP_WRITE, 1, ::open(file_.c_str(), O_WRONLY), contents_, 4096, 1 << 20);
    write.flags = IOSQE_ASYNC;
    return ring.run(write) == 4096 ? 0 : 1;
  });
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  if (WEXITSTATUS(recording_.status()) == kRefused)
    GTEST_SKIP() << "the machine refuses io_uring";
  ASSERT_EQ(recording_.status(), 0);
  const Row row = operation(1);
  std::vector<Row> pages = recording_.rows("cache_dirty", "op_id", row.u("op_id"));
  // If the last page of the old file was written back meanwhile, zeroing its rest dirties it again.
  // The file system's own pages become dirty too; they belong to the disk.
  constexpr std::uint64_t kOldEnd = sizeof contents_ / 4096;
  std::erase_if(
      pages, [&](const Row& page) { return page.u("index") == kOldEnd || path_of(page) != file_; });
  ASSERT_FALSE(pages.empty());
  for (const Row& page : pages) { // twice, if a write-back came in between
    EXPECT_EQ(page.u("index"), (1U << 20) / 4096U);
    EXPECT_NE(page.u("tid"), row.u("tid")) << "the thread that was running";
  }
}

TEST_F(KernelAsync, async_operation_by_the_thread_that_polls_has_no_call) {
  RECORD_RING(
      [&](IoUring& ring) {
        char buffer[100];
        ring.push(transfer(IORING_OP_READ, 1, ::open(file_.c_str(), O_RDONLY), buffer, 100, 0));
        std::optional<Completion> done;
        await([&] {
          ring.wake_poller();
          return (done = ring.pop()).has_value();
        });
        return done && done->res == 100 ? 0 : 1;
      },
      IORING_SETUP_SQPOLL);
  const std::vector<Row> rows = recording_.rows("async_operation", "user_data", kUserData + 1);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].u("parent_op"), 0U);
  EXPECT_EQ(rows[0].u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_NE(rows[0].u("tid"), rows[0].u("pid"));
  EXPECT_EQ(rows[0].u("bytes"), 100U);
  EXPECT_EQ(path_of(rows[0]), file_);
}

TEST_F(KernelAsync, async_operation_without_a_completion_is_unfinished) {
  RECORD_RING([&](IoUring& ring) {
    io_uring_sqe silent = entry(IORING_OP_NOP, 1);
    silent.flags = IOSQE_CQE_SKIP_SUCCESS;
    ring.push(silent);
    if (ring.enter(1, 0) != 1)
      return 1;
    // The kernel reuses the request object before long.
    for (std::uint64_t number = 2; number < 100; ++number)
      if (ring.run(entry(IORING_OP_NOP, number)) != 0)
        return 1;
    return 0;
  });
  const Row row = recording_.rows("async_operation", "user_data", kUserData + 1).at(0);
  EXPECT_EQ(row.s("result"), IOT_UNFINISHED);
  EXPECT_EQ(std::max(row.u("bytes"), row.u("duration_ns")), 0U) << "not known";
  EXPECT_EQ(row.u("flags"), u(IOT_sqe_CQE_SKIP_SUCCESS));
  for (std::uint64_t number = 2; number < 100; ++number)
    EXPECT_EQ(operation(number).s("result"), 0);
}

TEST_F(KernelAsync, async_result_for_each_result_of_a_multishot_operation) {
  RECORD_RING([&](IoUring& ring) {
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    io_uring_sqe poll = entry(IORING_OP_POLL_ADD, 1, ends[0]);
    poll.poll32_events = POLLIN;
    poll.len = IORING_POLL_ADD_MULTI;
    ring.push(poll);
    if (ring.enter(1, 0) != 1)
      return 1;
    for (int times = 0; times < 2; ++times) {
      if (::write(ends[1], "x", 1) != 1 || ring.enter(0, 1) != 0)
        return 1;
      const auto completion = ring.pop();
      if (!completion || !(completion->res & POLLIN) || !(completion->flags & IORING_CQE_F_MORE))
        return 1;
    }
    return cancel(ring, poll, 2);
  });
  const Row whole = operation(1);
  EXPECT_EQ(whole.s("result"), -ECANCELED);
  EXPECT_EQ(whole.u("call"), u(IOT_async_call_IORING_OP_POLL_ADD));
  const std::vector<Row> results = recording_.rows("async_result");
  ASSERT_EQ(results.size(), 2U);
  for (const Row& result : results) {
    EXPECT_EQ(result.u("op_id"), whole.u("op_id"));
    EXPECT_EQ(result.u("user_data"), kUserData + 1);
    EXPECT_EQ(result.u("ring"), whole.u("ring"));
    EXPECT_EQ(result.u("call"), u(IOT_async_call_IORING_OP_POLL_ADD));
    EXPECT_EQ(result.u("file"), whole.u("file"));
    EXPECT_NE(result.u("file"), 0U);
    EXPECT_TRUE(result.s("result") & POLLIN);
    EXPECT_EQ(result.u("bytes"), 0U) << "a set of events is no number of bytes";
    EXPECT_GE(result.u("ts_ns"), whole.u("ts_ns"));
  }
}

TEST_F(KernelAsync, async_overflow_for_each_completion_without_room) {
  constexpr unsigned kMore = 3;
  RECORD_RING([&](IoUring& ring) {
    const unsigned count = ring.parameters().cq_entries + kMore;
    for (unsigned number = 0; number < count; ++number) {
      ring.push(entry(IORING_OP_NOP, number));
      if (ring.enter(1, 0) != 1)
        return 1;
    }
    return 0;
  });
  const std::vector<Row> rows = recording_.rows("async_overflow");
  ASSERT_EQ(rows.size(), kMore);
  const Row first = operation(0);
  for (std::uint64_t at = 0; at < kMore; ++at) {
    EXPECT_EQ(rows[at].u("ring"), first.u("ring"));
    EXPECT_EQ(rows[at].s("result"), 0);
    EXPECT_EQ(rows[at].u("user_data"), kUserData + 16 + at) << "after twice the 8 entries";
    EXPECT_EQ(rows[at].u("pid"), first.u("pid"));
  }
}

// The number of completions that wait for room, by the kernel's own list of them.
std::ptrdiff_t completions_without_room(const IoUring& ring) {
  std::ifstream words("/proc/self/fdinfo/" + std::to_string(ring.fd()));
  std::ptrdiff_t count = 0;
  bool is_list = false;
  for (std::string word; words >> word;) {
    is_list |= word == "CqOverflowList:";
    count += is_list && word.starts_with("user_data=") ? 1 : 0;
  }
  return count;
}

// The kernel source searches its followed operations for the one without room, for a limited time.
// With few operations that suffices on a slow machine.
TEST_F(KernelAsync, async_operation_that_finds_no_room_ends_all_the_same) {
  const Shared<std::uint64_t> all_written_ns;
  choice_.in_flight_at_once = 64;
  RECORD_RING([&](IoUring& ring) {
    const int fd = ::open(file_.c_str(), O_RDWR);
    char bytes[100] = {};
    for (unsigned number = 0; number < ring.parameters().cq_entries + 3; ++number) {
      ring.push(transfer(IORING_OP_WRITE, number, fd, bytes, sizeof bytes, number * sizeof bytes));
      if (ring.enter(1, 0) != 1)
        return 1;
    }
    const bool are_done = await([&] { return completions_without_room(ring) == 3; });
    *all_written_ns = monotonic_ns();
    return are_done ? 0 : 1;
  });
  ASSERT_EQ(recording_.rows("async_overflow").size(), 3U);
  for (std::uint64_t number = 16; number < 16 + 3; ++number) {
    const Row row = operation(number);
    EXPECT_EQ(row.s("result"), 100);
    EXPECT_EQ(row.u("bytes"), 100U);
    EXPECT_EQ(row.s("offset"), static_cast<std::int64_t>(number * 100));
    EXPECT_EQ(path_of(row), file_);
    EXPECT_LT(row.u("ts_ns") + row.u("duration_ns"), *all_written_ns) << "not with its ring";
  }
}

TEST_F(KernelAsync, async_step_of_operations_that_are_linked) {
  choice_ = kSteps;
  RECORD_RING([&](IoUring& ring) {
    io_uring_sqe first = entry(IORING_OP_NOP, 1);
    io_uring_sqe fails = transfer(IORING_OP_READ, 2, 999, nullptr, 8, 0);
    first.flags = fails.flags = IOSQE_IO_LINK;
    ring.push(first);
    ring.push(fails);
    ring.push(entry(IORING_OP_NOP, 3));
    return ring.enter(3, 3) == 3 ? 0 : 1;
  });
  EXPECT_EQ(operation(3).s("result"), -ECANCELED);
  const Row second = step(2, IOT_async_step_linked);
  EXPECT_EQ(second.u("other_op"), operation(1).u("op_id"));
  EXPECT_EQ(second.u("call"), u(IOT_async_call_IORING_OP_READ));
  const std::uint64_t before = step(3, IOT_async_step_linked).u("other_op");
  const bool is_first_of_chain = before == operation(1).u("op_id"); // on Linux 6.1
  EXPECT_TRUE(is_first_of_chain || before == operation(2).u("op_id"));
  EXPECT_EQ(step(3, IOT_async_step_link_failed).u("other_op"), before);
  EXPECT_EQ(steps(1).size(), 0U);
}

TEST_F(KernelAsync, async_step_of_an_operation_that_waits_for_its_file) {
  choice_ = kSteps;
  RECORD_RING([&](IoUring& ring) {
    char byte = 0;
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    ring.push(transfer(IORING_OP_READ, 1, ends[0], &byte, 1, ~0ULL));
    if (ring.enter(1, 0) != 1 || ::write(ends[1], "x", 1) != 1)
      return 1;
    return ring.enter(0, 1) == 0 && ring.pop()->res == 1 ? 0 : 1;
  });
  const Row row = operation(1);
  const Row polled = step(1, IOT_async_step_polled);
  const Row ready = step(1, IOT_async_step_ready);
  EXPECT_EQ(polled.u("other_op"), 0U);
  EXPECT_GE(polled.u("ts_ns"), row.u("ts_ns"));
  EXPECT_GE(ready.u("ts_ns"), polled.u("ts_ns"));
  EXPECT_LE(ready.u("ts_ns"), row.u("ts_ns") + row.u("duration_ns"));
}

TEST_F(KernelAsync, async_step_of_operations_that_are_deferred_and_handed_over) {
  choice_ = kSteps;
  RECORD_RING([&](IoUring& ring) {
    char byte = 0;
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    io_uring_sqe read = transfer(IORING_OP_READ, 1, ends[0], &byte, 1, ~0ULL);
    io_uring_sqe last = entry(IORING_OP_NOP, 2); // deferred: there is nothing to read yet
    read.flags = IOSQE_ASYNC;
    last.flags = IOSQE_IO_DRAIN;
    ring.push(read);
    ring.push(last);
    return ring.enter(2, 0) == 2 && ::write(ends[1], "x", 1) == 1 && ring.enter(0, 2) == 0 ? 0 : 1;
  });
  EXPECT_TRUE(std::ranges::any_of(steps(1), [](const Row& of_read) {
    return of_read.u("step") == IOT_async_step_handed_over;
  }));
  EXPECT_GE(step(2, IOT_async_step_deferred).u("ts_ns"), operation(2).u("ts_ns"));
}

TEST_F(KernelAsync, syscall_uring_enter_has_the_fill_of_both_queues) {
  RECORD_RING([&](IoUring& ring) {
    for (std::uint64_t number = 1; number <= 3; ++number)
      ring.push(entry(IORING_OP_NOP, number));
    return ring.enter(2, 2) == 2 && ring.pop() && ring.enter(1, 1) == 1 && ring.pop() &&
                   ring.pop() && ring.enter(0, 0) == 0 &&
                   ::syscall(SYS_io_uring_enter, -1, 0, 0, 0, nullptr, 0) == -1 &&
                   ::close(ring.fd()) == 0
               ? 0
               : 1;
  });
  std::vector<Row> calls = recording_.rows("syscall_uring_enter");
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(recording_.rows_of_file("syscall_close", "anon_inode:[io_uring]").size(), 1U);
  std::ranges::sort(calls, {}, [](const Row& row) { return row.u("ts_ns"); });
  const std::int64_t submissions[] = {1, 0, 0, -1}; // the last call failed
  const std::int64_t completions[] = {2, 2, 0, -1};
  for (std::size_t at = 0; at < std::size(submissions); ++at) {
    EXPECT_EQ(calls[at].s("submissions_left"), submissions[at]) << at;
    EXPECT_EQ(calls[at].s("completions_ready"), completions[at]) << at;
  }
}

TEST_F(KernelAsync, async_operation_of_libaio_lasts_from_submission_to_reaping) {
  RECORD([&] {
    char buffer[1000];
    const auto fd = static_cast<std::uint32_t>(::open(file_.c_str(), O_RDWR));
    std::array<iocb, 4> operations{};
    std::array<iocb*, 4> list{};
    for (std::size_t at = 0; at < operations.size(); ++at) {
      operations[at].aio_data = kUserData + at;
      operations[at].aio_fildes = fd;
      operations[at].aio_buf = reinterpret_cast<std::uintptr_t>(buffer);
      operations[at].aio_nbytes = 100 + at;
      operations[at].aio_offset = static_cast<std::int64_t>(1000 * at);
      list[at] = &operations[at];
    }
    std::array<iovec, 2> vectors{{{buffer, 20}, {buffer, 30}}};
    operations[0].aio_lio_opcode = IOCB_CMD_PREAD;
    operations[1].aio_lio_opcode = IOCB_CMD_PWRITE;
    operations[2].aio_lio_opcode = IOCB_CMD_PREADV;
    operations[2].aio_buf = reinterpret_cast<std::uintptr_t>(vectors.data());
    operations[2].aio_nbytes = vectors.size();
    operations[3].aio_fildes = 999; // refused
    aio_context_t context = 0;
    std::array<io_event, 4> done{};
    return ::syscall(SYS_io_setup, 8, &context) == 0 &&
                   ::syscall(SYS_io_submit, context, 4, list.data()) == 3 &&
                   ::syscall(SYS_io_getevents, context, 3, 4, done.data(), nullptr) == 3
               ? 0
               : 1;
  });
  ASSERT_EQ(recording_.status(), 0);
  EXPECT_EQ(recording_.rows("async_operation").size(), 3U) << "what was refused has not begun";
  const auto expect = [&](std::uint64_t number, std::uint32_t call, std::uint64_t requested,
                          std::int64_t result) {
    SCOPED_TRACE(number);
    const Row row = operation(number);
    EXPECT_EQ(row.u("call"), call);
    EXPECT_EQ(row.s("offset"), static_cast<std::int64_t>(1000 * number));
    EXPECT_EQ(row.u("bytes_requested"), requested);
    EXPECT_EQ(row.s("result"), result);
    EXPECT_EQ(row.u("bytes"), u(result));
    EXPECT_EQ(row.u("handed_over_ns"), 0U);
    EXPECT_EQ(row.u("flags"), 0U);
    EXPECT_EQ(path_of(row), file_);
    EXPECT_GT(row.s("fd"), 2);
    const Row submit = submitter(row, "syscall_aio_submit");
    EXPECT_EQ(row.u("ring"), submit.u("context"));
    const Row reaped = one("syscall_aio_getevents", IOT_syscall_io_getevents);
    EXPECT_GE(row.u("ts_ns") + row.u("duration_ns"), reaped.u("ts_ns"));
  };
  expect(0, IOT_async_call_IOCB_CMD_PREAD, 100, 100);
  expect(1, IOT_async_call_IOCB_CMD_PWRITE, 101, 101);
  expect(2, IOT_async_call_IOCB_CMD_PREADV, 50, 50);
}

TEST_F(KernelAsync, async_operation_of_libaio_beyond_those_looked_at_is_a_loss) {
  constexpr int kLookedAt = 4096;
  constexpr int kMore = 5;
  recording_ = Recording::of({schema::Layer::async}, [&] {
    char byte = 0;
    const auto fd = static_cast<std::uint32_t>(::open(file_.c_str(), O_RDONLY));
    std::vector<iocb> operations(kLookedAt + kMore);
    std::vector<iocb*> list;
    for (iocb& one : operations) {
      one.aio_lio_opcode = IOCB_CMD_PREAD;
      one.aio_fildes = fd;
      one.aio_buf = reinterpret_cast<std::uintptr_t>(&byte);
      one.aio_nbytes = 1;
      list.push_back(&one);
    }
    const auto count = static_cast<long>(list.size());
    aio_context_t context = 0;
    if (::syscall(SYS_io_setup, count, &context) != 0)
      return kRefused;
    std::vector<io_event> done(list.size());
    return ::syscall(SYS_io_submit, context, count, list.data()) == count &&
                   ::syscall(SYS_io_getevents, context, count, count, done.data(), nullptr) == count
               ? 0
               : 1;
  });
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  if (WEXITSTATUS(recording_.status()) == kRefused)
    GTEST_SKIP() << "the machine has no room for so many operations";
  ASSERT_EQ(recording_.status(), 0);
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_async_untracked), u(kMore));
  EXPECT_EQ(recording_.rows("async_operation").size() + recording_.lost(), u(kLookedAt + kMore));
  EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
}

} // namespace
} // namespace iotrail::live
