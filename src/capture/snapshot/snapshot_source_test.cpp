// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/snapshot_source.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "base/clock.hpp"
#include "capture/session/recorder.hpp"
#include "capture/snapshot/files/baseline_reader.hpp"
#include "capture/snapshot/rows/test_run.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;

class SnapshotSourceTest : public TakingTest {
protected:
  SnapshotSourceTest() { fs::create_directory(root_); }

  Result<std::unique_ptr<Recorder>> open(SnapshotOptions options) {
    trace_ = folder_ / ("trace" + std::to_string(++traces_));
    RecorderOptions recorder;
    recorder.trace = trace_;
    recorder.source.filter.layers = {schema::Layer::snapshot};
    recorder.limits.until_sources_end = true;
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(make_snapshot_source(std::move(options)));
    return Recorder::open(std::move(recorder), std::move(sources));
  }

  // Records until the end, or until `enough` returns true.
  store::Manifest record(SnapshotOptions options, const std::function<bool()>& enough = {}) {
    auto recorder = open(std::move(options));
    EXPECT_TRUE(recorder) << recorder.error().message();
    EXPECT_TRUE((*recorder)->start());
    while ((*recorder)->step(monotonic_ns()) != Step::ended && (!enough || !enough()))
      ::usleep(1000);
    EXPECT_TRUE((*recorder)->stop({.reason = "enough", .command_status = -1}));
    const store::Manifest manifest = (*recorder)->manifest();
    const store::SourceTally& tally = manifest.sources.at(0);
    EXPECT_EQ(tally.produced, tally.written);
    EXPECT_EQ(manifest.state, store::State::COMPLETE);
    return manifest;
  }
  SnapshotWanted files() const { return {.kind = IOT_snapshot_kind_fs, .root = root_}; }

  // "+/a ~/b -/c" from all rows with a difference.
  std::string differences() const {
    std::map<std::string, char> by_path;
    for (const SnapshotRow& row : rows("snapshot_file"))
      if (row["difference"] != IOT_snapshot_difference_none)
        by_path[fs::path(row.text("path")).lexically_relative(fs::canonical(root_))] =
            "?+~-"[row["difference"]];
    std::string text;
    for (const auto& [path, sign] : by_path)
      text += fmt::format("{}{}{}", text.empty() ? "" : " ", sign, path);
    return text;
  }

  fs::path root_ = folder_ / "root";
  int traces_ = 0;
};

TEST_F(SnapshotSourceTest, each_kind_once_and_the_recording_ends) {
  write_file(root_ / "file", "");
  const store::Manifest manifest =
      record({.wanted = {files(),
                         {.kind = IOT_snapshot_kind_process, .root = {}},
                         {.kind = IOT_snapshot_kind_system, .root = {}}},
              .since = {}});
  EXPECT_EQ(manifest.stop_reason, "all is recorded");
  EXPECT_EQ(manifest.counts.at("snapshot_begin"), 3U);
  EXPECT_EQ(manifest.counts.at("snapshot_end"), 3U);
  EXPECT_EQ(manifest.counts.at("snapshot_file"), 2U);
  EXPECT_EQ(manifest.counts.at("snapshot_system"), 1U);
  EXPECT_GT(manifest.counts.at("snapshot_process"), 0U);
  std::map<std::int64_t, std::int64_t> kind_of_number;
  for (const SnapshotRow& row : rows("snapshot_begin"))
    kind_of_number[row["snapshot"]] = row["of"];
  EXPECT_EQ(kind_of_number.size(), 3U);
  for (const SnapshotRow& row : rows("snapshot_end")) {
    EXPECT_EQ(row["is_complete"], 1);
    EXPECT_EQ(kind_of_number.at(row["snapshot"]), row["of"]);
    if (row["of"] == IOT_snapshot_kind_fs) {
      EXPECT_EQ(row["found"], 2);
    }
  }
}

TEST_F(SnapshotSourceTest, deltas_go_on_from_stored_traces) {
  write_file(root_ / "changes", "1");
  write_file(root_ / "goes", "1");
  record({.wanted = {files()}, .since = {}});
  const fs::path whole = trace_;
  EXPECT_EQ(rows("snapshot_begin").at(0)["is_delta"], 0);
  write_file(root_ / "changes", "12");
  fs::remove(root_ / "goes");
  write_file(root_ / "comes", "");
  record({.wanted = {{.kind = IOT_snapshot_kind_fs, .root = {}}}, .since = {whole}});
  const fs::path delta = trace_;
  EXPECT_EQ(differences(), "~. ~changes +comes -goes");
  EXPECT_EQ(rows("snapshot_begin").at(0)["is_delta"], 1);
  EXPECT_FALSE(rows("snapshot_begin").at(0).text("base").empty());
  fs::remove(root_ / "comes");
  record({.wanted = {files()}, .since = {whole, delta}});
  EXPECT_EQ(differences(), "~. -comes");
  record({.wanted = {files()}, .since = {whole, delta, trace_}});
  EXPECT_EQ(differences(), "");
}

