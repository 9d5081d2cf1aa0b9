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
  EXPECT_EQ(count_numbers(picture), 9u);
}

} // namespace iotrail::output
