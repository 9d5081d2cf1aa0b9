// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/names/file_paths.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

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
  const std::vector<FilePath> paths = find_names(**reader).paths;
  Texts texts;
  std::uint32_t file = 0;
  for (const FilePath& path : paths) {
    if (path.since_ns == 0 && file == 0 && path.path() == first)
      file = path.file;
    if (file != 0 && path.file == file)
      texts.push_back(
          fmt::format("{} {}{}", path.since_ns, path.path(), path.is_removed ? " removed" : ""));
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

TEST(file_paths, a_call_in_a_chroot_is_on_a_file_below_it) {
  const std::string events = "processes since_ns=1 pid=1 comm=sh\n" + std::string(kOpenA) +
                             "syscall_chdir ts_ns=15 pid=2 path=/jail call=chroot\n"
                             "processes since_ns=16 pid=3 parent_pid=2 comm=rm\n"
                             "syscall_open ts_ns=17 pid=3 file=/jail/d/a path=/d/a result=3\n"
                             "syscall_rename ts_ns=20 pid=3 path=/d/a new_path=/d/b\n"
                             "syscall_unlink ts_ns=30 pid=2 path=/d/b\n";
  EXPECT_EQ(paths_of(events, "/d/a"), (Texts{"0 /d/a"}));
  EXPECT_EQ(paths_of(events, "/jail/d/a"),
            (Texts{"0 /jail/d/a", "20 /jail/d/b", "30 /jail/d/b removed"}));
}

TEST(file_paths, a_call_in_a_container_is_of_its_own_files) {
  const std::string events =
      "processes since_ns=1 pid=1 comm=sh\nprocesses since_ns=2 pid=2 comm=sh container=c1\n" +
      std::string(kOpenA) +
      "syscall_open ts_ns=15 pid=2 file=/d/b path=/d/b result=3\n"
      "syscall_unlink ts_ns=20 pid=2 path=/d/a\n"
      "syscall_rename ts_ns=30 pid=2 path=/d/b new_path=/d/c\n"
      "syscall_unlink ts_ns=40 pid=1 path=/d/c\n";
  EXPECT_EQ(paths_of(events, "/d/a"), (Texts{"0 /d/a"}));
  EXPECT_EQ(paths_of(events, "/d/b"), (Texts{"0 /d/b", "30 /d/c"}));
}

TEST(file_paths, a_rename_over_a_link_to_a_directory_affects_the_directory) {
  const std::string open =
      "syscall_open ts_ns=10 pid=1 file=/d/real/log path=/d/cur/log result=3\n";
  EXPECT_EQ(paths_of(open + "syscall_rename ts_ns=20 pid=1 path=/d/cur/log new_path=/d/cur/log.1\n"
                            "syscall_unlink ts_ns=30 pid=1 path=/d/cur/log.1\n",
                     "/d/real/log"),
            (Texts{"0 /d/real/log", "20 /d/real/log.1", "30 /d/real/log.1 removed"}));
  // Another directory replaces the link.
  EXPECT_EQ(paths_of(open + "syscall_rename ts_ns=20 pid=1 path=/d/next new_path=/d/cur\n"
                            "syscall_unlink ts_ns=30 pid=1 path=/d/cur/log\n",
                     "/d/real/log"),
            (Texts{"0 /d/real/log"}));
}

TEST(file_paths, a_duplicate_of_a_directory_is_where_names_begin_too) {
  for (const std::string_view duplicate :
       {"syscall_dup ts_ns=15 pid=1 fd=4 result=9 call=dup\n",
        "syscall_fcntl ts_ns=15 pid=1 fd=4 command=F_DUPFD_CLOEXEC result=9\n"})
    EXPECT_EQ(paths_of("file path=/d inode=5 mode=040755\n"
                       "syscall_open ts_ns=5 pid=1 file=/d path=/d result=4\n" +
                           std::string(kOpenA) + std::string(duplicate) +
                           "syscall_rename ts_ns=20 pid=1 fd=9 new_fd=9 path=a new_path=b\n",
                       "/d/a"),
              (Texts{"0 /d/a", "20 /d/b"}));
}

TEST(file_paths, files_below_a_renamed_directory_move_with_it) {
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

TEST(file_paths, a_rename_counts_once_from_the_lowest_layer) {
  EXPECT_EQ(
      paths_of(std::string(kOpenA) +
                   "file path=/d mode=0040755\n"
                   "vfs_rename ts_ns=21 duration_ns=2 pid=1 file=/d/a directory=/d name=a "
                   "new_directory=/d new_name=b\n"
                   "syscall_rename ts_ns=20 duration_ns=5 pid=1 path=/d/a new_path=/d/b\n"
                   "app_rename ts_ns=19 duration_ns=8 pid=1 path=/d/a new_path=/d/b\n"
                   "async_path ts_ns=29 pid=1 path=/d/b new_path=/d/c call=IORING_OP_RENAMEAT\n",
               "/d/a"),
      (Texts{"0 /d/a", "23 /d/b"}));
}

TEST(file_paths, operations_of_io_uring_change_names) {
  const std::string events =
      "file path=/d mode=0040755\n"
      "async_path ts_ns=5 pid=1 file=/d path=/d call=IORING_OP_OPENAT result=9\n"
      "async_path ts_ns=10 pid=1 file=/d/a path=a fd=9 call=IORING_OP_OPENAT2 result=3\n"
      "async_path ts_ns=20 pid=1 path=a fd=9 new_path=/d/b call=IORING_OP_RENAMEAT\n"
      "async_path ts_ns=25 pid=1 path=/d/b new_path=/d/x call=IORING_OP_RENAMEAT result=-2\n"
      "async_path ts_ns=30 pid=1 path=/d/b call=IORING_OP_STATX\n"
      "syscall_rename ts_ns=40 pid=1 path=/d/b new_path=/d/c\n"
      "async_path ts_ns=50 pid=1 path=/d/c new_path=/d/e call=IORING_OP_LINKAT\n"
      "async_path ts_ns=60 pid=1 path=/d/c call=IORING_OP_UNLINKAT\n";
  EXPECT_EQ(paths_of(events, "/d/a"), (Texts{"0 /d/a", "20 /d/b", "40 /d/c", "60 /d/e"}));
}

TEST(file_paths, an_exchange_by_io_uring_moves_both) {
  const std::string events = "syscall_open ts_ns=5 pid=1 file=/d/b path=/d/b result=4\n" +
                             std::string(kOpenA) +
                             "async_path ts_ns=20 pid=1 path=/d/a new_path=/d/b rename_flags=0x2 "
                             "call=IORING_OP_RENAMEAT\n";
  EXPECT_EQ(paths_of(events, "/d/b"), (Texts{"0 /d/b", "20 /d/a"}));
}

TEST(file_paths, a_file_that_is_linked_to_its_last_name_has_that_once_the_first_is_gone) {
  for (const std::string_view layer : {"syscall", "vfs"}) {
    const bool is_vfs = layer == "vfs";
    EXPECT_EQ(paths_of(std::string(kOpenA) + "file path=/d mode=0040755\n" +
                           (is_vfs ? "vfs_link ts_ns=20 pid=1 file=/d/a directory=/d name=b\n"
                                     "vfs_unlink ts_ns=30 pid=1 file=/d/a directory=/d name=a\n"
                                     "vfs_unlink ts_ns=40 pid=1 file=/d/a directory=/d name=b\n"
                                   : "syscall_link ts_ns=20 pid=1 target=/d/a path=/d/b call=link\n"
                                     "syscall_unlink ts_ns=30 pid=1 path=/d/a\n"
                                     "syscall_unlink ts_ns=40 pid=1 path=/d/b\n"),
                       "/d/a"),
              (Texts{"0 /d/a", "30 /d/b", "40 /d/b removed"}))
        << layer;
  }
}

TEST(file_paths, of_several_names_the_one_opened_last_is_shown_while_it_is_there) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_link ts_ns=20 pid=1 target=/d/a path=/d/b call=link\n"
                         "syscall_link ts_ns=30 pid=1 target=/d/a path=/d/c call=link\n"
                         "syscall_open ts_ns=40 pid=1 file=/d/a path=/d/b result=4\n"
                         "syscall_unlink ts_ns=50 pid=1 path=/d/a\n"
                         "syscall_rename ts_ns=60 pid=1 path=/d/c new_path=/d/e\n"
                         "syscall_unlink ts_ns=70 pid=1 path=/d/b\n",
                     "/d/a"),
            (Texts{"0 /d/a", "40 /d/b", "70 /d/e"}));
}

