// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/deferred_filter.hpp"

#include <gtest/gtest.h>

#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kMillisecondNs = 1'000'000;

class HoldBackTest : public ::testing::Test {
protected:
  HoldBackTest() : writer_(store::TraceWriter::create(directory_ / "t.iotrail", {}).value()) {
    deferred_filter_.configure({.latency_ns = kMillisecondNs, .bytes = 0});
  }

  template <class Event> static Event make(iot_kind kind, iot_u64 op, iot_u64 parent = 0) {
    Event event{};
    event.event.kind = static_cast<iot_u16>(kind);
    event.event.op_id = op;
    event.event.parent_op = parent;
    event.event.ts_ns = 1;
    return event;
  }
  void take(const iot_event& event) { deferred_filter_.take(event, *writer_); }

  void call(iot_u64 op, std::uint64_t duration_ns, std::int64_t result = 0) {
    auto event = make<iot_syscall_read>(IOT_KIND_syscall_read, op);
    event.duration_ns = duration_ns;
    event.result = result;
    take(event.event);
  }
  void bio(iot_u64 op, iot_u64 parent = 0) {
    take(make<iot_block_queue>(IOT_KIND_block_queue, op, parent).event);
  }
  void fault(iot_u64 op, iot_u64 parent, std::uint64_t duration_ns) {
    auto event = make<iot_fault_file>(IOT_KIND_fault_file, op, parent);
    event.duration_ns = duration_ns;
    take(event.event);
  }
  void asynchronous(iot_u64 op, iot_u64 parent, std::uint64_t duration_ns, iot_u64 bytes = 0) {
    auto event = make<iot_async_operation>(IOT_KIND_async_operation, op, parent);
    event.duration_ns = duration_ns;
    event.bytes = bytes;
    take(event.event);
  }

  std::uint64_t rows(iot_kind kind) {
    const store::WriterStats stats = writer_->stats();
    const auto found = stats.rows.find(static_cast<iot_u16>(kind));
    return found == stats.rows.end() ? 0 : found->second;
  }
  // Finishes a complete trace.
  void finish() {
    deferred_filter_.keep_all(*writer_);
    EXPECT_EQ(deferred_filter_.held(), 0U);
    ASSERT_TRUE(writer_->flush().has_value());
  }
  void expect(std::uint64_t calls, std::uint64_t bios, std::uint64_t left_out) {
    ASSERT_TRUE(writer_->flush().has_value());
    EXPECT_EQ(rows(IOT_KIND_syscall_read), calls);
    EXPECT_EQ(rows(IOT_KIND_block_queue), bios);
    EXPECT_EQ(deferred_filter_.left_out(), left_out);
  }

  store::testing::TemporaryDirectory directory_;
  std::unique_ptr<store::TraceWriter> writer_;
  DeferredFilter deferred_filter_;
};

TEST_F(HoldBackTest, keeps_all_where_nothing_is_asked_for) {
  deferred_filter_.configure({});
  bio(2);
  call(2, 1);
  expect(1, 1, 0);
}

TEST_F(HoldBackTest, decides_by_the_end_of_the_call) {
  bio(2);
  bio(3);
  expect(0, 0, 0);
  EXPECT_EQ(deferred_filter_.held(), 2U);
  call(2, kMillisecondNs - 1);
  call(3, kMillisecondNs);
  expect(1, 1, 2);
  EXPECT_EQ(deferred_filter_.held(), 0U);
}

TEST_F(HoldBackTest, events_after_the_end_share_the_fate_of_their_call) {
  call(2, 1);
  call(3, kMillisecondNs);
  bio(2);
  bio(3);
  expect(1, 1, 2);
}

TEST_F(HoldBackTest, events_without_an_operation_are_kept) {
  bio(0);
  expect(0, 1, 0);
}

TEST_F(HoldBackTest, a_call_that_moves_too_little_is_left_out) {
  deferred_filter_.configure({.latency_ns = 0, .bytes = 4096});
  bio(2);
  bio(3);
  bio(4);
  deferred_filter_.keep_slow(~0ULL, *writer_); // time alone does not decide
  call(2, 1, 4095);
  call(3, 1, 4096);
  call(4, 1, -EIO);
  expect(1, 1, 4);
}

TEST_F(HoldBackTest, a_long_operation_is_kept_before_its_end) {
  bio(2);
  deferred_filter_.keep_slow(kMillisecondNs, *writer_);
  expect(0, 0, 0);
  deferred_filter_.keep_slow(kMillisecondNs + 1, *writer_);
  expect(0, 1, 0);
  call(2, kMillisecondNs);
  expect(1, 1, 0);
}

TEST_F(HoldBackTest, unfinished_operations_are_kept) {
  bio(2);
  call(3, 1, IOT_UNFINISHED);
  finish();
  expect(1, 1, 0);
}

TEST_F(HoldBackTest, a_fault_goes_the_way_of_its_call) {
  for (const iot_u64 op : {10, 20}) {
    bio(op + 1, op);
    fault(op + 1, op, 5);
    bio(op + 1, op);
    EXPECT_EQ(rows(IOT_KIND_fault_file), 0U);
  }
  call(10, kMillisecondNs);
  call(20, 1);
  expect(1, 2, 4);
  EXPECT_EQ(rows(IOT_KIND_fault_file), 1U);
}

TEST_F(HoldBackTest, a_slow_asynchronous_operation_outlasts_its_fast_call) {
  bio(11, 10);
  bio(12, 10);
  call(10, 1);
  EXPECT_EQ(deferred_filter_.left_out(), 1U);
  asynchronous(11, 10, kMillisecondNs);
  asynchronous(12, 10, kMillisecondNs - 1);
  bio(11, 10); // its completion
  bio(12, 10);
  expect(0, 2, 4);
  EXPECT_EQ(rows(IOT_KIND_async_operation), 1U);
}

TEST_F(HoldBackTest, a_slow_call_keeps_the_operations_that_it_submitted) {
  bio(11, 10);
  call(10, kMillisecondNs);
  asynchronous(11, 10, 1);
  expect(1, 1, 0);
  EXPECT_EQ(rows(IOT_KIND_async_operation), 1U);
}

TEST_F(HoldBackTest, without_room_nothing_is_left_out) {
  for (std::size_t i = 0; i < DeferredFilter::kMostHeld + 10; ++i)
    bio(2);
  call(2, 1);
  ASSERT_TRUE(writer_->flush().has_value());
  EXPECT_EQ(rows(IOT_KIND_block_queue), DeferredFilter::kMostHeld + 10);
  EXPECT_EQ(deferred_filter_.left_out(), 0U);
}

TEST_F(HoldBackTest, decisions_are_forgotten_after_a_minute) {
  constexpr std::uint64_t kMinuteNs = 60'000 * kMillisecondNs;
  call(2, 1);
  deferred_filter_.keep_slow(kMinuteNs / 2, *writer_);
  bio(2);
  expect(0, 0, 2);
  deferred_filter_.keep_slow(2 * kMinuteNs, *writer_);
  bio(2);
  finish();
  expect(0, 1, 2);
}

} // namespace
} // namespace iotrail::capture
