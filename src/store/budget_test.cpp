// SPDX-License-Identifier: BSD-3-Clause
//
// What a forged trace stands for is bounded by its size.
#include <array>

#include <gtest/gtest.h>

#include "store/format/block.hpp"
#include "store/test_support.hpp"

namespace iotrail::store::testing {
namespace {

// Some hundred kilobytes of equal texts once took gigabytes in each reader that keeps names.
TEST(Budget, texts_that_need_much_more_memory_than_the_trace_has_bytes) {
  const TemporaryDirectory directory;
  const auto trace = directory / "t.iotrail";
  {
    auto writer = create(trace);
    const std::string text(60'000, 'a');
    for (iot_u32 pid = 1; pid <= 4000; ++pid)
      writer->add(rows::processes{.pid = pid, .comm = text});
    Manifest manifest;
    ASSERT_TRUE(writer->finish(manifest).has_value());
    ASSERT_LT(manifest.events_bytes, 1U << 20U);
  }
  const auto reader = open(trace);
  std::uint64_t bytes = 0;
  for (int turn = 0; turn < 2; ++turn) // what was read once can be read again
    for (const BlockInfo& block : reader->blocks())
      if (const auto columns = reader->read(block))
        for (const Column& column : *columns)
          if (const auto* texts = std::get_if<Texts>(&column))
            for (const std::string& text : *texts)
              bytes += text.size();
  EXPECT_GT(bytes, 2U * (40U << 20U));
  EXPECT_LT(bytes, 2U * (60U << 20U));
  ASSERT_EQ(reader->limits().size(), 1U);
  EXPECT_FALSE(reader->damage().any());
}

// A block of constant columns has some hundred bytes for 16,384 rows.
TEST(Budget, more_rows_than_a_recorder_stores_in_so_many_bytes) {
  constexpr std::uint64_t kRows = 1'300'000;
  const TemporaryDirectory directory;
  const auto trace = directory / "t.iotrail";
  std::uint64_t bytes = 0;
  {
    auto writer = create(trace);
    iot_syscall_read read{};
    read.event.kind = IOT_KIND_syscall_read;
    read.event.ts_ns = 1;
    for (std::uint64_t row = 0; row < kRows; ++row)
      writer->append(read.event);
    Manifest manifest;
    ASSERT_TRUE(writer->finish(manifest).has_value());
    bytes = manifest.events_bytes;
  }
  ASSERT_LT(bytes, kRows / 10);
  const auto reader = open(trace);
  std::uint64_t rows = 0;
  for (const BlockInfo& block : reader->blocks())
    rows += block.rows;
  EXPECT_LE(rows, (1U << 20U) + bytes);
  EXPECT_GT(rows, (1U << 20U) - kBlockRowsMax);
  ASSERT_EQ(reader->limits().size(), 1U);
  EXPECT_NE(reader->limits()[0].find(fmt::format("{} more", kRows - rows)), std::string::npos);
  EXPECT_FALSE(reader->damage().any());
}

TEST(Budget, a_column_of_numbers_with_more_bytes_than_rows) {
  ByteWriter payload;
  const auto add = [&](std::size_t bytes) {
    payload.clear();
    payload.write(std::uint8_t{0}); // constant
    payload.varint(bytes);
    payload.append(std::string(bytes, '\0'));
    BlockHeader header;
    header.columns = 1;
    header.rows = 1;
    return decode_block(header, payload.bytes(), std::array{0}, std::array{schema::Type::u64});
  };
  EXPECT_TRUE(add(1).has_value());
  EXPECT_FALSE(add(1U << 20U).has_value());
}

} // namespace
} // namespace iotrail::store::testing