TEST(file_paths, a_rename_of_one_name_to_another_of_the_same_file_leaves_both) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_link ts_ns=20 pid=1 target=/d/a path=/d/b call=link\n"
                         "syscall_rename ts_ns=30 pid=1 path=/d/a new_path=/d/b\n"
                         "syscall_unlink ts_ns=40 pid=1 path=/d/b\n"
                         "syscall_unlink ts_ns=50 pid=1 path=/d/a\n",
                     "/d/a"),
            (Texts{"0 /d/a", "50 /d/a removed"}));
}

TEST(file_paths, a_symbolic_link_is_no_name_of_its_target) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_link ts_ns=20 pid=1 target=/d/a path=/d/b call=symlink\n"
                         "syscall_unlink ts_ns=30 pid=1 path=/d/a\n",
                     "/d/a"),
            (Texts{"0 /d/a", "30 /d/a removed"}));
}

TEST(file_paths, a_file_made_without_a_name_has_the_first_that_it_is_linked_to) {
  const std::string made = "file path=/d/#14 inode=14\n"
                           "file path=/d mode=0040755\n"
                           "syscall_chdir ts_ns=9 pid=1 path=/d call=chdir\n"
                           "syscall_open ts_ns=10 pid=1 file=/d/#14 path=. fd=-100 result=3\n";
  for (const std::string_view link :
       {"syscall_link ts_ns=20 pid=1 target=/proc/self/fd/3 target_fd=-100 path=b fd=-100 "
        "call=linkat flags=0x400\n",
        "syscall_link ts_ns=20 pid=1 target_fd=3 path=b fd=-100 call=linkat flags=0x1000\n",
        "vfs_link ts_ns=20 pid=1 file=/d/#14 directory=/d name=b\n"})
    EXPECT_EQ(paths_of(made + std::string(link), "/d/#14"), (Texts{"0 /d/#14 removed", "20 /d/b"}))
        << link;
}

