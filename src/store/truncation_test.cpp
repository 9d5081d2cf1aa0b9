// SPDX-License-Identifier: BSD-3-Clause
//
// Segments that become shorter while they are read.
#include <algorithm>
#include <random>

#include "store/reader/segment_index.hpp"
#include "store/test_support.hpp"

namespace iotrail::store::testing {
namespace {

constexpr std::size_t kCutBlockRows = 5;

std::filesystem::path trace_of_blocks(const TemporaryDirectory& directory, std::size_t blocks) {
  const auto trace = directory / "t.iotrail";
  std::mt19937_64 random(3);
  auto writer = create(trace, {.block_rows = kCutBlockRows});
  for (std::size_t i = 0; i < blocks * kCutBlockRows; ++i)
    writer->append(random_record(*schema::find_event("block_complete"), random).as_event());
  Manifest manifest;
  EXPECT_TRUE(writer->finish(manifest).has_value());
  return trace;
}

// A mapped file would end the reader by SIGBUS.
TEST(Truncation, a_segment_cut_after_it_was_opened_yields_what_is_whole) {
  const TemporaryDirectory directory;
  const auto trace = trace_of_blocks(directory, 3000);
  const auto segment = trace / "events-0001.seg";
  const auto reader = open(trace);
  const std::uint64_t size = std::filesystem::file_size(segment);
  ASSERT_GT(size, 100'000U);
  std::filesystem::resize_file(segment, size / 2);

  const std::size_t rows = readable_rows(*reader);
  EXPECT_GT(rows, 1000 * kCutBlockRows);
  EXPECT_EQ(rows + reader->damage().rows_skipped, 3000 * kCutBlockRows);
  EXPECT_GT(reader->damage().bytes_skipped, size / 2 - 4096);
  const auto last = reader->read(reader->blocks().back());
  ASSERT_FALSE(last.has_value());
  EXPECT_NE(last.error().why.find("has become shorter"), std::string::npos);
}

TEST(Truncation, a_segment_cut_while_it_is_indexed_yields_what_is_left) {
  const TemporaryDirectory directory;
  const auto trace = trace_of_blocks(directory, 100);
  const std::string whole = contents(trace / "events-0001.seg");
  const TraceId id = *trace_id_from_hex(open(trace)->manifest().trace_id);
  for (const std::size_t left : {std::size_t{0}, whole.size() / 2, whole.size() - 1}) {
    const ByteSpan bytes = std::as_bytes(std::span(whole)).first(left);
    const auto read = [&](std::uint64_t offset, std::span<std::byte> into) -> std::size_t {
      const ByteSpan found = bytes.subspan(std::min<std::size_t>(offset, left));
      return std::ranges::copy(found.first(std::min(found.size(), into.size())), into.begin()).in -
             found.begin();
    };
    const SegmentIndex cut = index_segment(read, whole.size(), id);
    const SegmentIndex expected = index_segment(bytes, id);
    EXPECT_EQ(cut.blocks.size(), expected.blocks.size()) << left;
    EXPECT_EQ(cut.bytes_skipped,
              expected.bytes_skipped + whole.size() - std::max(left, sizeof(SegmentHeader)))
        << left;
  }
}

} // namespace
} // namespace iotrail::store::testing
