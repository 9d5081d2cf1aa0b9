// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session.hpp"

#include <gtest/gtest.h>

#include <stdlib.h>

#include <algorithm>

#include "base/clock.hpp"
#include "store/trace_reader.hpp"

namespace iotrail::capture {
namespace {

// Makes `total` writes, of which the last `lost` find the ring full.
class FakeSource : public Source {
public:
  FakeSource(std::uint64_t total, std::uint64_t lost, bool opens = true)
      : total_(total), lost_(lost), opens_(opens) {}

  std::string_view name() const override { return "preload"; }
  Result<void> open(const SourceOptions&) override {
    return opens_ ? Result<void>{} : fail("fake source", "not permitted");
  }
  std::vector<std::string> child_environment() const override { return {"FAKE_SOURCE=here"}; }
  Result<void> start() override { return {}; }
  std::size_t drain(store::TraceWriter& writer) override {
    const std::uint64_t delivered = total_ - lost_;
    const std::uint64_t now = std::min(delivered, drained_ + 100);
    const std::uint64_t before = std::exchange(drained_, now);
    for (std::uint64_t number = before; number < now; ++number) {
      io_app_write write{};
      write.event = {.ts_ns = monotonic_ns(),
                     .op_id = number + 1,
                     .pid = 1,
                     .tid = 1,
                     .cpu = IO_CPU_UNKNOWN,
                     .kind = IO_KIND_app_write,
                     .tag = 0};
      writer.append(write.event);
    }
    return now - before;
  }
  Result<void> stop() override { return {}; }
  std::uint64_t produced() const override { return total_; }
  std::vector<CounterValue> counters() const override {
    return {{IO_COUNTER_preload_ring_full, IO_LAYER_app, lost_}};
  }
  std::vector<store::HookReport> hooks() const override { return {}; }
  std::size_t ring_memory_bytes() const override { return 0; }

private:
  std::uint64_t total_;
  std::uint64_t lost_;
  bool opens_;
  std::uint64_t drained_ = 0;
};

class SessionTest : public ::testing::Test {
protected:
  SessionTest() {
    char name[] = "/tmp/iotrail-session-XXXXXX";
    folder_ = ::mkdtemp(name);
    options_.trace = folder_ / "t.iotrail";
  }
  ~SessionTest() override { std::filesystem::remove_all(folder_); }

  Result<SessionSummary> run(std::unique_ptr<Source> source) {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(std::move(source));
    return run_session(options_, std::move(sources),
                       [](const store::Manifest&, const std::vector<Refusal>&) {});
  }

  std::filesystem::path folder_;
  SessionOptions options_;
};

TEST_F(SessionTest, produced_is_written_plus_lost) {
  options_.command = {"true"};
  auto summary = run(std::make_unique<FakeSource>(100'000, 77));
  ASSERT_TRUE(summary) << summary.error().message();
  const store::SourceTally& tally = summary->manifest.sources.at(0);
  EXPECT_EQ(tally.produced, 100'000U);
  EXPECT_EQ(tally.written, 99'923U);
  EXPECT_EQ(tally.lost, 77U);
  EXPECT_EQ(summary->manifest.counters.at("preload_ring_full"), 77U);
  EXPECT_EQ(summary->manifest.state, store::State::COMPLETE);
}

TEST_F(SessionTest, losses_are_rows_between_two_times) {
  options_.command = {"true"};
  ASSERT_TRUE(run(std::make_unique<FakeSource>(10, 3)));
  auto reader = store::TraceReader::open(options_.trace);
  ASSERT_TRUE(reader) << reader.error().message();
  const store::TableInfo* losses = (*reader)->table("losses");
  ASSERT_NE(losses, nullptr);
  std::uint64_t events = 0;
  for (const store::BlockInfo& block : (*reader)->blocks()) {
    if (block.kind != losses->kind)
      continue;
    auto columns = (*reader)->read(block);
    ASSERT_TRUE(columns);
    const auto& from =
        std::get<store::Numbers>(columns->at(static_cast<std::size_t>(losses->column("from_ns"))));
    const auto& to =
        std::get<store::Numbers>(columns->at(static_cast<std::size_t>(losses->column("to_ns"))));
    const auto& count =
        std::get<store::Numbers>(columns->at(static_cast<std::size_t>(losses->column("events"))));
    for (std::size_t row = 0; row < count.size(); ++row) {
      EXPECT_LT(from[row], to[row]);
      events += count[row];
    }
  }
  EXPECT_EQ(events, 3U);
}

TEST_F(SessionTest, the_commands_status_and_environment) {
  options_.command = {"sh", "-c", "test \"$FAKE_SOURCE\" = here && exit 42"};
  auto summary = run(std::make_unique<FakeSource>(1, 0));
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 42);
}

TEST_F(SessionTest, a_killed_command_has_the_status_a_shell_shows) {
  options_.command = {"sh", "-c", "kill -TERM $$"};
  auto summary = run(std::make_unique<FakeSource>(1, 0));
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->command_status, 128 + SIGTERM);
}

TEST_F(SessionTest, the_time_limit_ends_the_recording_and_not_the_command) {
  options_.command = {"sh", "-c", "sleep 1; exit 5"};
  options_.limits.time_ns = 200'000'000;
  auto summary = run(std::make_unique<FakeSource>(1, 0));
  ASSERT_TRUE(summary) << summary.error().message();
  EXPECT_EQ(summary->manifest.stop_reason, "time limit");
  EXPECT_LT(summary->manifest.end_ns - summary->manifest.begin_ns, 900'000'000U);
  EXPECT_EQ(summary->command_status, 5);
}

TEST_F(SessionTest, without_a_source_nothing_is_left_behind) {
  options_.command = {"true"};
  auto summary = run(std::make_unique<FakeSource>(1, 0, false));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().why, "not permitted");
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

TEST_F(SessionTest, a_command_that_is_not_there_has_status_127) {
  options_.command = {"no-such-command"};
  auto summary = run(std::make_unique<FakeSource>(1, 0));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().exit, Exit::not_found);
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

TEST_F(SessionTest, a_file_that_the_kernel_refuses_has_status_126) {
  const std::filesystem::path file = folder_ / "garbage";
  std::FILE* out = std::fopen(file.c_str(), "we");
  std::fputs("\x7f"
             "ELF",
             out);
  std::fclose(out);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  options_.command = {file.native()};
  auto summary = run(std::make_unique<FakeSource>(1, 0));
  ASSERT_FALSE(summary);
  EXPECT_EQ(summary.error().exit, Exit::not_executable);
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

} // namespace
} // namespace iotrail::capture
