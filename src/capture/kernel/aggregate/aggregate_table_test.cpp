// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/aggregate/aggregate_table.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "schema.hpp"

namespace iotrail::capture::kernel {
namespace {

iot_aggregate_fields fields_of(iot_u16 kind) {
  return aggregate_fields_of(*schema::find_event(kind));
}

TEST(AggregateFields, are_where_the_schema_has_the_roles) {
  const iot_aggregate_fields read = fields_of(IOT_KIND_syscall_read);
  EXPECT_EQ(read.duration, offsetof(iot_syscall_read, duration_ns) | IOT_AGGREGATE_FIELD_WIDE);
  EXPECT_EQ(read.bytes, offsetof(iot_syscall_read, result) | IOT_AGGREGATE_FIELD_WIDE);
  EXPECT_EQ(read.result, read.bytes) << "negative bytes are the error";
  EXPECT_EQ(read.file, offsetof(iot_syscall_read, file));
  EXPECT_EQ(read.operation, offsetof(iot_syscall_read, call));
  EXPECT_EQ(read.operation_mask, 0xffffffffU);
  EXPECT_EQ(read.device, 0);
}

TEST(AggregateFields, of_a_request_are_its_operation_and_purpose) {
  const iot_aggregate_fields complete = fields_of(IOT_KIND_block_complete);
  EXPECT_EQ(complete.operation, offsetof(iot_block_complete, flags));
  EXPECT_EQ(complete.operation_mask, 0xffU | IOT_block_hint_meta);
  EXPECT_EQ(complete.result, offsetof(iot_block_complete, error));
  EXPECT_EQ(complete.device, offsetof(iot_block_complete, device));
}

TEST(AggregateFields, of_the_cache_are_pages) {
  EXPECT_EQ(fields_of(IOT_KIND_cache_add).bytes_shift, 12);
  EXPECT_EQ(fields_of(IOT_KIND_cache_add).duration, 0);
}

// The kernel reads a whole word at most, which must lie in the record's place.
TEST(AggregateFields, of_every_event_lie_in_its_record) {
  for (const schema::Event& event : schema::kEvents) {
    if (schema::source_of(event.layer) != IOT_source_kernel)
      continue;
    SCOPED_TRACE(event.name);
    const iot_aggregate_fields fields = aggregate_fields_of(event);
    for (const iot_u8 field : {fields.duration, fields.bytes, fields.result, fields.file,
                               fields.device, fields.operation})
      EXPECT_LT(field & ~IOT_AGGREGATE_FIELD_WIDE, event.size_bytes);
  }
}

TEST(LatencyBuckets, follow_one_another_without_a_gap) {
  for (iot_u32 bucket = 0; bucket + 1 < bucket_of(UINT64_MAX); ++bucket) {
    const BucketBounds bounds = bounds_of_bucket(bucket);
    EXPECT_EQ(bounds.below_ns, bounds_of_bucket(bucket + 1).least_ns);
    EXPECT_EQ(bucket_of(bounds.least_ns), bucket);
    EXPECT_EQ(bucket_of(bounds.below_ns - 1), bucket);
    if (bounds.least_ns >= 4) {
      EXPECT_LE((bounds.below_ns - bounds.least_ns) * 4, bounds.least_ns);
    }
  }
}

TEST(AggregateTable, adds_records_of_user_space) {
  AggregateTable table;
  iot_syscall_read record{};
  record.event.kind = IOT_KIND_syscall_read;
  record.event.pid = 7;
  record.call = IOT_syscall_pread64;
  record.duration_ns = 100;
  record.result = 512;
  table.add(record.event);
  record.duration_ns = 110;
  table.add(record.event);
  record.result = IOT_UNFINISHED;
  table.add(record.event);
  EXPECT_EQ(table.events(), 3U);

  const auto aggregates = table.take_all();
  ASSERT_EQ(aggregates.size(), 2U);
  const auto& [key, values] = *aggregates.rbegin(); // errors are negative
  EXPECT_EQ(key.operation, IOT_syscall_pread64);
  EXPECT_EQ(key.pid, 7U);
  EXPECT_EQ(key.error, 0);
  EXPECT_EQ(values.events, 2U);
  EXPECT_EQ(values.bytes, 1024U);
  EXPECT_EQ(values.duration_ns, 210U);
  EXPECT_EQ(values.max_ns, 110U);
  EXPECT_EQ(aggregates.begin()->first.error, IOT_UNFINISHED);
  EXPECT_EQ(table.events_taken(), 3U);
  EXPECT_TRUE(table.take_all().empty());
}

} // namespace
} // namespace iotrail::capture::kernel
