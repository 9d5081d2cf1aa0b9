// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/recorder.hpp"

#include <gtest/gtest.h>

#include <ctime>

#include "base/clock.hpp"
#include "capture/session/fake_source.hpp"
#include "store/reader/trace_reader.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

constexpr std::uint64_t kSampleNs = 100'000'000; // so that each step samples losses and limits

class RecorderTest : public ::testing::Test {
protected:
  RecorderTest() { options_.trace = folder_ / "t.iotrail"; }

  std::unique_ptr<Recorder> open() {
    auto recorder = Recorder::open(options_, fake_sources({work_}));
    EXPECT_TRUE(recorder) << recorder.error().message();
    return recorder ? std::move(*recorder) : nullptr;
  }
  std::unique_ptr<Recorder> start() {
    auto recorder = open();
    const Result<void> started = recorder->start();
    EXPECT_TRUE(started) << started.error().message();
    now_ns_ = monotonic_ns();
    return recorder;
  }
  Step step(Recorder& recorder) { return recorder.step(now_ns_ += kSampleNs); }

  std::unique_ptr<store::TraceReader> read() {
    auto reader = store::TraceReader::open(options_.trace);
    EXPECT_TRUE(reader) << reader.error().message();
    return std::move(*reader);
  }
  // Sum of a column, or number of rows.
  std::uint64_t sum(std::string_view table, std::string_view column = {}) {
    const auto reader = read();
    std::uint64_t sum = 0;
    for (const store::BlockInfo& block : reader->blocks()) {
      const store::TableInfo* info = reader->table(block.kind);
      if (info->name != table)
        continue;
      if (column.empty()) {
        sum += block.rows;
        continue;
      }
      const auto columns = reader->read(block);
      EXPECT_TRUE(columns);
      for (const std::uint64_t value :
           std::get<store::Numbers>(columns->at(static_cast<std::size_t>(info->column(column)))))
        sum += value;
    }
    return sum;
  }

  store::testing::TemporaryDirectory folder_;
  RecorderOptions options_;
  std::shared_ptr<FakeWork> work_ = std::make_shared<FakeWork>();
  std::uint64_t now_ns_ = 0;
};

