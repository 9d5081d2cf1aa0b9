// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/file_paths.hpp"

#include <gtest/gtest.h>

#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

using Texts = std::vector<std::string>;

// The paths of the file that begins with `first`: "20 /b", "30 /b removed".
Texts paths_of(std::string_view events, std::string_view first) {
  const golden::TestTrace trace(events);
  const auto reader = store::TraceReader::open(trace.path());
  if (!reader)
    return {};
  const std::vector<FilePath> paths = find_file_paths(**reader);
  Texts texts;
  std::uint32_t file = 0;
  for (const FilePath& path : paths) {
    if (path.since_ns == 0 && file == 0 && path.path == first)
      file = path.file;
    if (file != 0 && path.file == file)
      texts.push_back(
          fmt::format("{} {}{}", path.since_ns, path.path, path.is_removed ? " removed" : ""));
  }
  return texts;
}

constexpr std::string_view kOpenA = "syscall_open ts_ns=10 pid=1 file=/d/a path=/d/a result=3\n";

TEST(file_paths, a_renamed_file_has_its_new_path_from_the_end_of_the_call_on) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_rename ts_ns=20 duration_ns=5 pid=1 path=/d/a new_path=/d/b\n"
                         "syscall_rename ts_ns=30 duration_ns=5 pid=1 path=/d/b new_path=/e/c\n"
                         "syscall_rename ts_ns=40 duration_ns=5 pid=1 path=/e/c new_path=/e/d\n"
                         "syscall_unlink ts_ns=50 duration_ns=5 pid=1 path=/e/d\n",
                     "/d/a"),
            (Texts{"0 /d/a", "25 /d/b", "35 /e/c", "45 /e/d", "55 /e/d removed"}));
}

TEST(file_paths, what_lies_below_a_renamed_directory_moves_with_it) {
  EXPECT_EQ(
      paths_of(std::string(kOpenA) + "syscall_rename ts_ns=20 pid=1 path=/d new_path=/other/./e/\n",
               "/d/a"),
      (Texts{"0 /d/a", "20 /other/e/a"}));
}

TEST(file_paths, a_file_that_a_rename_replaces_is_removed_and_one_made_later_is_another) {
  const std::string events = "syscall_open ts_ns=5 pid=1 file=/d/b path=/d/b result=4\n" +
                             std::string(kOpenA) +
                             "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b\n";
  EXPECT_EQ(paths_of(events, "/d/b"), (Texts{"0 /d/b", "20 /d/b removed"}));
  EXPECT_EQ(paths_of("file path=/d/a inode=2\n"
                     "syscall_rename ts_ns=5 pid=1 path=/d/a new_path=/d/b\n" +
                         std::string(kOpenA),
                     "/d/a"),
            (Texts{"0 /d/a"}));
}

TEST(file_paths, an_exchange_of_names_moves_both) {
  const std::string events = "syscall_open ts_ns=5 pid=1 file=/d/b path=/d/b result=4\n" +
                             std::string(kOpenA) +
                             "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b flags=0x2\n";
  EXPECT_EQ(paths_of(events, "/d/b"), (Texts{"0 /d/b", "20 /d/a"}));
  EXPECT_EQ(paths_of(events, "/d/a"), (Texts{"0 /d/a", "20 /d/b"}));
}

TEST(file_paths, a_relative_path_counts_where_its_process_or_its_parent_opened_one) {
  EXPECT_EQ(paths_of("processes since_ns=1 pid=2 parent_pid=1\n"
                     "syscall_open ts_ns=10 pid=1 file=/d/a path=a fd=-100 result=3\n"
                     "syscall_rename ts_ns=20 pid=2 path=a new_path=b fd=-100 new_fd=-100\n"
                     "syscall_rename ts_ns=30 pid=9 path=b new_path=c fd=-100 new_fd=-100\n",
                     "/d/a"),
            (Texts{"0 /d/a", "20 /d/b"}));
}

TEST(file_paths, a_call_that_failed_changes_no_path) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b result=-ENOENT\n",
                     "/d/a"),
            (Texts{"0 /d/a"}));
}

TEST(file_paths, an_inode_that_is_used_again_has_a_name_again) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_unlink ts_ns=20 pid=1 path=/d/a\n"
                         "syscall_open ts_ns=30 duration_ns=9 pid=1 file=/d/a path=/d/a result=3\n",
                     "/d/a"),
            (Texts{"0 /d/a", "20 /d/a removed", "30 /d/a"}));
}

TEST(file_paths, the_lowest_layer_tells_of_names_once) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "file path=/d mode=0040755\n"
                         "vfs_rename ts_ns=21 duration_ns=2 pid=1 file=/d/a directory=/d name=a "
                         "new_directory=/d new_name=b\n"
                         "syscall_rename ts_ns=20 duration_ns=5 pid=1 path=/d/a new_path=/d/b\n"
                         "app_rename ts_ns=19 duration_ns=8 pid=1 path=/d/a new_path=/d/b\n",
                     "/d/a"),
            (Texts{"0 /d/a", "23 /d/b"}));
}

} // namespace
} // namespace iotrail::analysis
