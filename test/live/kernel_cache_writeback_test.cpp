// SPDX-License-Identifier: BSD-3-Clause
//
// Write-back from begin to end: a known number of dirty pages of an ext4, by a call and by a thread
// of the kernel.
#include "kernel_cache_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kDirtyPages = 5;

class KernelCacheWriteback : public KernelCache {
protected:
  // The dirty pages are not adjacent.
  bool write_some(int fd) const {
    for (std::size_t page = 0; page < kDirtyPages; ++page)
      if (::pwrite(fd, "x", 1, static_cast<off_t>(3 * page * kCachePageBytes)) != 1)
        return false;
    return true;
  }
  bool sees_fsync(std::string_view event) const {
    const store::HookReport hook = recording_.hook_of(event);
    return hook.tier != "T" || hook.hook.contains("ext4");
  }
  static std::int64_t pages_in(const std::vector<Row>& ended) {
    std::int64_t pages = 0;
    for (const Row& row : ended)
      pages += row.s("pages");
    return pages;
  }
  // A folio larger than a page becomes dirty, and is written, as a whole.
  std::int64_t pages_dirtied() const {
    return static_cast<std::int64_t>(pages_of(rows("cache_dirty")).size());
  }
  // Without write-back by the journal's thread, and without write-back of the inode alone, which
  // occurs without a journal.
  std::vector<Row> by_the_child(const std::string& table) const {
    std::vector<Row> own = rows(table);
    std::erase_if(own, [&](const Row& row) {
      return row.u("pid") != static_cast<std::uint64_t>(recording_.pid()) || row.s("pages") == 0;
    });
    return own;
  }
  // Each end belongs to a begin.
  void expect_pairs(const std::vector<Row>& begun, const std::vector<Row>& ended) const {
    ASSERT_EQ(begun.size(), ended.size());
    for (std::size_t number = 0; number < ended.size(); ++number) {
      EXPECT_EQ(ended[number].u("ts_ns"), begun[number].u("ts_ns"));
      for (const char* field : {"op_id", "pid", "tid", "file", "sync", "reason"})
        EXPECT_EQ(ended[number].u(field), begun[number].u(field)) << field;
      EXPECT_GT(ended[number].u("duration_ns"), 0U);
      EXPECT_EQ(ended[number].s("result"), 0);
      EXPECT_LE(ended[number].s("pages"), begun[number].s("pages"));
    }
  }
};

TEST_F(KernelCacheWriteback, cache_writeback_that_fsync_waits_for) {
  RECORD_EVENT("cache_writeback", [&] { return write_some(fd_) && ::fsync(fd_) == 0 ? 0 : 1; });
  if (!sees_fsync("cache_writeback"))
    GTEST_SKIP() << recording_.hook_of("cache_writeback").hook << " does not see what fsync writes";
  const std::vector<Row> begun = by_the_child("cache_writeback");
  ASSERT_EQ(begun.size(), 1U);
  EXPECT_EQ(begun[0].u("sync"), 1U);
  EXPECT_EQ(begun[0].u("reason"), static_cast<std::uint64_t>(IOT_writeback_reason_call));
  EXPECT_GT(begun[0].s("pages"), 0);
  ASSERT_EQ(rows("syscall_sync").size(), 1U);
  expect_under(begun, rows("syscall_sync")[0]);
}

TEST_F(KernelCacheWriteback, cache_writeback_in_the_context_of_others) {
  RECORD_EVENT("cache_writeback", [&] { return write_some(fd_) ? ::syncfs(fd_) : 1; });
  const std::vector<Row> begun = rows("cache_writeback");
  ASSERT_FALSE(begun.empty());
  for (const Row& row : begun) {
    if (row.u("reason") == IOT_writeback_reason_unknown) // the journal's thread
      continue;
    EXPECT_NE(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_EQ(row.u("op_id"), 0U);
    EXPECT_GT(row.s("pages"), 0);
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LE(row.u("sync"), 1U);
    EXPECT_EQ(row.u("reason"), static_cast<std::uint64_t>(IOT_writeback_reason_SYNC));
  }
}

TEST_F(KernelCacheWriteback, cache_writeback_end_of_fsync) {
  RECORD_EVENT("cache_writeback_end", [&] { return write_some(fd_) && ::fsync(fd_) == 0 ? 0 : 1; });
  if (!sees_fsync("cache_writeback_end"))
    GTEST_SKIP() << recording_.hook_of("cache_writeback_end").hook
                 << " does not see what fsync writes";
  expect_pairs(rows("cache_writeback"), rows("cache_writeback_end"));
  const std::vector<Row> ended = by_the_child("cache_writeback_end");
  ASSERT_EQ(ended.size(), 1U);
  EXPECT_GE(pages_dirtied(), static_cast<std::int64_t>(kDirtyPages));
  EXPECT_EQ(pages_in(ended), pages_dirtied());
  ASSERT_EQ(rows("syscall_sync").size(), 1U);
  const Row call = rows("syscall_sync")[0];
  expect_under(ended, call);
  EXPECT_LE(ended[0].u("ts_ns") + ended[0].u("duration_ns"),
            call.u("ts_ns") + call.u("duration_ns"));
}

TEST_F(KernelCacheWriteback, cache_writeback_end_in_the_context_of_others) {
  RECORD_EVENT("cache_writeback_end", [&] { return write_some(fd_) ? ::syncfs(fd_) : 1; });
  const std::vector<Row> ended = rows("cache_writeback_end");
  expect_pairs(rows("cache_writeback"), ended);
  EXPECT_EQ(pages_in(ended), pages_dirtied());
}

} // namespace
} // namespace iotrail::live
