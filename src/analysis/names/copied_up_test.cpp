// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/copied_up.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

// Sorted.
std::vector<std::string> names_in(const std::string& text) {
  const golden::TestTrace trace(text);
  const auto reader = store::TraceReader::open(trace.path());
  EXPECT_TRUE(reader.has_value());
  std::vector<std::string> shown;
  for (const FilePath& path : find_names(**reader).paths)
    shown.push_back(path.shown_path);
  std::ranges::sort(shown);
  return shown;
}

TEST(copied_up, a_copy_has_the_name_of_the_opened_file) {
  EXPECT_EQ(
      names_in("file path=/u/work/work/#7 inode=7 is_deleted=1\n"
               "file path=/u/work/work/#8 inode=9\n"
               "file path=/o/a inode=17\n"
               "file path=/o/b inode=18\n"
               "cache_dirty ts_ns=5 op_id=2 pid=1 file=/u/work/work/#7 pages=1\n"
               "syscall_open ts_ns=4 op_id=2 pid=1 file=/o/a path=/o/a result=4 duration_ns=9\n"
               "cache_dirty ts_ns=25 op_id=3 pid=1 file=/u/work/work/#8 pages=1\n"
               "syscall_open ts_ns=24 op_id=3 pid=1 file=/o/b path=/o/b result=4 duration_ns=9\n"),
      (std::vector<std::string>{"/o/a", "/o/a", "/o/b", "/o/b"}));
}

TEST(copied_up, others_keep_their_names) {
  EXPECT_EQ(
      names_in("file path=/u/work/#8 inode=9\n"
               "file path=/o/a inode=17\n"
               "cache_dirty ts_ns=5 op_id=2 pid=1 file=/u/work/#8 pages=1\n"
               "syscall_open ts_ns=4 op_id=7 pid=1 file=/o/a path=/o/a result=4 duration_ns=9\n"),
      (std::vector<std::string>{"/o/a", "/u/work/#8"}));
}

} // namespace
} // namespace iotrail::analysis