TEST_F(RecorderTest, produced_is_written_plus_lost) {
  *work_ = {.produced = 100'000, .lost = 77, .each_drain = 1000};
  const auto recorder = start();
  while (step(*recorder) != Step::idle) {
  }
  ASSERT_TRUE(recorder->stop({.reason = "enough", .command_status = 3}));
  const store::Manifest& manifest = recorder->manifest();
  const store::SourceTally& tally = manifest.sources.at(0);
  EXPECT_EQ(tally.produced, 100'000U);
  EXPECT_EQ(tally.written, 99'923U);
  EXPECT_EQ(tally.lost, 77U);
  EXPECT_EQ(manifest.counters.at("preload_ring_full"), 77U);
  EXPECT_EQ(manifest.counts.at("app_write"), 99'923U);
  EXPECT_EQ(manifest.state, store::State::COMPLETE);
  EXPECT_EQ(manifest.stop_reason, "enough");
  EXPECT_EQ(sum("app_write"), 99'923U);
}

TEST_F(RecorderTest, the_trace_has_the_result_of_stop) {
  *work_ = {.produced = 10, .lost = 3};
  options_.tags = {{"run", "7"}};
  const auto recorder = start();
  ASSERT_TRUE(recorder->stop({.reason = "enough", .command_status = 3}));
  EXPECT_EQ(store::to_json(read()->manifest()), store::to_json(recorder->manifest()));
}

TEST_F(RecorderTest, a_step_drains_and_says_whether_more_may_come) {
  *work_ = {.produced = 5000, .each_drain = 2000};
  const auto recorder = start();
  EXPECT_EQ(step(*recorder), Step::busy);
  EXPECT_EQ(step(*recorder), Step::busy);
  EXPECT_EQ(step(*recorder), Step::calm);
  EXPECT_EQ(step(*recorder), Step::idle);
  EXPECT_LT(wait_ms(Step::busy), wait_ms(Step::calm));
  work_->produced = 5001;
  EXPECT_EQ(step(*recorder), Step::calm);
}

TEST_F(RecorderTest, few_records_for_large_rings_are_many_for_small_ones) {
  options_.source.ring_bytes = 32 << 10;
  *work_ = {.produced = 31, .each_drain = 16};
  const auto recorder = start();
  EXPECT_EQ(step(*recorder), Step::busy);
  EXPECT_EQ(step(*recorder), Step::calm);
}

TEST_F(RecorderTest, a_stop_in_the_middle_drains_the_sources) {
  *work_ = {.produced = 1000, .after_stop = 30, .each_drain = 10};
  const auto recorder = start();
  EXPECT_EQ(step(*recorder), Step::calm);
  ASSERT_TRUE(recorder->stop({}));
  EXPECT_TRUE(work_->is_stopped);
  EXPECT_EQ(recorder->manifest().sources.at(0).written, 1000U);
  EXPECT_EQ(sum("app_write"), 1000U);
}

TEST_F(RecorderTest, a_checkpoint_can_be_read_during_the_recording) {
  *work_ = {.produced = 1000, .lost = 3, .each_drain = 10};
  const auto recorder = start();
  step(*recorder);
  const Result<store::Manifest> now = recorder->checkpoint();
  ASSERT_TRUE(now) << now.error().message();
  EXPECT_EQ(now->sources.at(0).written, 997U);
  EXPECT_EQ(now->counters.at("preload_ring_full"), 3U);
  EXPECT_EQ(sum("app_write"), 997U);
  EXPECT_EQ(read()->manifest().state, store::State::RUNNING);

  work_->produced = 1500;
  ASSERT_TRUE(recorder->stop({}));
  ASSERT_EQ(recorder->manifest().sources.size(), 1U);
  EXPECT_EQ(recorder->manifest().sources.at(0).written, 1497U);
  EXPECT_EQ(recorder->manifest().counters.at("preload_ring_full"), 3U);
}

TEST_F(RecorderTest, all_sources_follow_one_more_process_even_if_one_cannot) {
  const auto kernel = std::make_shared<FakeWork>();
  *work_ = {.fails_at = "follow"};
  *kernel = {.name = "kernel"};
  auto recorder = Recorder::open(options_, fake_sources({work_, kernel}));
  ASSERT_TRUE(recorder) << recorder.error().message();
  ASSERT_TRUE((*recorder)->start());
  EXPECT_FALSE((*recorder)->follow(77));
  EXPECT_EQ(kernel->followed, 77);
  work_->fails_at = "";
  EXPECT_TRUE((*recorder)->follow(78));
}

TEST_F(RecorderTest, each_loss_is_a_row_of_the_time_in_which_it_arose) {
  *work_ = {.produced = 10, .lost = 3};
  const auto recorder = start();
  step(*recorder);
  step(*recorder); // no new loss: no row
  work_->produced = 15;
  work_->lost = 8;
  step(*recorder);
  ASSERT_TRUE(recorder->stop({}));
  EXPECT_EQ(sum("losses"), 2U);
  EXPECT_EQ(sum("losses", "events"), 8U);
  EXPECT_LT(sum("losses", "from_ns"), sum("losses", "to_ns"));
}

TEST_F(RecorderTest, a_span_that_was_lost_began_before_it_was_counted) {
  const auto recorder = start();
  const auto lose = [&](std::uint64_t longest_ns) {
    ++work_->produced;
    ++work_->lost;
    work_->longest_lost_ns = longest_ns;
    step(*recorder);
    ASSERT_TRUE(recorder->checkpoint());
  };
  const std::uint64_t begin_ns = recorder->manifest().begin_ns;
  const std::uint64_t before_ns = monotonic_ns();
  lose(0);
  EXPECT_EQ(sum("losses", "from_ns"), begin_ns);
  const std::uint64_t sampled_ns = sum("losses", "to_ns");
  EXPECT_GE(sampled_ns, before_ns) << "when it was counted";
  EXPECT_LE(sampled_ns, monotonic_ns());
  lose(1);
  EXPECT_EQ(sum("losses", "from_ns"), begin_ns + sampled_ns - 1);
  lose(1000 * kSampleNs); // longer than the recording
  EXPECT_EQ(sum("losses", "from_ns"), begin_ns + sampled_ns - 1 + begin_ns);
}

TEST_F(RecorderTest, each_source_has_its_own_account) {
  const auto kernel = std::make_shared<FakeWork>();
  *work_ = {.produced = 5, .lost = 1};
  *kernel = {.name = "kernel", .produced = 70, .lost = 2};
  auto recorder = Recorder::open(options_, fake_sources({work_, kernel}));
  ASSERT_TRUE(recorder) << recorder.error().message();
  ASSERT_TRUE((*recorder)->start());
  ASSERT_TRUE((*recorder)->stop({}));
  const auto& sources = (*recorder)->manifest().sources;
  ASSERT_EQ(sources.size(), 2U);
  EXPECT_EQ(sources[0].written, 4U);
  EXPECT_EQ(sources[0].lost, 1U);
  EXPECT_EQ(sources[1].written, 68U);
  EXPECT_EQ(sources[1].lost, 2U);
  EXPECT_EQ((*recorder)->manifest().ring_memory_bytes, 16384U);
}

TEST_F(RecorderTest, the_time_limit_ends_it) {
  options_.limits.time_ns = 3 * kSampleNs;
  const auto recorder = start();
  while (step(*recorder) != Step::ended)
    ASSERT_LT(now_ns_ - recorder->manifest().begin_ns, options_.limits.time_ns);
  EXPECT_GE(now_ns_ - recorder->manifest().begin_ns, options_.limits.time_ns);
  ASSERT_TRUE(recorder->stop({.reason = "asked to"}));
  EXPECT_EQ(recorder->manifest().stop_reason, "time limit");
}

TEST_F(RecorderTest, the_size_limit_ends_it) {
  *work_ = {.produced = 1'000'000, .each_drain = 20'000};
  options_.limits.size_bytes = 10'000;
  const auto recorder = start();
  Step last = Step::idle;
  const std::uint64_t until_ns = monotonic_ns() + 10'000'000'000U;
  while ((last = step(*recorder)) != Step::ended && monotonic_ns() < until_ns) {
  }
  ASSERT_EQ(last, Step::ended);
  ASSERT_TRUE(recorder->stop({}));
  EXPECT_EQ(recorder->manifest().stop_reason, "size limit");
  EXPECT_GE(recorder->manifest().events_bytes, 10'000U);
}

TEST_F(RecorderTest, a_source_that_does_not_open_leaves_the_others_recording) {
  const auto kernel = std::make_shared<FakeWork>();
  *kernel = {.name = "kernel", .fails_at = "open"};
  work_->produced = 5;
  auto opened = Recorder::open(options_, fake_sources({kernel, work_}));
  ASSERT_TRUE(opened) << opened.error().message();
  Recorder& recorder = **opened;
  ASSERT_EQ(recorder.refusals().size(), 1U);
  EXPECT_EQ(recorder.refusals().front().source, "kernel");
  ASSERT_TRUE(recorder.start());
  EXPECT_FALSE(kernel->is_started);
  ASSERT_TRUE(recorder.stop({}));
  ASSERT_EQ(recorder.manifest().sources.size(), 1U);
  EXPECT_EQ(recorder.manifest().sources.front().name, "preload");
  EXPECT_EQ(recorder.manifest().hooks.at(0).hook, "");
  EXPECT_EQ(recorder.manifest().hooks.at(0).reason, "not permitted");
  EXPECT_EQ(recorder.manifest().hooks.at(1).hook, "fake");
}

TEST_F(RecorderTest, without_a_source_the_error_says_why) {
  work_->fails_at = "open";
  const auto refused = Recorder::open(options_, fake_sources({work_}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().why, "not permitted");
  EXPECT_FALSE(Recorder::open(options_, {}));
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

TEST_F(RecorderTest, a_source_that_does_not_start_leaves_no_trace) {
  work_->fails_at = "start";
  const auto recorder = open();
  const Result<void> started = recorder->start();
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().why, "not permitted");
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
  EXPECT_EQ(work_.use_count(), 1) << "the source is still there";
}

TEST_F(RecorderTest, a_trace_that_exists_is_left_alone) {
  ASSERT_TRUE(start()->stop({}));
  const auto recorder = open();
  EXPECT_FALSE(recorder->start());
  EXPECT_EQ(read()->manifest().state, store::State::COMPLETE);
}

TEST_F(RecorderTest, a_source_that_does_not_stop_leaves_a_closed_trace_that_says_so) {
  const auto kernel = std::make_shared<FakeWork>();
  *kernel = {.name = "kernel", .produced = 7, .fails_at = "stop"};
  *work_ = {.produced = 1000, .after_stop = 1};
  auto recorder = Recorder::open(options_, fake_sources({kernel, work_}));
  ASSERT_TRUE(recorder) << recorder.error().message();
  ASSERT_TRUE((*recorder)->start());
  const Result<void> stopped = (*recorder)->stop({});
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().why, "not permitted");
  EXPECT_TRUE(work_->is_stopped) << "the other one is still running";
  const store::Manifest manifest = read()->manifest();
  EXPECT_EQ(manifest.state, store::State::ERROR);
  EXPECT_EQ(manifest.stop_reason, stopped.error().line());
  EXPECT_EQ(manifest.sources.size(), 2U);
  EXPECT_GT(manifest.end_ns, manifest.begin_ns);
  EXPECT_EQ(sum("app_write"), 1000U);
  EXPECT_EQ(sum("syscall_write"), 7U);
}

TEST_F(RecorderTest, a_trace_that_was_moved_is_said_to_be_where_it_is) {
  for (const bool is_replaced : {false, true}) {
    const auto recorder = start();
    const auto moved = folder_ / fmt::format("moved-{}.iotrail", is_replaced);
    std::filesystem::rename(options_.trace, moved);
    if (is_replaced)
      std::filesystem::create_directory(options_.trace);
    const auto stopped = recorder->stop({.reason = "enough"});
    ASSERT_FALSE(stopped);
    const std::string message = stopped.error().message();
    EXPECT_NE(message.find("moved meanwhile, to " + moved.string()), std::string::npos) << message;
    EXPECT_EQ(message.find("something else") != std::string::npos, is_replaced) << message;
    EXPECT_EQ(store::read_manifest(moved)->state, store::State::COMPLETE);
  }
}

TEST_F(RecorderTest, its_cpu_time_begins_with_the_recording) {
  const auto recorder = open();
  const auto cpu_ns = [] {
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000U +
           static_cast<std::uint64_t>(now.tv_nsec);
  };
  const std::uint64_t begin_ns = cpu_ns();
  while (cpu_ns() - begin_ns < 300'000'000U)
    continue;
  ASSERT_TRUE(recorder->start());
  ASSERT_TRUE(recorder->stop({}));
  EXPECT_LT(recorder->manifest().recorder_cpu_ns, 300'000'000U);
  EXPECT_GT(recorder->manifest().recorder_cpu_ns, 0U);
}

TEST_F(RecorderTest, destroyed_without_stop_it_leaves_a_readable_trace_without_an_end) {
  *work_ = {.produced = 150, .each_drain = 100};
  auto recorder = start();
  step(*recorder);
  recorder.reset();
  EXPECT_EQ(read()->manifest().state, store::State::INCOMPLETE);
  EXPECT_EQ(sum("app_write"), 100U);
}

TEST_F(RecorderTest, discarded_it_leaves_nothing) {
  work_->produced = 5;
  const auto recorder = start();
  step(*recorder);
  EXPECT_TRUE(std::filesystem::exists(options_.trace));
  recorder->discard();
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

} // namespace
} // namespace iotrail::capture
