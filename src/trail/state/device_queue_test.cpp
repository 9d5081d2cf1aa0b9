// SPDX-License-Identifier: BSD-3-Clause
#include "trail/state/device_queue.hpp"

#include <gtest/gtest.h>

namespace iotrail::trail {
namespace {

std::vector<std::size_t> links_of(const std::vector<QueuedPart>& parts) {
  std::vector<std::size_t> links;
  for (const QueuedPart& part : parts)
    links.push_back(part.link);
  return links;
}

TEST(device_queue, a_request_of_several_bios_completes_each) {
  DeviceQueue queue;
  queue.queue({{8192, 4096, 2}});
  queue.queue({{0, 4096, 0}});
  queue.queue({{4096, 4096, 1}});
  EXPECT_EQ(links_of(queue.complete(0, 12288)), (std::vector<std::size_t>{0, 1, 2}));
  EXPECT_TRUE(queue.complete(0, 12288).empty());
}

TEST(device_queue, bios_for_the_same_place_are_marked_ambiguous) {
  DeviceQueue queue;
  queue.queue({{0, 8192, 0}});
  queue.queue({{4096, 8192, 1}});
  const auto first = queue.complete(0, 8192);
  ASSERT_EQ(links_of(first), std::vector<std::size_t>{0});
  EXPECT_TRUE(first[0].is_ambiguous);
  const auto rest = queue.complete(8192, 12288);
  ASSERT_EQ(links_of(rest), std::vector<std::size_t>{1});
  EXPECT_FALSE(rest[0].is_ambiguous);
}

TEST(device_queue, a_bio_that_was_split_is_completed_in_parts) {
  DeviceQueue queue;
  queue.queue({{0, 3000, 0}, {3000, 5192, 1}});
  const auto middle = queue.complete(2048, 4096);
  ASSERT_EQ(links_of(middle), (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(middle[0].bytes, 952U);
  EXPECT_EQ(middle[1].bytes, 1096U);
  EXPECT_EQ(links_of(queue.complete(4096, 8192)), (std::vector<std::size_t>{1}));
  const auto front = queue.complete(0, 8192);
  ASSERT_EQ(links_of(front), (std::vector<std::size_t>{0}));
  EXPECT_EQ(front[0].bytes, 2048U);
}

TEST(device_queue, of_two_bios_for_one_place_the_first_completes_first) {
  DeviceQueue queue;
  queue.queue({{4096, 4096, 5}});
  queue.queue({{4096, 4096, 6}});
  EXPECT_EQ(links_of(queue.complete(4096, 8192)), (std::vector<std::size_t>{5}));
  EXPECT_EQ(links_of(queue.complete(4096, 8192)), (std::vector<std::size_t>{6}));
}

TEST(device_queue, of_bios_for_one_place_those_of_the_request_s_time_are_meant) {
  DeviceQueue queue;
  queue.queue({{.begin = 4096, .bytes = 4096, .link = 5, .queued_ns = 100}}); // never completes
  queue.queue({{.begin = 4096, .bytes = 8192, .link = 6, .queued_ns = 200}});
  queue.queue({{.begin = 4096, .bytes = 4096, .link = 7, .queued_ns = 300}});
  const auto second = queue.complete(4096, 8192, {.first_ns = 200, .last_ns = 250});
  ASSERT_EQ(links_of(second), std::vector<std::size_t>{6});
  EXPECT_FALSE(second[0].is_ambiguous);
  EXPECT_EQ(links_of(queue.complete(4096, 8192, {.first_ns = 260, .last_ns = 310})),
            std::vector<std::size_t>{7});
  EXPECT_EQ(links_of(queue.complete(0, 16384, {.first_ns = 400, .last_ns = 410})),
            (std::vector<std::size_t>{5, 6}))
      << "nothing else is there";
}

TEST(device_queue, bios_outside_the_time_of_the_request_fill_the_gaps) {
  DeviceQueue queue;
  queue.queue({{.begin = 0, .bytes = 12288, .link = 1, .queued_ns = 100}});
  queue.queue({{.begin = 4096, .bytes = 4096, .link = 2, .queued_ns = 200}});
  const auto parts = queue.complete(0, 12288, {.first_ns = 150, .last_ns = 250});
  EXPECT_EQ(links_of(parts), (std::vector<std::size_t>{1, 2, 1}));
  EXPECT_EQ(links_of(queue.complete(4096, 8192)), std::vector<std::size_t>{1}) << "under the other";
}

TEST(device_queue, too_many_bios_are_forgotten_and_the_rest_still_found) {
  DeviceQueue queue;
  for (std::size_t i = 0; i < DeviceQueue::kMostBios + 10; ++i)
    queue.queue({{i * 4096, 4096, i}});
  EXPECT_TRUE(queue.complete(0, 4096).empty());
  EXPECT_EQ(queue.complete(100 * 4096, 101 * 4096).size(), 1U);
}

} // namespace
} // namespace iotrail::trail