TEST(file_paths, a_relative_path_begins_where_chdir_went) {
  EXPECT_EQ(paths_of("file path=/d mode=0040755\n" + std::string(kOpenA) +
                         "syscall_chdir ts_ns=11 pid=1 path=/d call=chdir\n"
                         "syscall_rename ts_ns=20 pid=1 path=a new_path=b fd=-100 new_fd=-100\n"
                         "syscall_chdir ts_ns=21 pid=1 path=.. call=chdir\n"
                         "syscall_chdir ts_ns=22 pid=1 path=/d call=chroot\n"
                         "syscall_rename ts_ns=30 pid=1 path=d/b new_path=c fd=-100 new_fd=-100\n"
                         "syscall_chdir ts_ns=31 pid=1 file=/d fd=5 call=fchdir\n"
                         "syscall_unlink ts_ns=40 pid=1 path=../c fd=-100\n",
                     "/d/a"),
            (Texts{"0 /d/a", "20 /d/b", "30 /c", "40 /c removed"}));
}

TEST(file_paths, a_process_begins_where_its_parent_is_then) {
  EXPECT_EQ(paths_of("processes since_ns=15 pid=2 parent_pid=1\n" + std::string(kOpenA) +
                         "syscall_chdir ts_ns=11 pid=1 path=/d call=chdir\n"
                         "syscall_chdir ts_ns=16 pid=1 path=/e call=chdir\n"
                         "syscall_rename ts_ns=20 pid=2 path=a new_path=b fd=-100 new_fd=-100\n",
                     "/d/a"),
            (Texts{"0 /d/a", "20 /d/b"}));
}

