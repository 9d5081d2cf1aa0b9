// SPDX-License-Identifier: BSD-3-Clause
//
// Disks that programs write to through their device nodes.
#include <gtest/gtest.h>

#include "schema.hpp"
#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

constexpr std::uint32_t kCache = 9; // the kernel's internal file of device 1

struct NodeFacts : TestFacts {
  NodeFacts() {
    has_cache_events = true;
    disk_caches = {{kCache, 1}};
    nodes = {kTestFile};
  }
  NodeFacts& dirty_cache(std::uint64_t ts_ns, std::uint64_t op, std::uint64_t offset) {
    dirty(ts_ns, op, offset, 4096);
    facts.back().file = kCache;
    return *this;
  }
  // A bio without a file, for an fsync.
  NodeFacts& write_disk(std::uint64_t ts_ns, std::uint64_t offset, std::uint64_t bytes,
                        std::uint64_t flags = IOT_block_write) {
    bio(ts_ns, offset, bytes, 7, flags);
    for (Fact& fact : facts)
      if (fact.ts_ns == ts_ns && fact.kind == FactKind::queued) {
        fact.file = 0;
        fact.offset = kNoOffset;
        fact.is_contiguous = 0;
      }
    return *this;
  }
};

TEST(replay_node, writes_to_the_node_of_a_disk_are_written_back) {
  NodeFacts facts;
  facts.write(10, 1, 0, 4096);
  facts.dirty_cache(10, 1, 0);
  facts.write(20, 2, 0, 2048); // into a page that is dirty
  facts.write_disk(30, 0, 4096);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), (Lines{"write_back 2:2048 exact", "write_back 1:2048 exact"}));
  ASSERT_EQ(trails.fates.size(), 1U);
  EXPECT_EQ(trails.fates[0].file, kTestFile);
  EXPECT_EQ(trails.fates[0].written, 4096U + 2048U);
  EXPECT_EQ(trails.fates[0].to_device, 4096U);
  EXPECT_EQ(trails.fates[0].pending, 0U);
  EXPECT_EQ(trails.links[0].file, kTestFile);
}

// Without a journal, the file system keeps metadata in the pages of its disk, at a position that
// also exists in the file.
TEST(replay_node, metadata_that_a_write_of_a_file_makes_dirty_is_not_the_files) {
  NodeFacts facts;
  facts.nodes.clear();
  facts.write(10, 1, 0, 8192).dirty(10, 1, 0, 8192);
  facts.dirty_cache(11, 1, 4096);
  facts.write_back(30, 0, 8192);
  facts.write_disk(40, 4096, 4096);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"write_back 1:8192 exact", "metadata 7:4096 inferred"}));
}

TEST(replay_node, a_write_through_another_node_without_an_end_leaves_a_doubt) {
  NodeFacts facts;
  facts.nodes.insert(kTestFile + 1);
  facts.write(5, 2, 0, 4096);
  facts.facts.back().file = kTestFile + 1;
  facts.facts.back().result = static_cast<std::uint64_t>(std::int64_t{IOT_UNFINISHED});
  facts.write(10, 1, 0, 4096);
  facts.dirty_cache(10, 1, 0);
  facts.write_disk(30, 0, 4096);
  EXPECT_EQ(lines_of(facts.replay()), Lines{"write_back 1:4096 inferred"});
}

TEST(replay_node, pages_of_a_file_system_in_the_cache_of_its_disk_are_metadata) {
  NodeFacts facts;
  facts.write(10, 1, 0, 4096);
  facts.dirty_cache(10, 1, 0).dirty_cache(12, 5, 8192);
  facts.write_disk(30, 8192, 4096).write_disk(40, 0, 4096, IOT_block_write | IOT_block_hint_meta);
  EXPECT_EQ(lines_of(facts.replay()), (Lines{"metadata 7:4096 inferred", "metadata 7:4096 exact"}));
}

Lines read_into_cache_of_disk(NodeFacts facts, std::uint64_t flags) {
  facts.read(10, 1, 0, 4096, 9).bio(12, kNoOffset, 1024, 1, flags);
  for (Fact& fact : facts.facts)
    if (fact.kind == FactKind::queued)
      fact.io_class = IOT_io_class_device;
  return lines_of(facts.replay());
}

