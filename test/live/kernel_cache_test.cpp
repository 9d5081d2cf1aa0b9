// SPDX-License-Identifier: BSD-3-Clause
//
// Pages found in the cache, added to it and dirtied: one known operation of a child on a file of 16
// pages, every field of the records.
#include <algorithm>
#include <set>
#include <vector>

#include "kernel_cache_fixture.hpp"

namespace iotrail::live {
namespace {

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

// A read misses exactly if its own operation added the page.
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

TEST_F(KernelCache, cache_hit_for_cached_pages_of_a_read) {
  drop_pages();
  RECORD_EVENT("cache_hit", [&] {
    if (::posix_fadvise(fd_, 0, 0, POSIX_FADV_RANDOM) != 0)
      return 1;
    for (const off_t page : {3, 4, 9})
      if (::pread(fd_, buffer_, 1, page * static_cast<off_t>(kPageBytes)) != 1)
        return 1;
    return ::pread(fd_, buffer_, kFileBytes, 0) == kFileBytes ? 0 : 1;
  });
  const std::vector<Row> calls = rows("syscall_read");
  ASSERT_EQ(calls.size(), 4U);
  EXPECT_EQ(pages_of(recording_.rows("cache_hit", "op_id", calls[3].u("op_id"))), (Pages{3, 4, 9}));
  expect_each_page_once(calls[3], 0, kPages);
}

// A hit starts read-ahead of later pages. The same call reads some of them.
TEST_F(KernelCache, cache_hit_beside_read_ahead) {
  ASSERT_EQ(::ftruncate(fd_, 512 * kPageBytes), 0);
  ASSERT_EQ(::fsync(fd_), 0);
  drop_pages();
  constexpr std::size_t kStep = 5;
  std::vector<char> bytes(kStep * kPageBytes);
  RECORD_EVENT("cache_hit", [&] {
    for (std::size_t page = 0; page + kStep <= 512; page += kStep)
      if (::pread(fd_, bytes.data(), bytes.size(), static_cast<off_t>(page * kPageBytes)) !=
          static_cast<ssize_t>(bytes.size()))
        return 1;
    return 0;
  });
  const std::vector<Row> calls = rows("syscall_read");
  ASSERT_EQ(calls.size(), 512 / kStep);
  for (const Row& call : calls)
    expect_each_page_once(call, call.u("offset") / kPageBytes,
                          call.u("offset") / kPageBytes + kStep);
}

// A copy alternates reads and writes. Pages that its writes add are no look-ups. The source is in
// memory or not.
TEST_F(KernelCache, cache_hit_of_a_copy_within_a_file) {
  constexpr std::size_t kCopied = 64; // more than a pipe's capacity
  const std::vector<char> bytes(kCopied * kPageBytes, 'y');
  for (const bool is_there : {true, false}) {
    SCOPED_TRACE(is_there);
    ASSERT_EQ(::ftruncate(fd_, 0), 0);
    ASSERT_EQ(::pwrite(fd_, bytes.data(), bytes.size(), kCopied * kPageBytes),
              static_cast<ssize_t>(bytes.size()));
    ASSERT_EQ(::fsync(fd_), 0);
    if (!is_there)
      drop_pages();
    RECORD_EVENT("cache_hit", [&] {
      loff_t from = kCopied * kPageBytes;
      loff_t to = 0;
      while (to < static_cast<loff_t>(bytes.size()))
        if (::copy_file_range(fd_, &from, fd_, &to, bytes.size() - static_cast<std::size_t>(to),
                              0) <= 0)
          return 1;
      return 0;
    });
    const Pages hits = pages_of(rows("cache_hit"));
    const std::vector<Row> added = rows("cache_add");
    if (is_there) {
      EXPECT_EQ(hits, from_to(kCopied, 2 * kCopied));
      EXPECT_EQ(pages_of(added), from_to(0, kCopied)) << "by writes";
    } else {
      Pages each = hits;
      std::ranges::copy_if(pages_of(added), std::back_inserter(each),
                           [](std::uint64_t page) { return page >= kCopied; });
      std::ranges::sort(each);
      EXPECT_EQ(each, from_to(kCopied, 2 * kCopied));
      EXPECT_LT(hits.size(), kCopied);
    }
  }
}

TEST_F(KernelCache, cache_add_for_each_page_read_in) {
  drop_pages();
  RECORD_EVENT("cache_add",
               [&] { return ::pread(fd_, buffer_, kFileBytes, 0) == kFileBytes ? 0 : 1; });
  EXPECT_EQ(pages_of(rows("cache_add")), from_to(0, kPages));
  ASSERT_EQ(rows("syscall_read").size(), 1U);
  expect_under(rows("cache_add"), rows("syscall_read")[0]);
}

// A folio may be larger than a page: then the first write may have dirtied the second page too.
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

} // namespace
} // namespace iotrail::live
