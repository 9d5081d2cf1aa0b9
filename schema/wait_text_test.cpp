// SPDX-License-Identifier: BSD-3-Clause
#include "wait_text.hpp"

#include <algorithm>
#include <set>
#include <string>

#include <gtest/gtest.h>

namespace iotrail::schema {
namespace {

TEST(wait_text, the_innermost_function_with_a_reason_decides) {
  const std::string_view sync =
      "do_fsync;ext4_sync_file;file_write_and_wait_range;__filemap_fdatawait_range;"
      "folio_wait_writeback;folio_wait_bit;io_schedule;schedule";
  EXPECT_EQ(wait_reason(sync), "write_back");
  EXPECT_EQ(wait_place(sync), "folio_wait_writeback");
  EXPECT_EQ(wait_reason("do_fsync;ext4_sync_file;jbd2_log_wait_commit;schedule"), "journal_commit");
  EXPECT_EQ(wait_reason("iomap_dio_rw;submit_bio;blk_mq_get_tag;io_schedule;schedule"), "tag");
  EXPECT_EQ(wait_reason("iomap_dio_rw;__iomap_dio_rw;io_schedule;schedule"), "block_io");
}

TEST(wait_text, a_means_says_what_for_where_no_caller_does) {
  EXPECT_EQ(wait_reason("ext4_lookup;__wait_on_bit;bit_wait_io;io_schedule"), "metadata");
  EXPECT_EQ(wait_reason("do_get_write_access;__wait_on_bit;bit_wait_io"), "journal_buffer");
}

TEST(wait_text, a_lock_is_named_by_its_caller) {
  const std::string_view write =
      "vfs_write;ext4_buffered_write_iter;down_write;rwsem_down_write_slowpath;schedule";
  EXPECT_EQ(wait_reason(write), "lock");
  EXPECT_EQ(wait_place(write), "ext4_buffered_write_iter");
}

TEST(wait_text, what_compilers_and_modules_add_is_no_part_of_a_name) {
  EXPECT_EQ(wait_reason("do_sys_poll;do_poll.constprop.0;schedule"), "poll");
  EXPECT_EQ(wait_reason("fsync;jbd2_log_wait_commit [jbd2];schedule"), "journal_commit");
  EXPECT_EQ(wait_place("fsync;jbd2_log_wait_commit [jbd2];schedule"), "jbd2_log_wait_commit");
}

TEST(wait_text, any_text_has_an_answer) {
  EXPECT_EQ(wait_reason(""), "other");
  EXPECT_EQ(wait_place(""), "");
  EXPECT_EQ(wait_reason(";;;"), "other");
  EXPECT_EQ(wait_place(";;;"), "");
  EXPECT_EQ(wait_place("schedule"), "schedule");
  EXPECT_EQ(wait_reason("f;g"), "other");
  EXPECT_EQ(wait_place("f;g"), "g");
  EXPECT_EQ(wait_place("f;schedule;."), "f");
}

// A function twice in the list would have one of two reasons by chance.
TEST(wait_text, every_function_has_one_reason_that_exists) {
  std::set<std::string_view> names;
  std::set<std::string_view> reasons;
  for (const WaitReason& reason : wait_reasons())
    EXPECT_TRUE(reasons.insert(reason.name).second) << reason.name;
  const auto add = [&](std::string_view name, std::string_view reason) {
    EXPECT_TRUE(names.insert(name).second) << name;
    EXPECT_TRUE(reason.empty() || reasons.contains(reason)) << name;
  };
#define WAIT_FUNCTION(name, reason) add(#name, #reason);
#define WAIT_MEANS(name, reason) add(#name, #reason);
#include "wait_functions.def"
}

} // namespace
} // namespace iotrail::schema
