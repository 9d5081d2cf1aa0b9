// SPDX-License-Identifier: BSD-3-Clause
//
// A file of 16 pages, clean and in memory, and a recording of a child at the layer cache.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "kernel_fixture.hpp"

namespace iotrail::live {

inline constexpr std::size_t kCachePageBytes = 4096;

using Pages = std::vector<std::uint64_t>;

// Each page in the events, as often as it occurs, sorted.
inline Pages pages_of(const std::vector<Row>& rows) {
  Pages pages;
  for (const Row& row : rows)
    for (std::uint64_t page = 0; page < row.u("pages"); ++page)
      pages.push_back(row.u("index") + page);
  std::ranges::sort(pages);
  return pages;
}

inline Pages from_to(std::uint64_t first, std::uint64_t end) {
  Pages pages(end - first);
  std::iota(pages.begin(), pages.end(), first);
  return pages;
}

class KernelCache : public KernelPagesTest<16> {
protected:
  void record(const std::function<int()>& body) {
    recording_ =
        Recording::among_others({.layers = {schema::Layer::syscall, schema::Layer::cache}}, body);
    if (!recording_.refusal().empty())
      return;
    check_child_and_account();
  }

  std::vector<Row> rows(const std::string& table) const {
    return recording_.rows_of_file(table, file_.native());
  }

  // Checks that all rows belong to `call` and lie within its time.
  void expect_under(const std::vector<Row>& inner, const Row& call) const {
    for (const Row& row : inner) {
      check_event(row);
      EXPECT_EQ(row.u("op_id"), call.u("op_id"));
      EXPECT_GE(row.u("ts_ns"), call.u("ts_ns"));
      EXPECT_LE(row.u("ts_ns"), call.u("ts_ns") + call.u("duration_ns"));
    }
  }

  // Each page that the call wanted either was in the cache or was added by the call, exactly once.
  void expect_each_page_once(const Row& call, std::uint64_t first, std::uint64_t end) const {
    const auto is_wanted = [&](std::uint64_t page) { return page >= first && page < end; };
    const auto pages_under = [&](const std::string& table) {
      std::vector<Row> under = recording_.rows(table, "op_id", call.u("op_id"));
      std::erase_if(under, [&](const Row& row) { return row.u("file") != call.u("file"); });
      return pages_of(under);
    };
    Pages found = pages_under("cache_hit");
    EXPECT_TRUE(std::ranges::all_of(found, is_wanted));
    std::ranges::copy_if(pages_under("cache_add"), std::back_inserter(found), is_wanted);
    std::ranges::sort(found);
    EXPECT_EQ(found, from_to(first, end));
  }

  char buffer_[kFileBytes] = {};
};

} // namespace iotrail::live
