// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/trace_dictionaries.hpp"

#include <gtest/gtest.h>

#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

TEST(trace_dictionaries, a_process_has_the_name_that_it_had_at_the_time) {
  const golden::TestTrace trace("processes since_ns=20 pid=1 comm=new\nprocesses since_ns=10 pid=1 "
                                "comm=old\nprocesses since_ns=5 pid=2 comm=other\n");
  const auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  const TraceDictionaries dictionaries = TraceDictionaries::load(**reader);
  EXPECT_EQ(dictionaries.comm(1, 15), "old");
  EXPECT_EQ(dictionaries.comm(1, 20), "new");
  EXPECT_EQ(dictionaries.comm(1, 3),
            "old"); // seen after its first event: its first known name
  EXPECT_EQ(dictionaries.comm(3, 3), "");
}

TEST(trace_dictionaries, texts_beyond_the_memory_limit_are_empty) {
  const golden::TestTrace trace("syscall_open ts_ns=1 pid=1 path=/first result=-2\n"
                                "syscall_open ts_ns=2 pid=1 path=/second result=-2\n");
  const auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(TraceDictionaries::load(**reader).text(2), "/second");
  EXPECT_TRUE((*reader)->limits().empty());
  const TraceDictionaries few = TraceDictionaries::load(**reader, 6);
  EXPECT_EQ(few.text(1), "/first");
  EXPECT_EQ(few.text(2), "");
  ASSERT_EQ((*reader)->limits().size(), 1U);
  EXPECT_TRUE((*reader)->limits()[0].starts_with("6 OF 13 BYTES OF strings"));
}

} // namespace
} // namespace iotrail::analysis
