// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/unfinished_spans.hpp"

#include <gtest/gtest.h>

#include <memory>

namespace iotrail::capture::kernel {
namespace {

constexpr iot_u64 kCall = 0x102;
constexpr iot_u64 kFault = 0x103;

class UnfinishedSpans : public testing::Test {
protected:
  UnfinishedSpans() {
    want(IOT_KIND_vfs_write);
    want(IOT_KIND_fault_file);
    want(IOT_KIND_vfs_copy);
    task_->owner = {.op_id = kFault, .parent_op = kCall, .pid = 7, .tid = 8};
    task_->op_depth = 1;
  }
  void want(iot_u16 kind) { config_->wanted[IOT_LAYER_OF(kind)][kind % IOT_KIND_LIMIT] = 1; }
  iot_span& open(iot_u16 kind, iot_u64 op_id, iot_u32 file) {
    iot_span& span = task_->spans[task_->span_depth++];
    span.kind = kind;
    span.op_id = op_id;
    span.file = file;
    return span;
  }
  std::vector<RecordSlot> records() const {
    std::vector<RecordSlot> found;
    add_unfinished_spans(*task_, *config_, 5000, found);
    return found;
  }

  std::unique_ptr<iot_task> task_ = std::make_unique<iot_task>();
  std::unique_ptr<iot_config> config_ = std::make_unique<iot_config>();
};

TEST_F(UnfinishedSpans, each_has_its_operation) {
  iot_span& begun = open(IOT_KIND_vfs_write, kCall, 4);
  begun.start_ns = 1000;
  begun.offset = 4096;
  begun.bytes = 300;
  begun.flags = 2;
  iot_span& touched = open(IOT_KIND_fault_file, kFault, 5);
  touched.start_ns = 2000;
  touched.offset = 8192;
  touched.detail = 0x7000;
  touched.flags = IOT_fault_access_execute;
  std::vector<RecordSlot> found = records();
  ASSERT_EQ(found.size(), 2U);
  const auto& write = reinterpret_cast<const iot_vfs_write&>(found[0]);
  EXPECT_EQ(write.event.kind, IOT_KIND_vfs_write);
  EXPECT_EQ(write.event.op_id, kCall);
  EXPECT_EQ(write.event.parent_op, 0U);
  EXPECT_EQ(write.event.pid, 7U);
  EXPECT_EQ(write.event.tid, 8U);
  EXPECT_EQ(write.event.ts_ns, 1000U);
  EXPECT_EQ(write.duration_ns, 4000U);
  EXPECT_EQ(write.offset, 4096);
  EXPECT_EQ(write.bytes_requested, 300U);
  EXPECT_EQ(write.result, IOT_UNFINISHED);
  EXPECT_EQ(write.file, 4U);
  EXPECT_EQ(write.flags, 2U);
  const auto& fault = reinterpret_cast<const iot_fault_file&>(found[1]);
  EXPECT_EQ(fault.event.op_id, kFault);
  EXPECT_EQ(fault.event.parent_op, kCall);
  EXPECT_EQ(fault.address, 0x7000U);
  EXPECT_EQ(fault.offset, 8192);
  EXPECT_EQ(fault.access, static_cast<iot_u32>(IOT_fault_access_execute));
  EXPECT_EQ(fault.result, IOT_UNFINISHED);
}

TEST_F(UnfinishedSpans, of_files_that_are_left_out_have_none) {
  open(IOT_KIND_vfs_write, kCall, 4 | IOT_FILE_UNWANTED);
  open(IOT_KIND_vfs_read, kCall, 4);
  EXPECT_TRUE(records().empty()) << "the one is of another file, the other of a kind not asked for";
  config_->filter_files = 1;
  open(IOT_KIND_vfs_write, kCall, 0);
  EXPECT_TRUE(records().empty()) << "not known to be one of the files named";
}

TEST_F(UnfinishedSpans, a_copy_is_of_two_files) {
  config_->filter_files = 1;
  open(IOT_KIND_vfs_copy, kCall, 4 | IOT_FILE_UNWANTED).reserved = 5;
  EXPECT_EQ(records().size(), 1U);
}

TEST_F(UnfinishedSpans, of_operations_that_are_over_have_no_length) {
  open(IOT_KIND_vfs_write, kCall - 1, 4).start_ns = 1000;
  open(IOT_KIND_vfs_write, kCall, 4).start_ns = 1000;
  const std::vector<RecordSlot> found = records();
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(reinterpret_cast<const iot_vfs_write&>(found[0]).duration_ns, 0U);
  EXPECT_EQ(reinterpret_cast<const iot_vfs_write&>(found[0]).event.op_id, kCall - 1);
  EXPECT_EQ(reinterpret_cast<const iot_vfs_write&>(found[1]).duration_ns, 4000U);
}

TEST_F(UnfinishedSpans, beyond_the_room_are_not_known) {
  for (int times = 0; times < IOT_SPAN_DEPTH; ++times)
    open(IOT_KIND_vfs_write, kCall, 4);
  task_->span_depth += 3; // each was counted as lost when it began
  EXPECT_EQ(records().size(), static_cast<std::size_t>(IOT_SPAN_DEPTH));
}

} // namespace
} // namespace iotrail::capture::kernel