// Such as the extents of a file: the kernel does not mark them, and they are in no page of the
// file.
TEST(replay_node, a_read_of_a_file_reads_metadata_into_the_cache_of_the_disk) {
  NodeFacts facts;
  facts.nodes.clear();
  EXPECT_EQ(read_into_cache_of_disk(facts, IOT_block_read), Lines{"metadata 1:1024 exact"});
}

TEST(replay_node, a_read_of_a_node_reads_into_the_cache_of_the_disk) {
  EXPECT_EQ(read_into_cache_of_disk({}, IOT_block_read), Lines{"read 1:1024 exact"});
  EXPECT_EQ(read_into_cache_of_disk({}, IOT_block_read | IOT_block_hint_readahead),
            Lines{"read 1:1024 inferred"});
}

// As f2fs keeps its nodes, and most file systems their directories.
struct MetadataFacts : TestFacts {
  MetadataFacts() {
    has_cache_events = true;
    of_metadata = {kTestFile};
  }
};

TEST(replay_node, dirty_pages_of_a_metadata_file_are_metadata_of_the_task_that_made_them_dirty) {
  MetadataFacts facts;
  facts.dirty(10, 1, 4096, 4096);
  facts.write_back(30, 4096, 4096, 7);
  const Trails trails = facts.replay();
  EXPECT_EQ(lines_of(trails), Lines{"metadata 1:4096 shared"});
  EXPECT_TRUE(trails.fates.empty());
}

TEST(replay_node, pages_of_a_metadata_file_dirtied_outside_the_trace_have_no_owner) {
  MetadataFacts facts;
  facts.dirty(10, 0, 0, 4096, kTestPid + 1);
  facts.write_back(30, 0, 8192);
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"other_metadata 0:4096 shared", "other_metadata 0:4096 exact"}));
}

TEST(replay_node, a_read_of_a_metadata_file_belongs_to_the_operation_that_needs_it) {
  MetadataFacts facts;
  facts.bio(10, 0, 4096, 4, IOT_block_read | IOT_block_hint_readahead);
  facts.bio(20, 4096, 4096, 0, IOT_block_read);
  facts.facts[2].pid = kTestPid + 1;
  EXPECT_EQ(lines_of(facts.replay()),
            (Lines{"metadata 4:4096 exact", "other_metadata 0:4096 exact"}));
}

// A bio without a file and pages.
Link link_of_bio(TestFacts facts, std::uint64_t op, std::uint64_t flags, std::uint64_t io_class) {
  facts.bio(10, kNoOffset, 4096, op, flags);
  for (Fact& fact : facts.facts)
    if (fact.kind == FactKind::queued) {
      fact.file = 0;
      fact.io_class = io_class;
    }
  return facts.replay().links.at(0);
}

// As ext4lazyinit does, which initialises the tables of inodes.
TEST(replay_node, what_a_kernel_thread_does_for_itself_has_its_name) {
  TestFacts facts;
  EXPECT_EQ(link_of_bio(facts, 0, IOT_block_write_zeroes, IOT_io_class_no_data).cause,
            Cause::unknown);
  facts.kernel_threads = {kTestPid};
  const Link zeroes = link_of_bio(facts, 0, IOT_block_write_zeroes, IOT_io_class_no_data);
  EXPECT_EQ(zeroes.cause, Cause::kernel_thread);
  EXPECT_EQ(zeroes.confidence, Confidence::exact);
  EXPECT_EQ(zeroes.pid, kTestPid);
  const Link written = link_of_bio(facts, 0, IOT_block_write, IOT_io_class_other);
  EXPECT_EQ(written.cause, Cause::kernel_thread);
  EXPECT_EQ(written.confidence, Confidence::inferred);
  EXPECT_EQ(link_of_bio(facts, 0, IOT_block_write, IOT_io_class_direct).cause, Cause::unknown)
      << "memory of a program: the thread hands on what a call asked for";
}

// As of `dd oflag=direct of=/dev/sda` beside `record --device`, which has no calls on the node.
TEST(replay_node, memory_of_a_program_is_direct_io_without_its_call) {
  const Link link = link_of_bio({}, 4, IOT_block_write, IOT_io_class_direct);
  EXPECT_EQ(link.cause, Cause::direct);
  EXPECT_EQ(link.confidence, Confidence::exact);
}

} // namespace
} // namespace iotrail::trail
