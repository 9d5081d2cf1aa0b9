// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/arena_file.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

namespace iotrail::capture::preload {
namespace {

namespace fs = std::filesystem;

Result<ArenaFile> make_arena() {
  const Tasks tasks;
  return ArenaFile::create(1024, ClockKind::monotonic, {}, tasks);
}

pid_t dead_pid() {
  const pid_t pid = fork();
  if (pid == 0)
    _exit(0);
  waitpid(pid, nullptr, 0);
  return pid;
}

// An arena renamed as if a recorder with this pid had made it.
fs::path renamed(const fs::path& directory, pid_t pid) {
  const std::string name = directory.filename();
  const std::string prefix = name.substr(0, name.find_first_of("0123456789"));
  return directory.parent_path() / fmt::format("{}{}-test", prefix, pid);
}

// The pid in the name is from the recorder's own pid namespace: here it may belong to no process.
TEST(ArenaFile, the_arena_of_a_living_recorder_is_left_alone_whatever_its_pid) {
  const auto living = make_arena();
  ASSERT_TRUE(living) << living.error().message();
  const fs::path directory = living->path().parent_path();
  const fs::path elsewhere = renamed(directory, dead_pid());
  fs::rename(directory, elsewhere);
  EXPECT_TRUE(make_arena());
  EXPECT_TRUE(fs::exists(elsewhere / living->path().filename()));
  EXPECT_FALSE(living->is_removed());
  fs::rename(elsewhere, directory); // back to the place that is cleaned
}

TEST(ArenaFile, an_unlocked_arena_is_removed_even_if_its_pid_is_used_again) {
  const auto arena = make_arena();
  ASSERT_TRUE(arena) << arena.error().message();
  const fs::path abandoned = renamed(arena->path().parent_path(), getpid());
  fs::create_directory(abandoned);
  EXPECT_TRUE(make_arena());
  EXPECT_FALSE(fs::exists(abandoned));
}

TEST(ArenaFile, it_detects_the_loss_of_its_name_and_leaves_nothing_behind) {
  fs::path directory;
  {
    const auto arena = make_arena();
    ASSERT_TRUE(arena) << arena.error().message();
    directory = arena->path().parent_path();
    EXPECT_FALSE(arena->is_removed());
    fs::remove(arena->path());
    EXPECT_TRUE(arena->is_removed());
  }
  EXPECT_FALSE(fs::exists(directory));
}

} // namespace
} // namespace iotrail::capture::preload
