// SPDX-License-Identifier: BSD-3-Clause
//
// One test an event of the layer cache: exactly one known operation on a file of 16 pages in a child, every field of
// its records.
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <set>
#include <vector>

#include "base/clock.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPages = 16;
constexpr std::size_t kFileBytes = kPages * kPageBytes;

using Pages = std::vector<std::uint64_t>;

// Each page that the events name, as often as they name it, in order.
Pages pages_of(const std::vector<Row>& rows) {
  Pages pages;
  for (const Row& row : rows)
    for (std::uint64_t page = 0; page < row.u("pages"); ++page)
      pages.push_back(row.u("index") + page);
  std::ranges::sort(pages);
  return pages;
}

Pages from_to(std::uint64_t first, std::uint64_t end) {
  Pages pages(end - first);
  std::iota(pages.begin(), pages.end(), first);
  return pages;
}

class KernelCache : public testing::Test {
protected:
  // The file's pages are clean, and in memory.
  void SetUp() override {
    std::string pattern = std::filesystem::current_path() / "kernel-cache-XXXXXX";
    fd_ = ::mkstemp(pattern.data());
    ASSERT_GE(fd_, 0);
    file_ = pattern;
    const std::vector<char> bytes(kFileBytes, 'x');
    ASSERT_EQ(::write(fd_, bytes.data(), bytes.size()), static_cast<ssize_t>(kFileBytes));
    ASSERT_EQ(::fsync(fd_), 0);
    before_ns_ = monotonic_ns();
  }
  void TearDown() override {
    ::close(fd_);
    std::filesystem::remove(file_);
  }

  void drop_pages() const { ASSERT_EQ(::posix_fadvise(fd_, 0, 0, POSIX_FADV_DONTNEED), 0); }

  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others({schema::Layer::syscall, schema::Layer::cache}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.status(), 0) << "the child failed";
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }

  std::vector<Row> rows(const std::string& table) const {
    return recording_.rows_of_file(table, file_.native());
  }

  void check_header(const Row& row) const {
    const auto pid = static_cast<std::uint64_t>(recording_.pid());
    EXPECT_EQ(row.u("pid"), pid);
    EXPECT_EQ(row.u("tid"), pid);
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LT(row.u("ts_ns"), monotonic_ns());
    EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  }

  // All under the one call of `call_table`, and while it lasted.
  void expect_under(const std::vector<Row>& inner, const Row& call) const {
    for (const Row& row : inner) {
      check_header(row);
      EXPECT_EQ(row.u("op_id"), call.u("op_id"));
      EXPECT_GE(row.u("ts_ns"), call.u("ts_ns"));
      EXPECT_LE(row.u("ts_ns"), call.u("ts_ns") + call.u("duration_ns"));
    }
  }

  int fd_ = -1;
  std::filesystem::path file_;
  std::uint64_t before_ns_ = 0;
  Recording recording_;
  char buffer_[kFileBytes] = {};
};

TEST_F(KernelCache, cache_hit_for_each_page_of_a_read_from_memory) {
  RECORD_EVENT("cache_hit", [&] {
    return ::pread(fd_, buffer_, 3 * kPageBytes, 5 * kPageBytes + 100) == 3 * kPageBytes ? 0 : 1;
  });
  EXPECT_EQ(pages_of(rows("cache_hit")), from_to(5, 9));
  EXPECT_TRUE(rows("cache_add").empty());
  ASSERT_EQ(rows("syscall_read").size(), 1U);
  expect_under(rows("cache_hit"), rows("syscall_read")[0]);
}

TEST_F(KernelCache, cache_hit_of_the_same_page_counts_each_time) {
  RECORD_EVENT("cache_hit", [&] {
    for (int position = 0; position < 10; ++position)
      if (::pread(fd_, buffer_, 1, 2 * kPageBytes + position) != 1)
        return 1;
    return 0;
  });
  EXPECT_EQ(pages_of(rows("cache_hit")), Pages(10, 2));
  std::set<std::uint64_t> operations;
  for (const Row& row : rows("cache_hit"))
    operations.insert(row.u("op_id"));
  EXPECT_EQ(operations.size(), 10U);
}

// A read missed exactly when its page was brought in under its own operation.
TEST_F(KernelCache, cache_hit_and_cache_add_complement_each_other) {
  drop_pages();
  RECORD_EVENT("cache_hit", [&] {
    for (std::size_t page = 0; page < kPages; ++page)
      if (::pread(fd_, buffer_, kPageBytes, static_cast<off_t>(page * kPageBytes)) != kPageBytes)
        return 1;
    return 0;
  });
  EXPECT_EQ(pages_of(rows("cache_add")), from_to(0, kPages));
  const std::vector<Row> calls = rows("syscall_read");
  ASSERT_EQ(calls.size(), kPages);
  std::size_t hits = 0;
  for (const Row& call : calls) {
    const std::uint64_t page = call.u("offset") / kPageBytes;
    const Pages added = pages_of(recording_.rows("cache_add", "op_id", call.u("op_id")));
    const Pages hit = pages_of(recording_.rows("cache_hit", "op_id", call.u("op_id")));
    const bool missed = std::ranges::find(added, page) != added.end();
    EXPECT_EQ(hit, missed ? Pages{} : Pages{page});
    hits += hit.size();
  }
  EXPECT_LT(hits, kPages) << "the first page cannot have been there";
}

