// SPDX-License-Identifier: BSD-3-Clause
#include "capture/vm/qcow2.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstring>
#include <random>
#include <string>

#include "capture/vm/test_image.hpp"

namespace iotrail::capture::vm {
namespace {

constexpr std::uint64_t kCluster = TestImage::kCluster;
constexpr auto kData = static_cast<iot_u32>(IOT_vm_content_data);

ImageMap map_of(const TestImage& image, MapBudget budget = {}) {
  const auto header = read_qcow2_header(image.reader());
  return header ? read_qcow2_map(image.reader(), image.bytes.size(), *header, budget)
                : ImageMap{.ranges = {}, .is_complete = false};
}

std::vector<ImageRange> data_of(const ImageMap& map) {
  std::vector<ImageRange> data;
  std::ranges::copy_if(map.ranges, std::back_inserter(data), [](const ImageRange& range) {
    return range.content == kData || range.content == IOT_vm_content_compressed;
  });
  return data;
}

TEST(qcow2, the_header) {
  TestImage image;
  image.set_backing("base.img", "raw");
  const auto header = read_qcow2_header(image.reader());
  ASSERT_TRUE(header);
  EXPECT_EQ(header->guest_bytes, TestImage::kGuestBytes);
  EXPECT_EQ(header->cluster_bytes(), kCluster);
  EXPECT_EQ(header->l1_entries, 2U);
  EXPECT_EQ(header->backing, "base.img");
  EXPECT_EQ(header->backing_format, "raw");
}

TEST(qcow2, data_metadata_and_nothing_else) {
  TestImage image;
  image.map(7, 10);
  image.map(8, 11); // continues in the file and in the guest
  image.map(9, 13); // only in the guest
  image.map(2, 14); // only in the file
  const ImageMap map = map_of(image);
  EXPECT_TRUE(map.is_complete);
  EXPECT_EQ(data_of(map),
            (std::vector<ImageRange>{{10 * kCluster, 2 * kCluster, 7 * kCluster, kData},
                                     {13 * kCluster, kCluster, 9 * kCluster, kData},
                                     {14 * kCluster, kCluster, 2 * kCluster, kData}}));
  const std::vector<ImageRange> expected = {
      {0, kCluster, 0, IOT_vm_content_header},
      {TestImage::kRefcountTable * kCluster, 2 * kCluster, 0, IOT_vm_content_refcounts},
      {TestImage::kL1 * kCluster, 16, 0, IOT_vm_content_l1_table},
      {TestImage::kL2 * kCluster, kCluster, 0, IOT_vm_content_l2_table}};
  for (const ImageRange& range : expected)
    EXPECT_NE(std::ranges::find(map.ranges, range), map.ranges.end()) << range.content;
  EXPECT_EQ(map.ranges.size(), expected.size() + 3);
}

TEST(qcow2, clusters_of_zeros_and_flags) {
  TestImage image;
  image.set_entry(3, 1);                               // zeros without a place
  image.set_entry(4, (12 * kCluster) | 1);             // zeros with a place
  image.set_entry(5, (13 * kCluster) | (1ULL << 63U)); // used once
  EXPECT_EQ(data_of(map_of(image)),
            (std::vector<ImageRange>{{12 * kCluster, 2 * kCluster, 4 * kCluster, kData}}));
}

TEST(qcow2, compressed_clusters_that_share_a_sector) {
  TestImage image;
  image.set_compressed(3, 12 * kCluster + 100, 2);  // up to the end of its second sector
  image.set_compressed(9, 12 * kCluster + 1000, 2); // begins in that sector, and ends behind
  EXPECT_EQ(
      data_of(map_of(image)),
      (std::vector<ImageRange>{{12 * kCluster + 100, 924, 3 * kCluster, IOT_vm_content_compressed},
                               {13 * kCluster, 512, 9 * kCluster, IOT_vm_content_compressed}}));
}

TEST(qcow2, long_entries) {
  TestImage image;
  image.set_features(1U << 4U);
  image.put<std::uint32_t>(36, 3); // each L2 table has half as many
  image.set_long_entry(3, 12 * kCluster);
  EXPECT_EQ(data_of(map_of(image)),
            (std::vector<ImageRange>{{12 * kCluster, kCluster, 3 * kCluster, kData}}));
}

TEST(qcow2, data_in_another_file) {
  TestImage image;
  image.set_features(1U << 2U);
  image.map(3, 12);
  EXPECT_TRUE(data_of(map_of(image)).empty());
}

TEST(qcow2, places_that_cannot_be) {
  TestImage image;
  image.set_entry(1, image.bytes.size());                  // behind the end
  image.set_entry(2, 0x00ffffffffffff00ULL);               // far behind
  image.set_entry(3, 12 * kCluster + 512);                 // not aligned
  image.set_entry(TestImage::kEntries - 1, 12 * kCluster); // the last one is fine
  image.set_l1(1, 12 * kCluster + 512);
  EXPECT_EQ(data_of(map_of(image)),
            (std::vector<ImageRange>{
                {12 * kCluster, kCluster, (TestImage::kEntries - 1) * kCluster, kData}}));
}

TEST(qcow2, data_behind_the_guests_disk) {
  TestImage image;
  image.set_l1(1, TestImage::kL2 * kCluster); // the same table: its first half is in the disk
  image.map(0, 12);
  image.map(TestImage::kEntries - 1, 13);
  const auto data = data_of(map_of(image));
  ASSERT_EQ(data.size(), 2U);
  EXPECT_EQ(data[0].guest_position, 0U) << "a place counts once";
}

TEST(qcow2, headers_that_are_wrong) {
  const auto refused = [](auto change) {
    TestImage image;
    change(image);
    return !read_qcow2_header(image.reader());
  };
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(0, 7); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(4, 4); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(20, 8); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(20, 22); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(20, 0xffffffff); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint64_t>(24, ~0ULL); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint64_t>(24, 1ULL << 62U); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(36, 1); }))
      << "an L1 table too short";
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint64_t>(40, 3 * kCluster + 8); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.put<std::uint32_t>(56, 0x10000); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.bytes.resize(71); }));
  EXPECT_TRUE(refused([](TestImage& i) { i.bytes.clear(); }));
  EXPECT_FALSE(refused([](TestImage&) {}));
}

