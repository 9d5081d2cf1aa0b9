// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/part_writer.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <vector>

#include <gtest/gtest.h>

namespace iotrail::output::iotrc {
namespace {

namespace fs = std::filesystem;

class IotrcParts : public ::testing::Test {
protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "iotrc-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    options_.compression = Compression::none;
  }
  void TearDown() override { fs::remove_all(folder_); }

  // Texts of the files that rows at these times make.
  std::vector<std::string> write(const std::vector<std::uint64_t>& times_ns) {
    const OutputDirectory directory(folder_);
    PartWriter parts(directory, options_, "a/fs", "fs", "at\n");
    for (const std::uint64_t at : times_ns)
      EXPECT_TRUE(parts.put(std::to_string(at) + "\n", at, at));
    EXPECT_TRUE(parts.finish());
    EXPECT_EQ(parts.rows(), times_ns.size());
    directory.keep();
    std::vector<fs::path> names;
    if (fs::exists(folder_ / "a/fs"))
      for (const auto& entry : fs::directory_iterator(folder_ / "a/fs"))
        names.push_back(entry.path());
    std::ranges::sort(names, {}, [](const fs::path& path) {
      return path.stem().stem().native().substr(path.stem().stem().native().rfind('_'));
    });
    std::vector<std::string> texts;
    for (const fs::path& path : names) {
      std::ostringstream text;
      text << std::ifstream(path).rdbuf();
      texts.push_back(text.str());
    }
    return texts;
  }

  fs::path folder_;
  Options options_;
};

TEST_F(IotrcParts, no_rows_make_no_file) {
  EXPECT_TRUE(write({}).empty());
  EXPECT_FALSE(fs::exists(folder_ / "a"));
}

TEST_F(IotrcParts, each_limit_begins_a_file_with_the_header) {
  options_.limits.rows = 2;
  EXPECT_EQ(write({1, 2, 3}), (std::vector<std::string>{"at\n1\n2\n", "at\n3\n"}));
}

TEST_F(IotrcParts, age_is_between_the_first_and_the_last_row) {
  options_.limits.age_ns = 10;
  EXPECT_EQ(write({1, 11, 12}), (std::vector<std::string>{"at\n1\n11\n", "at\n12\n"}));
}

TEST_F(IotrcParts, size_is_of_the_text) {
  options_.limits.size_bytes = 7; // the header and two rows
  EXPECT_EQ(write({1, 2, 3}), (std::vector<std::string>{"at\n1\n2\n", "at\n3\n"}));
}

TEST(IotrcDates, are_in_utc) {
  EXPECT_EQ(date_text(1'700'000'000'123'456'789), "2023-11-14 22:13:20.123456");
  EXPECT_EQ(date_name(1'700'000'000'123'456'789), "20231114_221320_123");
  EXPECT_EQ(date_text(0), "1970-01-01 00:00:00.000000");
}

} // namespace
} // namespace iotrail::output::iotrc
