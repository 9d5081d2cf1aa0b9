// SPDX-License-Identifier: BSD-3-Clause
//
// For the tests: the rows that a part of a snapshot adds to a trace.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "capture/snapshot/rows/snapshot_run.hpp"
#include "capture/snapshot/rows/taken_rows.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture::snapshot {

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

class TakingTest : public ::testing::Test {
protected:
  // Writes what `take` adds to a new trace at trace().
  void take(const std::function<void(SnapshotRun&)>& take) {
    RowQueue queue;
    {
      RowSink sink(queue);
      queue.close(); // no thread drains it meanwhile
      SnapshotRun run(sink, counters_, is_stopping_, 1);
      take(run);
      found_ = run.found;
      left_out_ = run.left_out;
    }
    trace_ = folder_ / ("t" + std::to_string(++traces_));
    auto writer = store::TraceWriter::create(trace_, {});
    ASSERT_TRUE(writer) << writer.error().message();
    while (queue.write_some(**writer, 1) > 0) {
    }
    store::Manifest manifest;
    ASSERT_TRUE((*writer)->finish(manifest));
  }

  std::vector<SnapshotRow> rows(std::string_view table) const {
    return read_taken_rows(trace_, table);
  }

  store::testing::TemporaryDirectory folder_;
  std::filesystem::path trace_;
  Counters counters_;
  std::atomic<bool> is_stopping_{false};
  std::uint64_t found_ = 0;
  std::uint64_t left_out_ = 0;

private:
  int traces_ = 0;
};

} // namespace iotrail::capture::snapshot
