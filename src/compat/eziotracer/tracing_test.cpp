// SPDX-License-Identifier: BSD-3-Clause
#include "compat/eziotracer/tracing.hpp"

#include <sys/stat.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "compat/eziotracer/inode_path.hpp"

namespace iotrail::compat::eziotracer {
namespace {

namespace fs = std::filesystem;

class EziotracerNodes : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "eziotracer-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    fs::create_directories(folder_ / "a/b");
    std::ofstream(folder_ / "a/b/file") << "x";
    before_ = fs::current_path();
    fs::current_path(folder_ / "a");
  }
  void TearDown() override {
    fs::current_path(before_);
    fs::remove_all(folder_);
  }
  static std::string inode_of(const fs::path& path) {
    struct stat status{};
    EXPECT_EQ(::stat(path.c_str(), &status), 0);
    return std::to_string(status.st_ino);
  }

  fs::path folder_;
  fs::path before_;
};

TEST_F(EziotracerNodes, a_number_is_found_here_above_and_below) {
  for (const fs::path& path : {folder_, folder_ / "a", folder_ / "a/b"}) {
    const auto node = find_node(inode_of(path), true);
    ASSERT_TRUE(node) << path;
    EXPECT_EQ(node->path, fs::canonical(path));
  }
  const auto file = find_node(inode_of(folder_ / "a/b/file"), false);
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path, fs::canonical(folder_ / "a/b/file"));
}

TEST_F(EziotracerNodes, a_path_serves_in_the_place_of_a_number) {
  const auto node = find_node("b/file", false);
  ASSERT_TRUE(node);
  EXPECT_EQ(std::to_string(node->inode), inode_of("b/file"));
}

TEST_F(EziotracerNodes, the_wrong_kind_is_refused) {
  EXPECT_FALSE(find_node("b", false));
  EXPECT_FALSE(find_node("b/file", true));
  EXPECT_FALSE(find_node(inode_of("b/file"), true));
  EXPECT_FALSE(find_node("missing", true));
}

TEST_F(EziotracerNodes, the_recording_and_the_lines_have_the_same_files) {
  const auto tracing = tracing_of({.tasks = {"a_name_of_20_letters"},
                                   .inode = "b",
                                   .is_directory = true,
                                   .levels = "VB",
                                   .devices = {},
                                   .output = {},
                                   .command = {}});
  ASSERT_TRUE(tracing);
  EXPECT_EQ(tracing->request.filter.wanted.names, std::vector<std::string>{"a_name_of_20_le"});
  EXPECT_EQ(tracing->request.filter.wanted.folders,
            std::vector<std::string>{tracing->selection.folder});
  EXPECT_EQ(tracing->selection.levels, "vb");
  EXPECT_FALSE(tracing->request.filter.whole_system);
}

TEST(EziotracerLevels, an_unknown_letter_is_refused) {
  EXPECT_FALSE(tracing_of(
      {.tasks = {"x"}, .inode = {}, .levels = "vx", .devices = {}, .output = {}, .command = {}}));
  EXPECT_FALSE(tracing_of(
      {.tasks = {"x"}, .inode = {}, .levels = "", .devices = {}, .output = {}, .command = {}}));
  EXPECT_FALSE(
      tracing_of({.tasks = {"x"}, .inode = {}, .devices = {"null"}, .output = {}, .command = {}}));
}

TEST(EziotracerBuffers, pages_are_shared_by_the_processors) {
  const auto tracing = tracing_of(
      {.tasks = {"x"}, .inode = {}, .devices = {}, .buffer_pages = 1, .output = {}, .command = {}});
  ASSERT_TRUE(tracing);
  EXPECT_EQ(tracing->request.ring_bytes, 64U << 10U);
}

} // namespace
} // namespace iotrail::compat::eziotracer