TEST_F(KernelCache, cache_add_for_each_page_read_in) {
  drop_pages();
  RECORD_EVENT("cache_add",
               [&] { return ::pread(fd_, buffer_, kFileBytes, 0) == kFileBytes ? 0 : 1; });
  EXPECT_EQ(pages_of(rows("cache_add")), from_to(0, kPages));
  ASSERT_EQ(rows("syscall_read").size(), 1U);
  expect_under(rows("cache_add"), rows("syscall_read")[0]);
}

TEST_F(KernelCache, cache_delete_for_each_page_dropped) {
  RECORD_EVENT("cache_delete", [&] { return ::ftruncate(fd_, 4 * kPageBytes); });
  EXPECT_EQ(pages_of(rows("cache_delete")), from_to(4, kPages));
  ASSERT_EQ(rows("syscall_truncate").size(), 1U);
  expect_under(rows("cache_delete"), rows("syscall_truncate")[0]);
}

// A folio may be larger than a page: then the second page written may have become dirty with the first.
TEST_F(KernelCache, cache_dirty_once_until_written_back) {
  RECORD_EVENT("cache_dirty", [&] {
    return ::pwrite(fd_, "x", 1, 3 * kPageBytes + 7) == 1 &&
                   ::pwrite(fd_, "y", 1, 3 * kPageBytes + 8) == 1 &&
                   ::pwrite(fd_, "z", 1, 9 * kPageBytes) == 1
               ? 0
               : 1;
  });
  const std::vector<Row> calls = rows("syscall_write");
  ASSERT_EQ(calls.size(), 3U);
  const auto dirtied_by = [&](const Row& call) {
    std::vector<Row> dirtied = recording_.rows("cache_dirty", "op_id", call.u("op_id"));
    std::erase_if(dirtied, [&](const Row& row) { return row.u("file") != call.u("file"); });
    expect_under(dirtied, call);
    return pages_of(dirtied);
  };
  const Pages first = dirtied_by(calls[0]);
  EXPECT_TRUE(std::ranges::binary_search(first, 3U));
  EXPECT_EQ(dirtied_by(calls[1]), Pages{});
  const Pages third = dirtied_by(calls[2]);
  EXPECT_NE(std::ranges::binary_search(first, 9U), std::ranges::binary_search(third, 9U));
  const Pages all = pages_of(rows("cache_dirty"));
  EXPECT_EQ(std::ranges::adjacent_find(all), all.end()) << "a page became dirty twice";
  EXPECT_EQ(all.size(), first.size() + third.size());
}

TEST_F(KernelCache, cache_writeback_that_fsync_waits_for) {
  RECORD_EVENT("cache_writeback",
               [&] { return ::pwrite(fd_, "x", 1, 0) == 1 && ::fsync(fd_) == 0 ? 0 : 1; });
  if (const store::HookReport hook = recording_.hook_of("cache_writeback"); hook.tier == "T")
    GTEST_SKIP() << hook.hook << " does not see what fsync writes: " << hook.reason;
  const std::vector<Row> begun = rows("cache_writeback");
  ASSERT_EQ(begun.size(), 1U);
  EXPECT_EQ(begun[0].u("sync"), 1U);
  EXPECT_EQ(begun[0].u("reason"), static_cast<std::uint64_t>(IOT_writeback_reason_call));
  EXPECT_GT(begun[0].s("pages"), 0);
  ASSERT_EQ(rows("syscall_sync").size(), 1U);
  expect_under(begun, rows("syscall_sync")[0]);
}

TEST_F(KernelCache, cache_writeback_in_the_context_of_others) {
  RECORD_EVENT("cache_writeback", [&] {
    if (::pwrite(fd_, "x", 1, 0) != 1)
      return 1;
    return ::syncfs(fd_); // done by a thread of the kernel
  });
  const std::vector<Row> begun = rows("cache_writeback");
  ASSERT_FALSE(begun.empty());
  EXPECT_NE(begun[0].u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_EQ(begun[0].u("op_id"), 0U);
  EXPECT_GT(begun[0].s("pages"), 0);
  EXPECT_GT(begun[0].u("ts_ns"), before_ns_);
  EXPECT_LE(begun[0].u("sync"), 1U);
  for (const Row& row : begun)
    EXPECT_EQ(row.u("reason"), static_cast<std::uint64_t>(IOT_writeback_reason_SYNC));
}

} // namespace
} // namespace iotrail::live
