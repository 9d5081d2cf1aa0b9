// SPDX-License-Identifier: BSD-3-Clause
//
// Files that become shorter while some of their pages are dirty.
#include <gtest/gtest.h>

#include "schema.hpp"
#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

TEST(replay_truncation, zeroes_of_a_truncation_have_no_writer) {
  TestFacts facts;
  facts.write(10, 1, 0, 8192).write_back(12, 0, 8192);
  facts.truncate(20, 2, 100, 5);
  facts.dirty(22, 2, 0, 4096).write_back(30, 0, 4096);
  facts.dirty(40, 2, 0, 4096); // after its end, the same number has no meaning
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails),
            (Lines{"write_back 1:8192 exact", "along 2:100 exact", "along 2:3996 exact"}));
  ASSERT_EQ(trails.fates.size(), 1U);
  EXPECT_EQ(trails.fates[0].written, 8192U + 4096U);
  EXPECT_EQ(trails.fates[0].mapped, 4096U);
}

// XFS has filled it with zeroes by then, ext4 has not.
TEST(replay_truncation, bytes_cut_off_a_page_in_write_back_may_be_zeroes) {
  TestFacts facts;
  facts.write(10, 1, 0, 8192).truncate(20, 2, 5000, 15).write_back(30, 0, 8192);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:5000 exact", "write_back 1:3192 inferred"}));
}

// Evictions show the pages of a path, except the rest of the last page.
TEST(replay_truncation, evictions_show_a_truncation_of_an_unresolved_path) {
  for (const bool has_evictions : {false, true})
    for (const std::uint64_t length : {0U, 100U}) {
      TestFacts facts;
      facts.has_evictions = has_evictions;
      facts.truncate(5, 9, length);
      facts.facts.back().file = 0;
      facts.write(10, 1, 0, 4096).write_back(20, 0, 4096);
      EXPECT_EQ(lines_of(facts.replay()),
                (Lines{has_evictions && length == 0 ? "write_back 1:4096 exact"
                                                    : "write_back 1:4096 inferred"}));
    }
}

TEST(replay_truncation, a_file_that_is_truncated_takes_its_dirty_bytes_with_it) {
  TestFacts facts;
  facts.write(10, 1, 0, 8192).truncate(20, 0, 4096).write_back(30, 0, 4096);
  const Trails trails = facts.replay();
  ASSERT_EQ(trails.fates.size(), 1U);
  EXPECT_EQ(trails.fates[0].written, 8192U);
  EXPECT_EQ(trails.fates[0].to_device, 4096U);
  EXPECT_EQ(trails.fates[0].dropped, 4096U);
}

TEST(replay_truncation, a_page_without_its_written_bytes_is_dirty_as_before) {
  TestFacts facts;
  facts.write(1, 1, 5600, 400).dirty(1, 1, 4096, 4096);
  facts.truncate(20, 0, 5000).write_back(30, 4096, 4096);
  EXPECT_EQ(lines_of(facts.replay()), Lines{"along 1:4096 exact"});
}

} // namespace
} // namespace iotrail::trail
