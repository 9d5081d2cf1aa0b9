// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "export/model/fio_mix.hpp"

namespace iotrail::output {
namespace {

TEST(fio, a_path_becomes_the_name_of_one_file_and_back) {
  EXPECT_EQ(fio_name("/tmp/db/shop.db"), "tmp%2Fdb%2Fshop.db");
  EXPECT_EQ(fio_name("/a:b c%"), "a%3Ab%20c%25");
  EXPECT_EQ(fio_name("/.."), "%2E.");
  EXPECT_EQ(fio_name("\xff\n"), "%FF%0A");
}

TEST(fio, long_paths_keep_names_of_their_own) {
  const std::string long_path(5000, 'x');
  EXPECT_LT(fio_name(long_path).size(), 256U);
  EXPECT_NE(fio_name(long_path), fio_name(long_path + "y"));
}

TEST(fio, shares_are_whole_percents_with_the_sum_100) {
  EXPECT_EQ(percentages({1, 1, 1}), (std::vector<unsigned>{34, 33, 33}));
  EXPECT_EQ(percentages({0, 0}), (std::vector<unsigned>{0, 0}));
  const std::vector<unsigned> shares = percentages({UINT64_MAX, UINT64_MAX, 1});
  EXPECT_EQ(std::accumulate(shares.begin(), shares.end(), 0U), 100U);
}

TEST(fio, a_mix_keeps_to_the_number_of_sizes_that_fio_takes) {
  FioMix mix(false, 1U << 20U);
  for (std::uint64_t i = 1; i <= 1000; ++i)
    mix.add({.kind = FioKind::write,
             .at_us = i,
             .until_us = i,
             .tid = 1,
             .file = "f",
             .position = i * 1000 % (1U << 20U),
             .bytes = i});
  const std::string job = mix.job("f");
  const std::size_t at = job.find("bssplit=");
  const std::string sizes = job.substr(at, job.find('\n', at) - at);
  EXPECT_LE(std::ranges::count(sizes, ':'), 63);
  EXPECT_TRUE(job.contains("number_ios=1000\n")) << job;
}

} // namespace
} // namespace iotrail::output
