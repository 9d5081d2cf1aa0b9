// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of the layer async: records a child that uses a ring of io_uring.
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

  // Records `body` with a ring of 8 entries.
  void record_ring(const std::function<int(IoUring&)>& body, unsigned flags = 0) {
    record([&] {
      IoUring ring(8, flags);
      return ring.is_open() ? body(ring) : kRefused;
    });
  }

  // The operation with this number in user_data. Checks the fields that all operations share.
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

  // The operation's only step of this kind.
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

  // The call that submitted the operation.
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

// Cancels a running operation and waits for both ends. Returns the child's status: 0, or 1 if the
// submission fails.
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
