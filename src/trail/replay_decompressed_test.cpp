// SPDX-License-Identifier: BSD-3-Clause
//
// Bios that read compressed bytes of a file.
#include <gtest/gtest.h>

#include "trail/test_facts.hpp"

namespace iotrail::trail {
namespace {

// "compressed 7: 1024 for 4096 at 0": cause, operation, bytes on the device, bytes and position in
// the file.
Lines decompressed_lines(const Trails& trails) {
  Lines lines;
  for (const Link& link : trails.links)
    lines.push_back(fmt::format(
        "{} {}: {} for {} at {}", cause_name(link.cause), link.op_id, link.bytes, link.plain_bytes,
        link.offset == kNoOffset ? -1 : static_cast<std::int64_t>(link.offset)));
  return lines;
}

// A bio of `bytes`. Without an offset, `range_bytes` is the unit of the file system.
TestFacts& decompress(TestFacts& facts, std::uint64_t ts_ns, std::uint64_t op, std::uint64_t offset,
                      std::uint64_t range_bytes, std::uint64_t bytes) {
  facts.add({.kind = FactKind::queued,
             .ts_ns = ts_ns,
             .op_id = op,
             .pid = kTestPid,
             .file = kTestFile,
             .offset = offset,
             .bytes = bytes,
             .device = 1,
             .sector = ts_ns * 1024,
             .flags = IOT_block_read,
             .io_class = IOT_io_class_compressed,
             .range_bytes = range_bytes});
  return facts.complete(ts_ns + 1, ts_ns * 1024 * kSectorBytes, bytes, op, IOT_block_read);
}

TEST(replay_decompressed, a_range_is_asked_for_and_read_ahead) {
  TestFacts facts;
  facts.read(1, 7, 0, 12288, 50).read(60, 8, 12288, 8192, 5);
  decompress(facts, 20, 7, 0, 32768, 8192);
  const Trails trails = facts.replay();
  EXPECT_EQ(decompressed_lines(trails),
            (Lines{"compressed 7: 3072 for 12288 at 0", "read_ahead 7: 5120 for 20480 at 12288"}));
  EXPECT_EQ(trails.links[1].used_bytes, 8192U);
  EXPECT_EQ(trails.links[0].confidence, Confidence::exact);
}

TEST(replay_decompressed, without_a_range_it_is_the_next_unit_of_pages_that_were_added) {
  TestFacts facts;
  facts.read(1, 7, 0, 65536, 50).page(2, 7, 0, 32768).page(3, 7, 32768, 28672);
  decompress(facts, 20, 7, kNoOffset, 32768, 4096);
  decompress(facts, 22, 7, kNoOffset, 32768, 2048);
  EXPECT_EQ(decompressed_lines(facts.replay()),
            (Lines{"compressed 7: 4096 for 32768 at 0", "compressed 7: 2048 for 28672 at 32768"}));
}

TEST(replay_decompressed, without_a_unit_it_is_all_pages_that_were_added) {
  TestFacts facts;
  facts.read(1, 7, 0, 4096, 50).page(2, 7, 0, 4096).page(3, 7, 8192, 4096);
  decompress(facts, 20, 7, kNoOffset, 0, 4096);
  EXPECT_EQ(decompressed_lines(facts.replay()),
            (Lines{"compressed 7: 2048 for 4096 at 0", "read_ahead 7: 2048 for 4096 at 8192"}));
}

TEST(replay_decompressed, a_unit_with_the_ends_of_other_files_has_a_rest) {
  TestFacts facts;
  facts.read(1, 7, 0, 100, 50).page(2, 7, 0, 4096);
  decompress(facts, 20, 7, kNoOffset, 131072, 10240);
  EXPECT_EQ(decompressed_lines(facts.replay()),
            (Lines{"compressed 7: 100 for 100 at 0", "rounding 7: 3996 for 3996 at 100",
                   "rounding 7: 6144 for 0 at -1"}));
}

TEST(replay_decompressed, a_unit_without_pages_is_metadata) {
  TestFacts facts;
  facts.read(1, 7, 0, 100, 50);
  decompress(facts, 20, 7, kNoOffset, 131072, 4096);
  EXPECT_EQ(decompressed_lines(facts.replay()), (Lines{"metadata 7: 4096 for 0 at -1"}));
}

TEST(replay_decompressed, pages_of_a_fault_name_the_file) {
  TestFacts facts;
  facts.page(2, 0, 0, 8192);
  decompress(facts, 20, 0, kNoOffset, 131072, 4096);
  facts.facts[1].file = 0;
  const Trails trails = facts.replay();
  EXPECT_EQ(decompressed_lines(trails), (Lines{"mapped_read 0: 4096 for 8192 at 0"}));
  EXPECT_EQ(trails.links[0].file, kTestFile);
}

TEST(replay_decompressed, the_last_pages_of_any_file_are_taken_at_once) {
  TestFacts facts;
  facts.read(1, 7, 0, kFarthest, 50).page(2, 7, kFarthest - kPageBytes, kFarthest);
  decompress(facts, 20, 7, kNoOffset, UINT64_MAX, 4096);
  decompress(facts, 22, 7, kFarthest - 1, UINT64_MAX, 4096);
  const Trails trails = facts.replay();
  std::uint64_t bytes = 0;
  for (const Link& link : trails.links)
    bytes += link.bytes;
  EXPECT_EQ(bytes, 8192U);
}

} // namespace
} // namespace iotrail::trail
