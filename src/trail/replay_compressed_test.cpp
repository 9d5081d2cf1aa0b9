// SPDX-License-Identifier: BSD-3-Clause
//
// Bios with the compressed bytes of a range of a file.
#include <gtest/gtest.h>

#include <numeric>

#include "trail/test_facts.hpp"

namespace iotrail::trail {
namespace {

using Lines = std::vector<std::string>;

Lines compressed_lines(const Trails& trails) {
  Lines lines;
  for (const Link& link : trails.links)
    lines.push_back(fmt::format("{} {}: {} at {} for {} at {}{}", cause_name(link.cause),
                                link.op_id, link.bytes, link.begin, link.plain_bytes, link.offset,
                                link.completed_ns == 0 ? ", under way" : ""));
  return lines;
}

TestFacts& compress(TestFacts& facts, std::uint64_t ts_ns, std::uint64_t range_bytes,
                    std::uint64_t bytes) {
  facts.add({.kind = FactKind::queued,
             .ts_ns = ts_ns,
             .pid = 77, // a kernel thread
             .file = kTestFile,
             .offset = 0,
             .bytes = bytes,
             .device = 1,
             .flags = IOT_block_write,
             .is_contiguous = 0,
             .io_class = IOT_io_class_compressed,
             .range_bytes = range_bytes});
  return facts;
}

TEST(replay_compressed, each_writer_has_its_share) {
  TestFacts facts;
  facts.write(1, 1, 0, 12288).write(2, 2, 12288, 4096);
  compress(facts, 20, 16384, 4096).complete(21, 0, 4096, 0, IOT_block_write);
  const Trails trails = facts.replay();
  EXPECT_EQ(compressed_lines(trails), (Lines{"compressed 1: 3072 at 0 for 12288 at 0",
                                             "compressed 2: 1024 at 3072 for 4096 at 12288"}));
  ASSERT_EQ(trails.fates.size(), 1U);
  EXPECT_EQ(trails.fates[0].to_device, 16384U);
  EXPECT_EQ(trails.fates[0].pending, 0U);
}

TEST(replay_compressed, no_byte_is_missing_if_a_share_is_less_than_one) {
  TestFacts facts;
  facts.write(1, 1, 0, 65536).write(2, 2, 1000, 3).write(3, 3, 65536, 65536);
  compress(facts, 20, 131072, 4096).complete(21, 0, 4096, 0, IOT_block_write);
  const Trails trails = facts.replay();
  const auto sum = [&](std::uint64_t Link::* member) {
    return std::accumulate(
        trails.links.begin(), trails.links.end(), std::uint64_t{0},
        [&](std::uint64_t before, const Link& link) { return before + link.*member; });
  };
  EXPECT_EQ(sum(&Link::bytes), 4096U);
  EXPECT_EQ(sum(&Link::plain_bytes), 131072U);
}

TEST(replay_compressed, a_share_of_less_than_one_byte_beside_bytes_of_nobody) {
  TestFacts facts;
  facts.write(1, 1, 0, 10);
  compress(facts, 20, 131072, 4096).complete(21, 0, 4096, 0, IOT_block_write);
  const Trails trails = facts.replay();
  EXPECT_EQ(trails.links.front().cause, Cause::compressed);
  EXPECT_EQ(trails.links.front().bytes, 1U);
  EXPECT_EQ(trails.links.front().plain_bytes, 10U);
}

TEST(replay_compressed, a_bio_of_one_call_is_exact_and_of_several_is_shared) {
  TestFacts facts;
  facts.write(1, 1, 0, 131072);
  compress(facts, 20, 131072, 4096);
  EXPECT_EQ(facts.replay().links.at(0).confidence, Confidence::exact);
  facts.write(2, 2, 4096, 4096);
  EXPECT_EQ(facts.replay().links.at(1).confidence, Confidence::shared);
}

TEST(replay_compressed, a_request_may_complete_in_parts) {
  TestFacts facts;
  facts.write(1, 1, 0, 32768);
  compress(facts, 20, 32768, 8192).complete(21, 0, 2048, 0, IOT_block_write);
  EXPECT_EQ(compressed_lines(facts.replay()),
            (Lines{"compressed 1: 6144 at 0 for 24576 at 0, under way",
                   "compressed 1: 2048 at 0 for 8192 at 0"}));
}

TEST(replay_compressed, what_nobody_in_the_trace_wrote_remains) {
  TestFacts facts;
  facts.write(1, 1, 0, 4096);
  compress(facts, 20, 8192, 4096).complete(21, 0, 4096, 0, IOT_block_write);
  EXPECT_EQ(compressed_lines(facts.replay()),
            (Lines{"compressed 1: 2048 at 0 for 4096 at 0",
                   "dirty_before 0: 2048 at 2048 for 0 at 4096"}));
}

} // namespace
} // namespace iotrail::trail
