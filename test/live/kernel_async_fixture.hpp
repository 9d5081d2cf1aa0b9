// SPDX-License-Identifier: BSD-3-Clause
//
// What the tests of the layer async share: the recording of a child with a ring of io_uring, and its operations.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "io_uring.hpp"
#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {

constexpr int kRefused = 77;
constexpr std::uint64_t kUserData = 0xfeedULL << 40U;

class KernelAsync : public KernelSyscall {
protected:
  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others(choice_, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }

  // `body` with a ring of 8 entries.
  void record_ring(const std::function<int(IoUring&)>& body, unsigned flags = 0) {
    record([&] {
      IoUring ring(8, flags);
      return ring.is_open() ? body(ring) : kRefused;
    });
  }

  // The operation that the program gave this number; checks what all of them have.
  Row operation(std::uint64_t number) {
    const std::vector<Row> rows =
        recording_.rows("async_operation", "user_data", kUserData + number);
    EXPECT_EQ(rows.size(), 1U) << number;
    if (rows.size() != 1)
      return {};
    check_operation(rows.front());
    EXPECT_NE(rows.front().u("ring"), 0U);
    return rows.front();
  }

  Recording::Choice choice_{.layers = {schema::Layer::syscall, schema::Layer::async}};

  std::vector<Row> steps(std::uint64_t number) {
    return recording_.rows("async_step", "user_data", kUserData + number);
  }

  // The only step of this kind on the operation's way.
  Row step(std::uint64_t number, std::uint64_t kind) {
    std::vector<Row> rows = steps(number);
    std::erase_if(rows, [&](const Row& row) { return row.u("step") != kind; });
    EXPECT_EQ(rows.size(), 1U) << number << ", " << kind;
    if (rows.empty())
      return {};
    const Row whole = operation(number);
    EXPECT_EQ(rows[0].u("op_id"), whole.u("op_id"));
    EXPECT_EQ(rows[0].u("ring"), whole.u("ring"));
    EXPECT_EQ(rows[0].u("call"), whole.u("call"));
    return rows[0];
  }

  // The call that submitted it.
  Row submitter(const Row& row, const std::string& table) {
    const std::vector<Row> calls = recording_.rows(table, "op_id", row.u("parent_op"));
    EXPECT_EQ(calls.size(), 1U);
    return calls.empty() ? Row{} : calls.front();
  }
};

#define RECORD_RING(...)                                                                           \
  do {                                                                                             \
    record_ring(__VA_ARGS__);                                                                      \
    if (!recording_.refusal().empty())                                                             \
      GTEST_SKIP() << recording_.refusal();                                                        \
    if (WEXITSTATUS(recording_.status()) == kRefused)                                              \
      GTEST_SKIP() << "the machine refuses io_uring";                                              \
    ASSERT_EQ(recording_.status(), 0);                                                             \
  } while (false)

inline io_uring_sqe entry(std::uint8_t opcode, std::uint64_t number, int fd = -1) {
  io_uring_sqe sqe{};
  sqe.opcode = opcode;
  sqe.fd = fd;
  sqe.user_data = kUserData + number;
  return sqe;
}

// Ends one that goes on, and waits for both ends. The status of a child: 0, or 1 where it cannot be submitted.
inline int cancel(IoUring& ring, const io_uring_sqe& lasting, std::uint64_t number) {
  io_uring_sqe cancel = entry(IORING_OP_ASYNC_CANCEL, number);
  cancel.addr = lasting.user_data;
  ring.push(cancel);
  return ring.enter(1, 2) == 1 ? 0 : 1;
}

inline io_uring_sqe transfer(std::uint8_t opcode, std::uint64_t number, int fd, void* buffer,
                             std::uint32_t bytes, std::uint64_t offset) {
  io_uring_sqe sqe = entry(opcode, number, fd);
  sqe.addr = reinterpret_cast<std::uintptr_t>(buffer);
  sqe.len = bytes;
  sqe.off = offset;
  return sqe;
}

} // namespace iotrail::live
