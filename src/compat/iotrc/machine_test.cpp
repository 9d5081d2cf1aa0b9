// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/machine.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "analysis/engine/duckdb_library.hpp"
#include "compat/iotrc/upload.hpp"

namespace iotrail::compat::iotrc {
namespace {

namespace fs = std::filesystem;
constexpr std::uint64_t kGiB = 1ULL << 30U;

TEST(IotrcStreams, a_large_machine_adds_streams) {
  const Resources large{
      .cores = 8, .memory_bytes = 16 * kGiB, .available_bytes = 2 * kGiB, .link_mbps = 10};
  EXPECT_TRUE(choose_streams(large, {}).cache);
  EXPECT_TRUE(choose_streams(large, {}).network);
}

TEST(IotrcStreams, each_threshold_counts) {
  const Resources large{
      .cores = 8, .memory_bytes = 16 * kGiB, .available_bytes = 2 * kGiB, .link_mbps = 10};
  for (auto lower : {+[](Resources& r) { r.cores = 7; }, +[](Resources& r) { --r.memory_bytes; },
                     +[](Resources& r) { --r.available_bytes; }}) {
    Resources small = large;
    lower(small);
    EXPECT_FALSE(choose_streams(small, {}).cache);
    EXPECT_FALSE(choose_streams(small, {}).network);
  }
  Resources slow = large;
  slow.link_mbps = 9;
  EXPECT_TRUE(choose_streams(slow, {}).cache);
  EXPECT_FALSE(choose_streams(slow, {}).network);
}

TEST(IotrcStreams, what_was_asked_for_stays) {
  const StreamChoice chosen = choose_streams({}, {.cache = true, .network = true});
  EXPECT_TRUE(chosen.cache);
  EXPECT_TRUE(chosen.network);
}

TEST(IotrcHash, is_sha256) {
  const auto digits = analysis::sha256_digits("abc");
  ASSERT_TRUE(digits);
  EXPECT_EQ(*digits, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
}

TEST(IotrcUpload, a_second_call_completes_the_first) {
  std::string name = (fs::temp_directory_path() / "iotrc-XXXXXX").string();
  const fs::path folder = ::mkdtemp(name.data());
  fs::create_directories(folder / "from/s/a");
  fs::create_directories(folder / "to");
  std::ofstream(folder / "from/s/a/x") << "12";
  std::ofstream(folder / "from/s/y") << "3";
  EXPECT_EQ(upload_tree(folder / "from", "s", {.where = folder / "to"}).value_or(0), 2U);
  fs::remove(folder / "to/s/y");
  std::ofstream(folder / "to/s/a/x") << "1"; // shorter: an upload of another program
  EXPECT_EQ(upload_tree(folder / "from", "s", {.where = folder / "to"}).value_or(0), 2U);
  EXPECT_EQ(fs::file_size(folder / "to/s/a/x"), 2U);
  EXPECT_EQ(upload_tree(folder / "from", "s", {.where = folder / "to"}).value_or(9), 0U);
  EXPECT_FALSE(upload_tree(folder / "from", "s", {.where = "/dev/null/x"}));
  fs::remove_all(folder);
}

} // namespace
} // namespace iotrail::compat::iotrc
