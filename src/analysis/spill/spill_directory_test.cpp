// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/spill/spill_directory.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

#include "test_trace.hpp"

namespace iotrail::analysis {
namespace {

namespace fs = std::filesystem;

// A directory as a killed process leaves it.
fs::path left_in(const fs::path& parent, const char* name, mode_t mode = 0700) {
  fs::path path = parent / name;
  ::mkdir(path.c_str(), mode);
  ::chmod(path.c_str(), mode);
  std::ofstream(path / "data.tmp") << "x";
  return path;
}

TEST(SpillDirectory, one_of_a_dead_process_is_removed_and_no_other) {
  const golden::TestTrace trace("");
  const fs::path parent = trace.directory() / "tmp";
  fs::create_directory(parent);
  const fs::path left = left_in(parent, "iotrail-spill-left00");
  const fs::path shared = left_in(parent, "iotrail-spill-shared", 0755);
  const fs::path other = left_in(parent, "iotrail-other0");
  const fs::path elsewhere = left_in(trace.directory(), "elsewhere");
  fs::create_directory_symlink(elsewhere, parent / "iotrail-spill-link00");
  std::string living;
  {
    const store::TemporaryFiles files;
    const SpillDirectory first(parent, files);
    const SpillDirectory second(parent, files); // finds the first one, which is in use
    EXPECT_TRUE(fs::exists(first.path()));
    EXPECT_TRUE(fs::exists(second.path()));
    EXPECT_NE(first.path(), second.path());
    living = first.path();
  }
  EXPECT_FALSE(fs::exists(living));
  EXPECT_FALSE(fs::exists(left));
  for (const fs::path& kept : {shared, other, elsewhere})
    EXPECT_TRUE(fs::exists(kept / "data.tmp")) << kept;
}

TEST(SpillDirectory, without_a_directory_for_temporary_files_there_is_none) {
  const store::TemporaryFiles files;
  EXPECT_EQ(SpillDirectory("/nonexistent", files).path(), "");
}

} // namespace
} // namespace iotrail::analysis
