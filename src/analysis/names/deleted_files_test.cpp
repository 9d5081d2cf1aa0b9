// SPDX-License-Identifier: BSD-3-Clause
//
// Files that have no name at their first event.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/names/file_paths.hpp"
#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

TEST(deleted_files, give_their_names_to_no_other_file) {
  const golden::TestTrace trace("file path=/d/a inode=7 is_deleted=1\n"
                                "syscall_write ts_ns=5 pid=1 file=/d/a fd=3 result=1\n"
                                "file path=/d/b inode=8\n"
                                "syscall_open ts_ns=10 pid=1 file=/d/b path=/d/b result=4\n"
                                "syscall_rename ts_ns=20 pid=1 path=/d/b new_path=/d/a\n"
                                "syscall_rename ts_ns=30 pid=1 path=/d/a new_path=/d/c\n");
  const auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  std::vector<std::string> shown;
  for (const FilePath& path : find_names(**reader).paths)
    shown.push_back(path.shown_path);
  EXPECT_EQ(shown, (std::vector<std::string>{"/d/a (deleted)", "/d/b", "/d/a", "/d/c"}));
}

} // namespace
} // namespace iotrail::analysis