TEST_F(SnapshotSourceTest, a_delta_without_its_baseline_is_refused) {
  record({.wanted = {files()}, .since = {}});
  const fs::path whole = trace_;
  record({.wanted = {files()}, .since = {whole}});
  const auto alone = open({.wanted = {files()}, .since = {trace_}});
  ASSERT_FALSE(alone);
  EXPECT_NE(alone.error().message().find("it is a delta of the trace"), std::string::npos);
  const auto elsewhere =
      open({.wanted = {{.kind = IOT_snapshot_kind_fs, .root = "/"}}, .since = {whole}});
  ASSERT_FALSE(elsewhere);
  EXPECT_NE(elsewhere.error().message().find("none that began there"), std::string::npos);
  const auto missing =
      open({.wanted = {{.kind = IOT_snapshot_kind_fs, .root = root_ / "missing"}}, .since = {}});
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ENOENT);
}

TEST_F(SnapshotSourceTest, an_unfinished_snapshot_is_completed_by_a_delta) {
  for (int i = 0; i < 500; ++i) {
    fs::create_directory(root_ / std::to_string(i));
    write_file(root_ / std::to_string(i) / "file", "");
  }
  auto recorder = open({.wanted = {files()}, .since = {}});
  ASSERT_TRUE((*recorder)->start());
  ASSERT_TRUE((*recorder)->stop({}));
  const store::Manifest manifest = (*recorder)->manifest();
  const fs::path first = trace_;
  const std::size_t had = rows("snapshot_file").size();
  ASSERT_EQ(rows("snapshot_end").size(), 1U);
  if (rows("snapshot_end")[0]["is_complete"] == 1)
    GTEST_SKIP() << "the walk was faster than the stop";
  EXPECT_EQ(manifest.counters.at("snapshot_unfinished"), 1U);
  record({.wanted = {files()}, .since = {first}});
  std::size_t added = 0;
  for (const SnapshotRow& row : rows("snapshot_file"))
    added += row["difference"] == IOT_snapshot_difference_added ? 1U : 0U;
  EXPECT_EQ(had + added, 1001U);
  EXPECT_EQ(rows("snapshot_file").size(), added);
}

TEST_F(SnapshotSourceTest, periodic_snapshots_are_deltas_of_one_another) {
  write_file(root_ / "file", "");
  SnapshotWanted wanted = files();
  wanted.period_ns = 20'000'000;
  const std::uint64_t begin_ns = monotonic_ns();
  bool has_changed = false;
  record({.wanted = {wanted}, .since = {}}, [&] {
    const std::uint64_t ago_ns = monotonic_ns() - begin_ns;
    if (ago_ns > 200'000'000 && !has_changed) {
      write_file(root_ / "new", "");
      has_changed = true;
    }
    return ago_ns > 600'000'000;
  });
  EXPECT_GT(rows("snapshot_begin").size(), 5U);
  EXPECT_EQ(rows("snapshot_begin")[0]["is_delta"], 0);
  EXPECT_EQ(rows("snapshot_begin")[1]["is_delta"], 1);
  EXPECT_EQ(rows("snapshot_begin")[1].text("base"), "");
  EXPECT_EQ(differences(), "~. +new");
}

TEST_F(SnapshotSourceTest, a_delta_can_continue_the_trace_of_a_killed_recorder) {
  write_file(root_ / "file", "");
  {
    auto recorder = open({.wanted = {files()}, .since = {}});
    ASSERT_TRUE((*recorder)->start());
    while ((*recorder)->step(monotonic_ns()) != Step::ended)
      ::usleep(1000);
  } // without an end
  const fs::path killed = trace_;
  write_file(root_ / "new", "");
  record({.wanted = {files()}, .since = {killed}});
  EXPECT_EQ(differences(), "~. +new");
}

// Paths and numbers of snapshots that no real snapshot can have.
TEST_F(SnapshotSourceTest, a_hostile_baseline_does_no_harm) {
  take([&](SnapshotRun& run) {
    iot_snapshot_begin begin{};
    begin.of = IOT_snapshot_kind_fs;
    run.add(begin, {{&iot_snapshot_begin::path, fs::canonical(root_).native()}});
    for (const std::string_view path : {"", "/", "//", "relative", "/a/", "/../..", "/root/x\n"}) {
      iot_snapshot_file file{};
      file.mode = S_IFDIR;
      run.add(file, {{&iot_snapshot_file::path, path}});
    }
  });
  const fs::path hostile = trace_;
  write_file(root_ / "file", "");
  record({.wanted = {files()}, .since = {hostile}});
  EXPECT_EQ(differences(), "+. +file");
}

TEST_F(SnapshotSourceTest, a_trace_without_files_is_no_baseline) {
  take([&](SnapshotRun&) {});
  const auto read = read_stored_files(std::vector{trace_});
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().message().find("no snapshot of a file system"), std::string::npos);
}

} // namespace
} // namespace iotrail::capture::snapshot
