// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/files/file_walk.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "capture/snapshot/rows/test_run.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;

// Root may read everything: this object gives the thread the rights of another user while it
// exists.
class Nobody {
public:
  Nobody() : was_root_(::geteuid() == 0 && ::seteuid(kNobody) == 0) {}
  Nobody(const Nobody&) = delete;
  Nobody& operator=(const Nobody&) = delete;
  ~Nobody() {
    if (was_root_ && ::seteuid(0) != 0)
      std::abort();
  }

private:
  static constexpr uid_t kNobody = 65534;
  bool was_root_;
};

class FileWalkTest : public TakingTest {
protected:
  FileWalkTest() : root_(fs::canonical(folder_.path()) / "root") {
    fs::permissions(folder_.path(), fs::perms(0755));
    fs::create_directory(root_);
  }

  // Rows by their paths without the root.
  std::map<std::string, SnapshotRow> walk(FileBaseline* baseline = nullptr, bool is_delta = false) {
    take([&](SnapshotRun& run) {
      const Nobody nobody;
      is_through_ = FileWalk(run, baseline, is_delta).run(root_.native());
    });
    std::map<std::string, SnapshotRow> by_name;
    for (SnapshotRow& row : rows("snapshot_file")) {
      const std::string path = row.text("path");
      EXPECT_TRUE(path.starts_with(root_.native())) << path;
      EXPECT_TRUE(by_name.emplace(path.substr(root_.native().size()), std::move(row)).second);
    }
    return by_name;
  }

  // "+/a ~/b -/c" of a delta.
  std::string differences() {
    std::string text;
    for (const auto& [name, row] : walk(&baseline_, true))
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", "?+~-"[row["difference"]],
                          name.empty() ? "." : name);
    return text;
  }

  fs::path root_;
  FileBaseline baseline_;
  bool is_through_ = false;
};

