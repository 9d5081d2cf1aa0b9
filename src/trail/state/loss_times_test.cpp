// SPDX-License-Identifier: BSD-3-Clause
//
// Each sign of missing events in a trace lowers the confidence of its links.
#include <gtest/gtest.h>

#include <string>

#include "test_trace.hpp"
#include "trail/fact_stream.hpp"
#include "trail/trails.hpp"

namespace iotrail::trail {
namespace {

// A write with its write-back, long after every loss below.
constexpr const char* kWriteBack =
    "syscall_read ts_ns=100 op_id=9 pid=5 file=/b offset=0\n"
    "syscall_write ts_ns=1000 duration_ns=10 op_id=1 pid=5 file=/a offset=0 bytes_requested=4096 "
    "result=4096\n"
    "cache_dirty ts_ns=1005 op_id=1 pid=5 file=/a index=0 pages=1\n"
    "block_queue ts_ns=2000 pid=9 file=/a offset=0 bytes=4096 device=8:0 sector=8 flags=write "
    "is_contiguous=1\n"
    "block_complete ts_ns=2001 duration_ns=9 bytes=4096 device=8:0 sector=8 flags=write\n";

std::string losses(const std::string& what) {
  return "losses from_ns=500 to_ns=600 source=kernel events=1 " + what + "\n";
}

// The confidence of the one link.
std::string_view confidence_with(const std::string& statements) {
  const golden::TestTrace trace(kWriteBack + statements);
  const auto reader = store::TraceReader::open(trace.path());
  EXPECT_TRUE(reader);
  const Trails trails = find_trails(**reader);
  EXPECT_EQ(trails.links.size(), 1U);
  EXPECT_EQ(cause_name(trails.links.at(0).cause), "write_back");
  return confidence_name(trails.links.at(0).confidence);
}

TEST(loss_times, where_nothing_is_missing_a_write_back_is_exact) {
  EXPECT_EQ(confidence_with(""), "exact");
}

TEST(loss_times, the_effect_of_a_loss_depends_on_its_layer) {
  for (const char* layer : {"syscall", "async", "cache", "block"})
    EXPECT_EQ(confidence_with(losses(std::string("counter=kernel_ring_full layer=") + layer)),
              "inferred")
        << layer;
  for (const char* layer : {"app", "vfs", "fs", "device", "fault", "memory", "net", "sched"})
    EXPECT_EQ(confidence_with(losses(std::string("counter=kernel_ring_full layer=") + layer)),
              "exact")
        << layer; // calls are read from the system calls here
  EXPECT_EQ(confidence_with(losses("counter=kernel_ring_contended")), "inferred") << "of any layer";
  EXPECT_EQ(confidence_with(
                "losses from_ns=3000 to_ns=4000 source=kernel events=1 counter=kernel_ring_full "
                "layer=syscall\n"),
            "exact")
      << "after it";
}

TEST(loss_times, counters_that_are_no_losses_may_hide_a_writer) {
  for (const char* counter :
       {"kernel_file_unknown", "kernel_file_forgotten", "kernel_bio_untracked", "kernel_recursion",
        "kernel_span_unfinished", "kernel_task_untracked"})
    EXPECT_EQ(confidence_with(losses(std::string("counter=") + counter)), "inferred") << counter;
  for (const char* counter : {"preload_ring_full", "kernel_text_full", "kernel_journal_unknown",
                              "kernel_completion_missed", "snapshot_missed"})
    EXPECT_EQ(confidence_with(losses(std::string("counter=") + counter)), "exact") << counter;
}

TEST(loss_times, a_call_may_have_been_skipped_long_before_it_is_counted) {
  EXPECT_EQ(confidence_with(
                "losses from_ns=3000 to_ns=4000 source=kernel events=1 counter=kernel_recursion\n"),
            "inferred");
}

TEST(loss_times, rows_that_the_store_could_not_write_are_in_the_counters_alone) {
  EXPECT_EQ(confidence_with("counter store_write_failed=1\n"), "inferred");
}

TEST(loss_times, a_recording_that_did_not_end_may_lack_a_writer) {
  EXPECT_EQ(confidence_with("incomplete\n"), "inferred");
}

TEST(loss_times, calls_that_were_left_out_may_be_the_writer) {
  EXPECT_EQ(confidence_with("manifest sample_of=4\n"), "inferred");
  EXPECT_EQ(confidence_with(R"(manifest request={"filter":{"include":{"operations":["read"]}}})"
                            "\n"),
            "inferred");
  EXPECT_EQ(confidence_with(R"(manifest request={"filter":{"include":{"names":["cp"]}}})"
                            "\n"),
            "exact");
  EXPECT_EQ(confidence_with("manifest filters=--comm\n"), "inferred"); // an older trace
  EXPECT_EQ(confidence_with("source name=kernel produced=5 written=5 left_out=7\n"), "inferred");
  EXPECT_EQ(confidence_with("source name=kernel produced=5 written=5\n"), "exact");
}

TEST(loss_times, damage_is_found_while_the_trace_is_read) {
  EXPECT_EQ(
      confidence_with(
          "block\nsyscall_write ts_ns=1500 op_id=2 pid=6 file=/a offset=0 bytes_requested=4096 "
          "result=4096\ndamage table=syscall_write\n"),
      "inferred");
}

TEST(loss_times, a_truncation_of_an_unresolved_path_may_be_of_any_file) {
  EXPECT_EQ(
      confidence_with("syscall_truncate ts_ns=1500 pid=6 path=relative bytes=0 call=truncate\n"),
      "inferred");
}

} // namespace
} // namespace iotrail::trail
