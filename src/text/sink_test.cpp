// SPDX-License-Identifier: BSD-3-Clause
#include "text/sink.hpp"

#include <gtest/gtest.h>

namespace iotrail::output {

namespace {

TEST(Sink, reports_what_was_not_written_before) {
  std::FILE* full = std::fopen("/dev/full", "w");
  if (full == nullptr)
    GTEST_SKIP() << "there is no /dev/full";
  Sink first(full);
  first.put("text");
  EXPECT_FALSE(first.finish().has_value());
  EXPECT_FALSE(Sink(full).finish().has_value()) << "no caller has seen the first result";
  std::fclose(full);
}

} // namespace

} // namespace iotrail::output
