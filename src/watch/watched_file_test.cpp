// SPDX-License-Identifier: BSD-3-Clause
#include "watch/watched_file.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

namespace iotrail::watch {
namespace {

// In a file system in memory, which finds a file by its inode.
class WatchedFileTest : public testing::Test {
protected:
  WatchedFileTest() { std::filesystem::create_directory(directory_); }
  ~WatchedFileTest() override { std::filesystem::remove_all(directory_); }

  WatchedFile made(const std::string& name) const {
    std::ofstream(directory_ / name).put('x');
    auto file = find_file(directory_ / name);
    return file ? std::move(*file) : WatchedFile{};
  }
  std::string path(const std::string& name) const { return directory_ / name; }
  void rename(const std::string& from, const std::string& to) const {
    std::filesystem::rename(directory_ / from, directory_ / to);
  }

private:
  std::filesystem::path directory_ = fmt::format("/dev/shm/iotrail-watched-{}", ::getpid());
};

TEST_F(WatchedFileTest, a_renamed_file_has_its_present_path) {
  const WatchedFile file = made("old");
  EXPECT_EQ(present_path(file, path("old")), path("old"));
  rename("old", "new");
  if (!open_by_inode(file))
    GTEST_SKIP() << "opening a file by its inode is not permitted";
  EXPECT_EQ(present_path(file, path("old")), path("new"));
  std::ofstream(path("old")).put('y'); // another file
  EXPECT_EQ(present_path(file, path("old")), path("new"));
}

TEST_F(WatchedFileTest, a_removed_file_keeps_its_path) {
  const WatchedFile file = made("old");
  std::filesystem::remove(path("old"));
  EXPECT_EQ(present_path(file, path("old")), path("old"));
}

} // namespace
} // namespace iotrail::watch