TEST(file_paths, a_path_that_held_at_no_time_is_not_there) {
  EXPECT_EQ(paths_of(std::string(kOpenA) +
                         "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b\n"
                         "syscall_rename ts_ns=20 pid=1 path=/d/b new_path=/d/c\n",
                     "/d/a"),
            (Texts{"0 /d/a", "20 /d/c"}));
}

TEST(file_paths, names_beyond_the_memory_limit_are_dropped_and_reported) {
  constexpr std::size_t kTextsBytes = std::size_t{4} * (128 + 4); // of the four names
  const golden::TestTrace trace("manifest begin_ns=5\n" + std::string(kOpenA) +
                                "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b\n"
                                "syscall_rename ts_ns=1500000005 pid=1 path=/d/b new_path=/d/c\n"
                                "syscall_rename ts_ns=1600000005 pid=1 path=/d/c new_path=/d/e\n");
  const auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  EXPECT_EQ(find_names(**reader).paths.size(), 4U);
  EXPECT_EQ((*reader)->limits(), Texts{});
  EXPECT_EQ(find_names(**reader, 450 + kTextsBytes).paths.size(), 3U);
  EXPECT_EQ(find_names(**reader, 450 + kTextsBytes).paths.size(), 3U);
  ASSERT_EQ((*reader)->limits().size(), 1U);
  EXPECT_TRUE((*reader)->limits()[0].contains("PATHS AS OF SECOND 1.600000"))
      << (*reader)->limits()[0];
}

// Each file has one path at any time, the first from 0 on, and all are valid for a kernel.
void expect_sound(const std::vector<FilePath>& paths) {
  std::set<std::pair<std::uint32_t, std::uint64_t>> begins;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    EXPECT_TRUE(begins.emplace(paths[i].file, paths[i].since_ns).second) << i;
    const bool is_first = i == 0 || paths[i - 1].file != paths[i].file;
    const bool is_last = i + 1 == paths.size() || paths[i + 1].file != paths[i].file;
    EXPECT_EQ(paths[i].since_ns == 0, is_first) << i;
    EXPECT_EQ(paths[i].until_ns, is_last ? UINT64_MAX : paths[i + 1].since_ns) << i;
    EXPECT_TRUE(is_first || paths[i].path().starts_with('/')) << paths[i].path();
    EXPECT_LT(paths[i].path().size(), 4096U);
  }
}

std::vector<FilePath> hostile_paths(const std::string& events, std::size_t most_bytes) {
  const golden::TestTrace trace(events);
  const auto reader = store::TraceReader::open(trace.path());
  if (!reader)
    return {};
  const auto begin = std::chrono::steady_clock::now();
  std::vector<FilePath> paths = find_names(**reader, most_bytes).paths;
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
  expect_sound(paths);
  return paths;
}

constexpr std::size_t kFewBytes = std::size_t{16} << 20U;

TEST(file_paths, directories_renamed_into_themselves_and_in_circles_end) {
  std::string events = std::string(kOpenA);
  for (int i = 0; i < 5000; ++i)
    events += fmt::format("syscall_rename ts_ns={} pid=1 path=/d new_path=/d/x\n"
                          "syscall_rename ts_ns={} pid=1 path=/d/x new_path=/d flags=0x2\n"
                          "syscall_rename ts_ns={} pid=1 path=/ new_path=/d/..\n",
                          20 + i, 20 + i, 20 + i);
  EXPECT_FALSE(hostile_paths(events, kFewBytes).empty());
}

