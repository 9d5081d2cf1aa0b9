// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/pictures.hpp"

#include <gtest/gtest.h>

namespace iotrail::output {

TEST(Pictures, wider_bins_keep_the_sums_of_each_place) {
  Picture picture{.view = "file_places",
                  .keys = {"path"},
                  .columns = {"bin", "place", "bytes"},
                  .coordinates = 2,
                  .bin_ns = 10,
                  .series = {{{"/a"}, {0, 3, 5, 1, 2, 7, 1, 3, 100, 2, 3, 1}}}};
  halve_bins(picture);
  EXPECT_EQ(picture.bin_ns, 20u);
  EXPECT_EQ(picture.series[0].numbers, (std::vector<std::uint64_t>{0, 2, 7, 0, 3, 105, 1, 3, 1}));
}

TEST(Pictures, series_with_the_smallest_sums_are_dropped_first) {
  Picture picture{.view = "file_bins",
                  .keys = {"path"},
                  .columns = {"bin", "total_ns"},
                  .series = {{{"/a"}, {0, 5, 1, 5}}, {{"/b"}, {0, 30}}, {{"/c"}, {9, 1}}}};
  drop_smallest(picture);
  ASSERT_EQ(picture.series.size(), 1u);
  EXPECT_EQ(text_of(picture.series[0].key[0]), "/b");
  EXPECT_EQ(picture.dropped_series, 2u);
}

} // namespace iotrail::output