TEST(qcow2, truncated_tables_are_not_complete) {
  TestImage image;
  image.map(3, 12);
  image.bytes.resize(TestImage::kL2 * kCluster + 512);
  const ImageMap map = map_of(image);
  EXPECT_FALSE(map.is_complete);
  EXPECT_TRUE(data_of(map).empty());
}

TEST(qcow2, the_budget_ends_the_work) {
  TestImage image;
  for (std::uint64_t guest = 0; guest < 8; ++guest)
    image.map(2 * guest, 10 + guest); // a range each
  const ImageMap map = map_of(image, {.table_bytes = 1U << 20U, .ranges = 6});
  EXPECT_FALSE(map.is_complete);
  EXPECT_EQ(map.ranges.size(), 6U);
  EXPECT_FALSE(map_of(image, {.table_bytes = 100, .ranges = 100}).is_complete);
}

// All L1 entries name the same L2 table: it is read again for each, within the budget.
TEST(qcow2, a_loop_of_tables_ends) {
  TestImage image;
  image.put<std::uint64_t>(24, 1ULL << 39U);
  image.put<std::uint32_t>(36, 4U << 20U);
  image.bytes.resize(image.bytes.size() + (32U << 20U));
  const std::uint64_t l1 = TestImage::kClusters * kCluster;
  image.put<std::uint64_t>(40, l1);
  for (std::uint64_t i = 0; i < (4U << 20U); ++i)
    image.put<std::uint64_t>(l1 + 8 * i, TestImage::kL2 * kCluster);
  image.map(3, 12);
  const ImageMap map = map_of(image, {.table_bytes = 64U << 20U, .ranges = 1000});
  EXPECT_FALSE(map.is_complete);
  EXPECT_LE(map.ranges.size(), 1000U);
}

// Forged images: any number at any place. The result is sorted, has no overlaps, and lies in the file.
TEST(qcow2, random_damage) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 20000; ++round) {
    TestImage image;
    for (std::uint64_t guest = 0; guest < 20; ++guest)
      image.map(guest * 3, 10 + guest % 6);
    const int changes = 1 + static_cast<int>(random() % 4);
    for (int change = 0; change < changes; ++change) {
      const std::uint64_t at =
          random() % 2 == 0 ? random() % 112 : random() % (image.bytes.size() - 8);
      image.put<std::uint64_t>(at, random() >> (random() % 64));
    }
    if (random() % 8 == 0)
      image.bytes.resize(random() % image.bytes.size());
    const ImageMap map = map_of(image, {.table_bytes = 1U << 16U, .ranges = 64});
    ASSERT_LE(map.ranges.size(), 64U);
    std::uint64_t end = 0;
    for (const ImageRange& range : map.ranges) {
      ASSERT_GE(range.position, end);
      ASSERT_GT(range.bytes, 0U);
      end = range.position + range.bytes;
      ASSERT_LE(end, image.bytes.size() + (1U << 21U));
    }
  }
}

} // namespace
} // namespace iotrail::capture::vm