// All at one time, so that no path is kept: the work is bounded, too.
TEST(file_paths, large_trees_renamed_often_take_bounded_time_and_memory) {
  for (const bool is_one_time : {false, true}) {
    std::string events;
    for (int i = 0; i < 5000; ++i)
      events +=
          fmt::format("syscall_open ts_ns=10 pid=1 file=/d/t/{0} path=/d/t/{0} result=3\n", i);
    for (int i = 0; i < 20000; ++i)
      events +=
          fmt::format("syscall_rename ts_ns={} pid=1 path=/{} new_path=/{}\n",
                      is_one_time ? 20 : 20 + i, i % 2 == 0 ? "d" : "e", i % 2 == 0 ? "e" : "d");
    EXPECT_LT(hostile_paths(events, kFewBytes).size(), kFewBytes / sizeof(FilePath) + 5001);
  }
}

TEST(file_paths, a_name_that_thousands_of_files_share_is_no_slower) {
  std::string events = "file path=/d mode=0040755\n";
  for (int i = 1; i <= 20000; ++i)
    events += fmt::format("file path=/d/f inode={0} generation={0}\n"
                          "vfs_open ts_ns=10 pid=1 file=/d/f\n",
                          i);
  for (int i = 0; i < 20000; ++i)
    events += fmt::format("syscall_link ts_ns={0} pid=1 target=/d/f path=/d/{0} call=link\n"
                          "syscall_rename ts_ns={0} pid=1 path=/d/f new_path=/d/{0}\n",
                          20 + i);
  EXPECT_FALSE(hostile_paths(events, kFewBytes).empty());
}

TEST(file_paths, names_of_any_bytes_and_length_in_any_order_of_time_do_no_harm) {
  const std::string longest(4000, 'n');
  const std::string too_long(70000, 'n');
  std::string events = "file path=\"/d\" mode=0040755\n" + std::string(kOpenA);
  for (const std::string& name :
       {std::string("../../.."), std::string("a/b/../../../c"), std::string("\x1b[31m\x01"),
        std::string("/"), std::string("//a//./"), longest, too_long, "/" + longest, "/" + too_long})
    for (const std::uint64_t ts_ns : {30ULL, 20ULL, 0ULL, 18446744073709551615ULL})
      events +=
          fmt::format("vfs_rename ts_ns={0} duration_ns=9 pid=1 file=/d/a directory=/d "
                      "name=a new_directory=/d new_name=\"{1}\"\n"
                      "vfs_rename ts_ns={0} pid=1 file=/d directory=/d name=\"{1}\" "
                      "new_directory=/d new_name=a\n"
                      "vfs_link ts_ns={0} pid=4294967295 file=/d/a directory=/d name=\"{1}\"\n"
                      "vfs_unlink ts_ns={0} pid=1 directory=/d/a name=\"{1}\"\n"
                      "syscall_chdir ts_ns={0} pid=1 path=\"{1}\" call=chdir\n"
                      "syscall_open ts_ns={0} pid=1 file=/d/a path=\"{1}\" result=3\n",
                      ts_ns, name);
  EXPECT_FALSE(hostile_paths(events, kFewBytes).empty());
}

TEST(file_paths, unreadable_renames_are_reported_and_others_kept) {
  const golden::TestTrace trace(std::string(kOpenA) +
                                "syscall_rename ts_ns=20 pid=1 path=/d/a new_path=/d/b\nblock\n"
                                "syscall_rename ts_ns=30 pid=1 path=/d/b new_path=/d/c\n"
                                "damage table=syscall_rename\n");
  const auto reader = store::TraceReader::open(trace.path());
  ASSERT_TRUE(reader.has_value());
  const std::vector<FilePath> paths = find_names(**reader).paths;
  EXPECT_EQ(paths.back().path(), "/d/b");
  EXPECT_EQ((*reader)->damage().rows_skipped, 1U);
}

} // namespace
} // namespace iotrail::analysis
