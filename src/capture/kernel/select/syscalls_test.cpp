// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/select/syscalls.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace iotrail::capture::kernel {
namespace {

std::unique_ptr<iot_config> filled(std::vector<std::string> events) {
  Filter filter;
  filter.layers = {schema::Layer::syscall};
  filter.events = std::move(events);
  auto config = std::make_unique<iot_config>();
  fill_calls(*config, filter);
  return config;
}

TEST(fill_calls, every_call_is_known_and_those_wanted_are_recorded) {
  const auto config = filled({"syscall_read"});
  for (const schema::Syscall& call : schema::kSyscalls) {
    SCOPED_TRACE(call.name);
    const iot_u64 entry = config->calls[call.number];
    EXPECT_EQ(IOT_CALL_NUMBER(entry), call.number);
    EXPECT_EQ(IOT_CALL_CLASS(entry), call.event & 0xff);
    EXPECT_EQ((entry & IOT_CALL_RECORDED) != 0, call.event == IOT_KIND_syscall_read);
  }
  EXPECT_EQ(config->calls[IOT_syscall_openat2 + 1], 0);
}

TEST(fill_calls, a_call_with_two_numbers_of_32_bit_programs_has_both) {
  const auto config = filled({});
  EXPECT_EQ(config->compat_calls[187], config->calls[IOT_syscall_sendfile] | IOT_CALL_COMPAT);
  EXPECT_EQ(config->compat_calls[239], config->compat_calls[187]);
}

TEST(fill_calls, a_descriptor_is_the_target_of_the_call) {
  const auto config = filled({});
  EXPECT_EQ(IOT_CALL_FD(config->calls[IOT_syscall_write]), 1U);
  EXPECT_EQ(IOT_CALL_FD(config->calls[IOT_syscall_mmap]), 5U);
  EXPECT_EQ(IOT_CALL_PATH(config->calls[IOT_syscall_mmap]), 0U);
  EXPECT_EQ(IOT_CALL_FD(config->calls[IOT_syscall_openat]), 1U);
  EXPECT_EQ(IOT_CALL_PATH(config->calls[IOT_syscall_openat]), 2U);
  EXPECT_EQ(IOT_CALL_FD(config->calls[IOT_syscall_truncate]), 0U);
  EXPECT_EQ(IOT_CALL_PATH(config->calls[IOT_syscall_truncate]), 1U);
}

} // namespace
} // namespace iotrail::capture::kernel
