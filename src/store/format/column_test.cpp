// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/column.hpp"

#include <array>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace iotrail::store {
namespace {

std::vector<int> bytes_of(std::span<const NumbersView> columns, std::span<ColumnPlan> plans,
                          std::size_t column) {
  Packer packer;
  ByteWriter out;
  write_numbers(columns, plans, column, packer, out);
  std::vector<int> bytes;
  for (const std::byte byte : out.bytes())
    bytes.push_back(static_cast<int>(byte));
  return bytes;
}

TEST(Column, the_worked_one_of_the_header_has_these_bytes) {
  const std::vector<std::uint64_t> files{7, 7, 9, 7, 9, 9, 7, 7, 9, 7, 9, 9, 7, 7, 9, 9};
  std::vector<std::uint64_t> offsets{0, 1, 2, 2, 3, 4, 3, 4, 5, 5, 6, 7, 6, 7, 8, 9};
  for (std::uint64_t& offset : offsets)
    offset *= 4096;
  const std::array<NumbersView, 2> columns{files, offsets};
  ColumnPlans plans;
  for (int block = 0; block < 2; ++block) { // the second block keeps the plans
    const std::span<ColumnPlan> plan = plans.update(columns, files.size());
    EXPECT_EQ(plan[0].encoding, Encoding::table);
    EXPECT_EQ(plan[0].first_rows, (std::vector<std::uint32_t>{0, 2}));
    EXPECT_EQ(plan[1].encoding, Encoding::keyed);
    EXPECT_EQ(plan[1].reference, 0);
    EXPECT_EQ(bytes_of(columns, plan, 0),
              (std::vector<int>{0x02, 0x0e, 0x12, 0x00, 0x00, 0x01, 0x34, 0xcd}));
    EXPECT_EQ(bytes_of(columns, plan, 1),
              (std::vector<int>{0x00, 0x80, 0x80, 0x01, 0x0c, 0x00, 0x01, 0xfa, 0xff}));
  }
}

} // namespace
} // namespace iotrail::store
