// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/call_arguments.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <cstring>

namespace iotrail::capture::kernel {
namespace {

TEST(call_arguments, of_a_thread_that_sleeps_in_the_call) {
  const std::string text = "72 0x3 0x7 0x7ffe0010 0x0 0xffffffffffffffff 0x5 0x7ffe0000 0x7f1200";
  const auto arguments = parse_arguments(text, IOT_syscall_fcntl);
  ASSERT_TRUE(arguments);
  EXPECT_EQ(*arguments, (Arguments{3, 7, 0x7ffe0010, 0, ~iot_u64{0}, 5}));
  EXPECT_FALSE(parse_arguments(text, IOT_syscall_read)) << "it is in another";
}

TEST(call_arguments, of_other_texts_there_are_none) {
  for (const char* const text :
       {"running", "", "-1 0x7ffe 0x7f12", "72", "72 0x3 0x7 0x1 0x2 0x3", "72 3 7 1 2 3 4",
        "72 0x3 0x7 0x1 0x2 0x3 0xg", "72 0x 0x 0x 0x 0x 0x"})
    EXPECT_FALSE(parse_arguments(text, IOT_syscall_fcntl)) << text;
}

RecordSlot record_of(iot_u32 kind, iot_u32 number, const Arguments& arguments) {
  iot_task task{};
  task.call = iot_u64{number} << IOT_CALL_NUMBER_SHIFT | 1ULL << IOT_CALL_FD_SHIFT;
  RecordSlot record{};
  set_what_was_asked(record, task, *schema::find_event(static_cast<std::uint16_t>(kind)),
                     arguments);
  return record;
}

TEST(call_arguments, have_the_request_of_the_call) {
  const RecordSlot lock =
      record_of(IOT_KIND_syscall_fcntl, IOT_syscall_fcntl, {9, 7, 0x1000, 0, 0, 0});
  const auto& fcntl = reinterpret_cast<const iot_syscall_fcntl&>(lock);
  EXPECT_EQ(fcntl.fd, 9);
  EXPECT_EQ(fcntl.command, static_cast<iot_u32>(IOT_fcntl_F_SETLKW));
  EXPECT_EQ(fcntl.argument, 0x1000U);

  const RecordSlot at =
      record_of(IOT_KIND_syscall_write, IOT_syscall_pwrite64, {4, 0x1000, 512, 4096, 0, 0});
  const auto& write = reinterpret_cast<const iot_syscall_write&>(at);
  EXPECT_EQ(write.fd, 4);
  EXPECT_EQ(write.bytes_requested, 512U);
  EXPECT_EQ(write.offset, 4096);

  const RecordSlot vector =
      record_of(IOT_KIND_syscall_read, IOT_syscall_readv, {4, 0x1000, 2, 0, 0, 0});
  EXPECT_EQ(reinterpret_cast<const iot_syscall_read&>(vector).bytes_requested, 0U) << "2 buffers";

  const RecordSlot opened = record_of(IOT_KIND_syscall_open, IOT_syscall_openat,
                                      {9, 0x1000, O_WRONLY | O_CLOEXEC, 0600, 0, 0});
  EXPECT_EQ(reinterpret_cast<const iot_syscall_open&>(opened).fd, 9);
  EXPECT_EQ(reinterpret_cast<const iot_syscall_open&>(opened).flags, O_WRONLY | O_CLOEXEC);
  EXPECT_EQ(reinterpret_cast<const iot_syscall_open&>(opened).mode, 0600U);

  const RecordSlot copy =
      record_of(IOT_KIND_syscall_copy, IOT_syscall_splice, {3, 0, 8, 0, 4444, 0});
  EXPECT_EQ(reinterpret_cast<const iot_syscall_copy&>(copy).in_fd, 3);
  EXPECT_EQ(reinterpret_cast<const iot_syscall_copy&>(copy).out_fd, 8);
  EXPECT_EQ(reinterpret_cast<const iot_syscall_copy&>(copy).bytes_requested, 4444U);
  EXPECT_EQ(reinterpret_cast<const iot_syscall_copy&>(copy).out_position, IOT_OFFSET_NONE);

  const auto timeout_ns = [](iot_u32 number, const Arguments& arguments) {
    const RecordSlot poll = record_of(IOT_KIND_syscall_poll, number, arguments);
    return reinterpret_cast<const iot_syscall_poll&>(poll).timeout_ns;
  };
  EXPECT_EQ(timeout_ns(IOT_syscall_poll, {0x1000, 2, 0xffffffff, 0, 0, 0}), -1);
  EXPECT_EQ(timeout_ns(IOT_syscall_poll, {0x1000, 1, 100'000, 0, 0, 0}), 100'000'000'000);
  EXPECT_EQ(timeout_ns(IOT_syscall_epoll_wait, {12, 0x1000, 9, 250, 0, 0}), 250'000'000);

  const RecordSlot message =
      record_of(IOT_KIND_syscall_receive, IOT_syscall_recvfrom, {4, 0x1000, 100, 2, 0, 0});
  EXPECT_EQ(reinterpret_cast<const iot_syscall_receive&>(message).bytes_requested, 100U);
  EXPECT_EQ(reinterpret_cast<const iot_syscall_receive&>(message).flags, 2U);
}

} // namespace
} // namespace iotrail::capture::kernel
