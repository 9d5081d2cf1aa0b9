// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/trace_dictionaries.hpp"

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
            "old"); // seen after its first event: the first name it is known by
  EXPECT_EQ(dictionaries.comm(3, 3), "");
}

} // namespace
} // namespace iotrail::analysis
