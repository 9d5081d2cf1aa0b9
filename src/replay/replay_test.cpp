// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <thread>

#include "replay/initial_state.hpp"
#include "replay/order.hpp"
#include "replay/place.hpp"
#include "replay/runner.hpp"

namespace iotrail::replay {
namespace {

namespace fs = std::filesystem;

class ReplayTest : public testing::Test {
protected:
  fs::path folder_ = fs::path(testing::TempDir()) / "replay_test";

  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directory(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Plan plan_;
  std::uint64_t now_ns_ = 0;

  // One after another, in thread `tid`, on the file with the key that its path gets.
  Action& add(Kind kind, const std::string& path, std::uint64_t position = 0,
              std::uint64_t bytes = 0) {
    Action action{.begin_ns = now_ns_,
                  .end_ns = now_ns_ + 5,
                  .position = position,
                  .bytes = bytes,
                  .pid = 1,
                  .tid = 1,
                  .path = path_of(path),
                  .kind = kind};
    now_ns_ += 10;
    const bool is_named = kind == Kind::unlink || kind == Kind::rename || kind == Kind::link ||
                          kind == Kind::make_directory || kind == Kind::look_up;
    action.file = is_named ? 0 : action.path + 1;
    plan_.actions.push_back(action);
    return plan_.actions.back();
  }
  std::uint32_t path_of(const std::string& path) {
    const auto found = std::ranges::find(plan_.paths, path);
    if (found != plan_.paths.end())
      return static_cast<std::uint32_t>(found - plan_.paths.begin());
    plan_.paths.push_back(path);
    return static_cast<std::uint32_t>(plan_.paths.size() - 1);
  }
  Outcome replayed() {
    const auto place = Place::open(folder_ / "place", false);
    EXPECT_TRUE(place.has_value());
    EXPECT_TRUE(prepare(initial_state(plan_), *place).has_value());
    auto outcome = run(plan_, *place, 0);
    EXPECT_TRUE(outcome.has_value());
    return *outcome;
  }
};

TEST(PathBelowRoot, leads_nowhere_else) {
  EXPECT_EQ(path_below_root("/a/./b//c"), "a/b/c");
  EXPECT_EQ(path_below_root("/a/../../../b"), "b");
  EXPECT_EQ(path_below_root("/a/b/../.."), "");
  EXPECT_EQ(path_below_root("/a (deleted)"), "a");
}

TEST_F(ReplayTest, files_have_data_where_they_are_read_first) {
  add(Kind::open, "d/old");
  add(Kind::read, "d/old", 8192, 100);
  add(Kind::open, "d/new").flags = O_CREAT | O_RDWR;
  add(Kind::write, "d/new", 0, 50);
  add(Kind::read, "d/new", 0, 50);
  add(Kind::open, "d/maybe").flags = O_CREAT | O_RDWR;
  add(Kind::read, "d/maybe", 0, 7);
  add(Kind::make_directory, "made");
  add(Kind::open, "made/inside").flags = O_CREAT | O_WRONLY;
  add(Kind::look_up, "missing").error = -ENOENT;
  const InitialState state = initial_state(plan_);
  EXPECT_EQ(state.directories, std::vector<std::string>{"d"});
  std::vector<std::string> files;
  for (const auto& [path, data] : state.files)
    files.push_back(path);
  EXPECT_EQ(files, (std::vector<std::string>{"d/maybe", "d/old"}));
  EXPECT_EQ(state.files.at("d/old").end(), 8292U);
  EXPECT_EQ(state.data_bytes, 107U);
  const Outcome outcome = replayed();
  EXPECT_EQ(outcome.differed(), 0U) << outcome.differences.front();
  EXPECT_EQ(outcome.calls(), plan_.actions.size());
  EXPECT_EQ(fs::file_size(folder_ / "place/d/old"), 8292U);
  EXPECT_TRUE(fs::exists(folder_ / "place/made/inside"));
}

TEST_F(ReplayTest, names_change_as_recorded) {
  add(Kind::open, "a").flags = O_CREAT | O_WRONLY;
  add(Kind::write, "a", 4096, 4096);
  add(Kind::truncate, "a", 0, 6000);
  add(Kind::rename, "a").to_path = path_of("b");
  add(Kind::link, "b").to_path = path_of("c");
  add(Kind::unlink, "b");
  add(Kind::unlink, "b").error = -ENOENT;
  add(Kind::sync, "a");
  add(Kind::close, "a");
  const Outcome outcome = replayed();
  EXPECT_EQ(outcome.differed(), 0U) << outcome.differences.front();
  EXPECT_FALSE(fs::exists(folder_ / "place/a"));
  EXPECT_FALSE(fs::exists(folder_ / "place/b"));
  EXPECT_EQ(fs::file_size(folder_ / "place/c"), 6000U);
}

TEST_F(ReplayTest, a_rename_that_must_not_replace_replaces_nothing) {
  add(Kind::open, "a").flags = O_CREAT | O_WRONLY;
  add(Kind::open, "b").flags = O_CREAT | O_WRONLY;
  add(Kind::rename, "a").to_path = path_of("b");
  plan_.actions.back().error = -EEXIST;
  const Outcome outcome = replayed();
  EXPECT_EQ(outcome.differed(), 0U) << outcome.differences.front();
  EXPECT_TRUE(fs::exists(folder_ / "place/a"));
}

TEST_F(ReplayTest, other_results_are_named) {
  add(Kind::look_up, "missing");
  plan_.actions.back().error = -ENOENT;
  add(Kind::open, "missing").flags = O_CREAT | O_EXCL | O_WRONLY;
  add(Kind::open, "missing").error = -ENOENT;
  const Outcome outcome = replayed();
  EXPECT_EQ(outcome.differed(), 1U);
  EXPECT_EQ(outcome.differences,
            std::vector<std::string>{"open of /missing at 20 ns: recorded No such file or "
                                     "directory (ENOENT), replayed success"});
}

TEST_F(ReplayTest, nothing_outside_is_reached) {
  std::ofstream(folder_ / "outside") << "untouched";
  const auto place = Place::open(folder_ / "place", false);
  ASSERT_TRUE(place.has_value());
  fs::create_symlink("../outside", folder_ / "place/link");
  fs::create_symlink("..", folder_ / "place/up");
  for (const std::string path : {"link", "up/outside", "../outside", "up/../outside"}) {
    EXPECT_LT(place->open_file(path, O_WRONLY | O_TRUNC), 0) << path;
    EXPECT_LT(place->open_file(path, O_WRONLY | O_CREAT), 0) << path;
  }
  EXPECT_LT(place->unlink("up/outside"), 0);
  EXPECT_LT(place->rename("up/outside", "x"), 0);
  EXPECT_LT(place->link("up/outside", "x"), 0);
  EXPECT_LT(place->make_directory("up/x"), 0);
  EXPECT_LT(place->open_file((folder_ / "outside").native(), O_WRONLY), 0) << "an absolute path";
  std::string content;
  std::getline(std::ifstream(folder_ / "outside"), content);
  EXPECT_EQ(content, "untouched");
}

TEST_F(ReplayTest, only_a_new_place_is_written) {
  std::ofstream(folder_ / "file") << "x";
  EXPECT_EQ(Place::open(folder_, false).error().why,
            "the directory is not empty, and nothing is written over");
  EXPECT_TRUE(Place::open(folder_, true).has_value());
  EXPECT_FALSE(Place::open(folder_ / "file", false).has_value());
  EXPECT_FALSE(Place::open(folder_ / "no/such", false).has_value());
}

TEST_F(ReplayTest, calls_at_the_same_time_have_threads_of_their_own) {
  for (const std::uint64_t begin : {0, 5, 20, 25, 50})
    add(Kind::read, "a").begin_ns = begin;
  const std::uint64_t ends[] = {10, 30, 22, 28, 60}; // the second overlaps with three others
  for (std::size_t i = 0; i < 5; ++i)
    plan_.actions[i].end_ns = ends[i];
  plan_.actions[4].tid = 2;
  const Workers workers = share_out(plan_);
  EXPECT_EQ(workers.threads, 2U);
  EXPECT_EQ(workers.actions, (std::vector<std::vector<std::uint32_t>>{{0, 2, 3, 4}, {1}}));
}

TEST_F(ReplayTest, a_call_waits_for_those_that_were_over) {
  for (const std::uint64_t begin : {0, 1, 20})
    add(Kind::read, "a").begin_ns = begin;
  const std::uint64_t ends[] = {30, 10, 40};
  for (std::size_t i = 0; i < 3; ++i)
    plan_.actions[i].end_ns = ends[i];
  EndOrder order(plan_);
  order.wait_for_turn(0);
  order.wait_for_turn(1); // overlaps with the first one
  std::atomic<bool> is_third_on = false;
  std::jthread third([&] {
    order.wait_for_turn(2);
    is_third_on = true;
  });
  EXPECT_FALSE(is_third_on);
  order.end(1);
  third.join(); // although the first one is not over
  EXPECT_TRUE(is_third_on);
}

TEST(Ranges, have_gaps) {
  Ranges ranges;
  ranges.add(10, 20);
  ranges.add(30, 40);
  ranges.add(20, 25);
  ranges.add(7, 7);
  std::string gaps;
  ranges.for_each_gap(0, 50, [&](std::uint64_t begin, std::uint64_t end) {
    gaps += fmt::format("{}-{} ", begin, end);
  });
  EXPECT_EQ(gaps, "0-10 25-30 40-50 ");
  EXPECT_EQ(ranges.bytes(), 25U);
  ranges.add(0, UINT64_MAX);
  EXPECT_EQ(ranges.bytes(), UINT64_MAX);
}

} // namespace
} // namespace iotrail::replay