TEST_F(FileWalkTest, all_that_has_a_name_is_there_with_its_attributes) {
  write_file(root_ / "file", "12345");
  fs::create_hard_link(root_ / "file", root_ / "hard");
  fs::create_symlink("nowhere", root_ / "link");
  fs::create_symlink("..", root_ / "up"); // not followed, otherwise the walk would not end
  fs::create_directory(root_ / "sub");
  write_file(root_ / "sub/a\nb\x01", "");
  ASSERT_EQ(::mkfifo((root_ / "fifo").c_str(), 0600), 0);
  const int server = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  (root_ / "socket").native().copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(::bind(server, reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  ::close(server);
  auto files = walk();
  EXPECT_TRUE(is_through_);
  EXPECT_EQ(files.size(), 9U);
  EXPECT_EQ(found_, 9U);
  struct stat status{};
  ASSERT_EQ(::lstat((root_ / "file").c_str(), &status), 0);
  const SnapshotRow& file = files.at("/file");
  EXPECT_EQ(file["bytes"], 5);
  EXPECT_EQ(file["allocated_bytes"], status.st_blocks * 512);
  EXPECT_EQ(file["inode"], static_cast<std::int64_t>(status.st_ino));
  EXPECT_EQ(file["mode"], status.st_mode);
  EXPECT_EQ(file["links"], 2);
  EXPECT_EQ(file["uid"], status.st_uid);
  EXPECT_EQ(file["gid"], status.st_gid);
  EXPECT_EQ(file["modified_ns"], status.st_mtim.tv_sec * 1'000'000'000 + status.st_mtim.tv_nsec);
  EXPECT_EQ(file["difference"], IOT_snapshot_difference_none);
  EXPECT_GE(file["changed_ns"], file["born_ns"]);
  EXPECT_EQ(files.at("/hard")["inode"], file["inode"]);
  EXPECT_TRUE(S_ISLNK(files.at("/link")["mode"]));
  EXPECT_TRUE(S_ISLNK(files.at("/up")["mode"]));
  EXPECT_TRUE(S_ISFIFO(files.at("/fifo")["mode"]));
  EXPECT_TRUE(S_ISSOCK(files.at("/socket")["mode"]));
  EXPECT_TRUE(S_ISDIR(files.at("")["mode"]));
  EXPECT_TRUE(files.contains("/sub/a\nb\x01"));
}

TEST_F(FileWalkTest, a_root_may_be_a_file) {
  fs::remove(root_);
  write_file(root_, "1");
  EXPECT_EQ(walk().at("")["bytes"], 1);
}

// Deeper than a path may be long, with more unread entries on each level than descriptors are kept
// open.
TEST_F(FileWalkTest, no_depth_is_too_deep) {
  constexpr int kLevels = 400;
  const std::string name(50, 'd');
  int directory = ::open(root_.c_str(), O_RDONLY | O_DIRECTORY);
  for (int level = 0; level < kLevels; ++level) {
    ASSERT_EQ(::mkdirat(directory, "x", 0755), 0);
    ASSERT_EQ(::mkdirat(directory, name.c_str(), 0755), 0);
    ASSERT_EQ(::mkdirat(directory, "z", 0755), 0);
    const int below = ::openat(directory, name.c_str(), O_RDONLY | O_DIRECTORY);
    ASSERT_GE(below, 0);
    ::close(directory);
    directory = below;
  }
  ::close(directory);
  const auto files = walk();
  EXPECT_TRUE(is_through_);
  EXPECT_EQ(files.size(), 3U * kLevels + 1);
  EXPECT_EQ(left_out_, 0U);
  std::size_t longest = 0;
  for (const auto& [path, row] : files)
    longest = std::max(longest, path.size());
  EXPECT_GT(longest, 4U * PATH_MAX);
}

TEST_F(FileWalkTest, a_directory_that_cannot_be_read_is_named) {
  fs::create_directories(root_ / "closed/below");
  fs::create_directories(root_ / "listed/only");
  fs::permissions(root_ / "closed", fs::perms::none);
  fs::permissions(root_ / "listed", fs::perms(0444)); // its names are readable, but not its files
  const auto files = walk();
  EXPECT_EQ(files.size(), 4U);
  EXPECT_EQ(files.at("/listed/only")["error"], -EACCES);
  EXPECT_TRUE(S_ISDIR(files.at("/listed/only")["mode"]));
  const auto left_out = rows("snapshot_left_out");
  ASSERT_EQ(left_out.size(), 1U);
  EXPECT_EQ(left_out[0].text("path"), root_ / "closed");
  EXPECT_EQ(left_out[0]["reason"], IOT_snapshot_reason_unreadable);
  EXPECT_EQ(left_out[0]["error"], -EACCES);
  EXPECT_EQ(counters_.value(IOT_COUNTER_snapshot_unreadable), 1U);
  EXPECT_EQ(counters_.value(IOT_COUNTER_snapshot_file_unread), 1U);
  fs::permissions(root_ / "closed", fs::perms::owner_all);
  fs::permissions(root_ / "listed", fs::perms::owner_all);
}

TEST_F(FileWalkTest, a_root_that_is_gone_is_named) {
  fs::remove(root_);
  EXPECT_TRUE(walk().empty());
  ASSERT_EQ(rows("snapshot_left_out").size(), 1U);
  EXPECT_EQ(rows("snapshot_left_out")[0]["error"], -ENOENT);
}

TEST_F(FileWalkTest, a_walk_that_has_to_stop_stops) {
  write_file(root_ / "file", "");
  is_stopping_ = true;
  walk();
  EXPECT_FALSE(is_through_);
}

TEST_F(FileWalkTest, a_delta_has_new_changed_and_removed_files) {
  fs::create_directories(root_ / "stays/below");
  fs::create_directories(root_ / "goes/below");
  write_file(root_ / "goes/below/file", "1");
  write_file(root_ / "stays/below/file", "1");
  write_file(root_ / "becomes", "1");
  fs::create_directories(root_ / "was/deep");
  const auto first = walk(&baseline_);
  EXPECT_EQ(first.size(), 10U);
  EXPECT_EQ(first.at("")["difference"], IOT_snapshot_difference_none);
  EXPECT_EQ(differences(), "");
  // Reading is not a change.
  std::string text;
  std::ifstream(root_ / "stays/below/file") >> text;
  EXPECT_EQ(differences(), "");
  write_file(root_ / "stays/below/file", "12");
  EXPECT_EQ(differences(), "~/stays/below/file");
  fs::remove_all(root_ / "goes");
  EXPECT_EQ(differences(), "~. -/goes -/goes/below -/goes/below/file");
  fs::remove(root_ / "becomes");
  fs::create_directory(root_ / "becomes");
  write_file(root_ / "becomes/new", "");
  EXPECT_EQ(differences(), "~. ~/becomes +/becomes/new");
  fs::remove_all(root_ / "was");
  write_file(root_ / "was", "");
  EXPECT_EQ(differences(), "~. ~/was -/was/deep");
  EXPECT_EQ(differences(), "");
}

TEST_F(FileWalkTest, removed_directories_are_rows_of_a_delta) {
  fs::create_directory(root_ / "directory");
  write_file(root_ / "file", "");
  walk(&baseline_);
  fs::remove(root_ / "directory");
  fs::remove(root_ / "file");
  const auto files = walk(&baseline_, true);
  EXPECT_TRUE(S_ISDIR(files.at("/directory")["mode"]));
  EXPECT_EQ(files.at("/file")["mode"], 0);
}

TEST_F(FileWalkTest, files_that_the_walk_does_not_reach_are_not_taken_for_removed) {
  fs::create_directories(root_ / "a/b");
  write_file(root_ / "a/b/file", "");
  walk(&baseline_);
  is_stopping_ = true;
  walk(&baseline_, true);
  is_stopping_ = false;
  EXPECT_EQ(differences(), "");
  fs::remove_all(root_ / "a");
  EXPECT_EQ(differences(), "~. -/a -/a/b -/a/b/file");
}

TEST_F(FileWalkTest, a_directory_that_cannot_be_read_for_once_loses_nothing) {
  fs::create_directories(root_ / "closed/below");
  walk(&baseline_);
  fs::permissions(root_ / "closed", fs::perms::none);
  EXPECT_EQ(differences(), "~/closed");
  fs::permissions(root_ / "closed", fs::perms(0755));
  EXPECT_EQ(differences(), "~/closed");
}

TEST(FileBaseline, of_files_noted_twice_the_last_one_counts) {
  FileBaseline baseline;
  baseline.note("/d", {.name = "b", .fingerprint = 1});
  baseline.note("/d", {.name = "a", .fingerprint = 2});
  baseline.note("/d", {.name = "b", .fingerprint = 3});
  baseline.note("/d", {.name = "a", .is_removed = true});
  baseline.note("/d", {.name = "c", .fingerprint = 4});
  baseline.sort();
  BaselineFiles files = baseline.take("/d");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(find_known(files, "b")->fingerprint, 3U);
  EXPECT_EQ(find_known(files, "c")->fingerprint, 4U);
  EXPECT_EQ(find_known(files, "a"), nullptr);
  EXPECT_TRUE(baseline.take("/d").empty());
}

} // namespace
} // namespace iotrail::capture::snapshot
