// SPDX-License-Identifier: BSD-3-Clause
#include "trail/state/range_map.hpp"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace iotrail::trail {
namespace {

constexpr int kPlaces = 64;
using Bytes = std::array<int, kPlaces>; // 0: nothing lies there

Bytes bytes_of(const RangeMap<int>& map) {
  Bytes model{};
  map.visit(0, kPlaces, [&](std::uint64_t begin, std::uint64_t end, int value) {
    for (std::uint64_t place = begin; place < end; ++place)
      model[place] = value;
  });
  return model;
}

TEST(range_map, it_equals_an_array_of_bytes) {
  std::mt19937 random(3); // NOLINT: the same each time
  for (int round = 0; round < 300; ++round) {
    RangeMap<int> map;
    Bytes model{};
    for (int step = 0; step < 60; ++step) {
      std::uint64_t begin = random() % kPlaces;
      std::uint64_t end = random() % (kPlaces + 1);
      if (begin > end)
        std::swap(begin, end);
      const int value = 1 + static_cast<int>(random() % 3);
      Bytes taken{};
      Bytes expected{};
      switch (random() % 3) {
      case 0:
        map.take(begin, end, [&](std::uint64_t from, std::uint64_t to, int found) {
          for (std::uint64_t place = from; place < to; ++place)
            taken[place] = found;
        });
        for (std::uint64_t place = begin; place < end; ++place)
          expected[place] = std::exchange(model[place], 0);
        ASSERT_EQ(taken, expected);
        map.put(begin, end, value);
        for (std::uint64_t place = begin; place < end; ++place)
          model[place] = value;
        break;
      case 1:
        map.fill(begin, end, value);
        for (std::uint64_t place = begin; place < end; ++place)
          model[place] = model[place] ? model[place] : value;
        break;
      default:
        map.visit_gaps(begin, end, [&](std::uint64_t from, std::uint64_t to) {
          for (std::uint64_t place = from; place < to; ++place)
            taken[place] = 1;
        });
        for (std::uint64_t place = begin; place < end; ++place)
          expected[place] = model[place] ? 0 : 1;
        ASSERT_EQ(taken, expected);
      }
      ASSERT_EQ(bytes_of(map), model);
    }
  }
}

TEST(range_map, ranges_with_one_value_that_follow_each_other_are_one) {
  RangeMap<int> map;
  for (std::uint64_t place = 0; place < 1000; ++place)
    map.put(place, place + 1, 7);
  EXPECT_EQ(map.size(), 1U);
}

} // namespace
} // namespace iotrail::trail
