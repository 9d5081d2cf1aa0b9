// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/foreground.hpp"

#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/clock.hpp"
#include "capture/session/fake_source.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture {
namespace {

class ForegroundTest : public ::testing::Test {
protected:
  ForegroundTest() { options_.trace = folder_ / "t.iotrail"; }

  Result<ForegroundOutcome> record() {
    return record_in_foreground(
        options_, fake_sources({work_}),
        [](const store::Manifest& manifest, const std::vector<UnavailableSource>&) {
          EXPECT_EQ(manifest.state, store::State::RUNNING);
        });
  }

  store::testing::TemporaryDirectory folder_;
  RecorderOptions options_;
  std::shared_ptr<FakeWork> work_ = std::make_shared<FakeWork>();
};

TEST_F(ForegroundTest, the_recording_ends_with_the_command) {
  options_.command = {"true"};
  *work_ = {.produced = 1000, .lost = 7};
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->manifest.stop_reason, "command ended");
  EXPECT_EQ(end->manifest.command_status, 0);
  EXPECT_EQ(end->manifest.sources.at(0).written, 993U);
  EXPECT_EQ(end->stop_signal, 0);
}

TEST_F(ForegroundTest, the_commands_status_and_environment) {
  options_.command = {"sh", "-c", "test \"$FAKE_SOURCE\" = here && exit 42"};
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->command_status, 42);
}

TEST_F(ForegroundTest, a_killed_command_has_the_status_a_shell_shows) {
  options_.command = {"sh", "-c", "kill -TERM $$"};
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->command_status, 128 + SIGTERM);
}

TEST_F(ForegroundTest, the_time_limit_ends_the_recording_and_not_the_command) {
  options_.command = {"sh", "-c", "sleep 2; exit 5"};
  options_.limits.time_ns = 200'000'000;
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->manifest.stop_reason, "time limit");
  EXPECT_LT(end->manifest.end_ns - end->manifest.begin_ns, 1'900'000'000U);
  EXPECT_EQ(end->command_status, 5);
}

TEST_F(ForegroundTest, an_error_ends_the_recording_and_not_the_command) {
  options_.command = {"sh", "-c",
                      fmt::format("rm -r {}; sleep 1; exit 5", options_.trace.string())};
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  ASSERT_TRUE(end->failure);
  EXPECT_NE(end->failure->message().find("removed meanwhile"), std::string::npos);
  EXPECT_EQ(end->command_status, 5);
}

TEST_F(ForegroundTest, a_signal_reaches_a_command_that_outlives_its_recording) {
  options_.command = {"sh", "-c",
                      fmt::format("trap 'exit 6' TERM; sleep 0.5; kill -TERM {}; "
                                  "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.3; done",
                                  ::getpid())};
  options_.limits.time_ns = 100'000'000;
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->manifest.stop_reason, "time limit");
  EXPECT_EQ(end->command_status, 6);
}

TEST_F(ForegroundTest, the_commands_status_is_known_where_children_are_ignored) {
  ::signal(SIGCHLD, SIG_IGN);
  options_.command = {"sh", "-c", "exit 7"};
  auto end = record();
  EXPECT_EQ(::signal(SIGCHLD, SIG_DFL), SIG_DFL) << "while the end lives";
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->command_status, 7);
  end = fail("over"); // restores what it took over
  ::signal(SIGCHLD, SIG_DFL);
}

TEST_F(ForegroundTest, without_a_source_nothing_is_left_behind) {
  options_.command = {"true"};
  work_->fails_at = "open";
  auto end = record();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().why, "not permitted");
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

TEST_F(ForegroundTest, a_command_that_is_not_there_is_not_found) {
  options_.command = {"no-such-command"};
  auto end = record();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, Failure::command_not_found);
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

TEST_F(ForegroundTest, a_file_that_the_kernel_refuses_is_not_executable) {
  const std::filesystem::path file = folder_ / "garbage";
  std::FILE* out = std::fopen(file.c_str(), "we");
  std::fputs("\x7f"
             "ELF",
             out);
  std::fclose(out);
  std::filesystem::permissions(file, std::filesystem::perms::owner_all);
  options_.command = {file.native()};
  auto end = record();
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().kind, Failure::command_not_executable);
  EXPECT_FALSE(std::filesystem::exists(options_.trace));
}

// A command that sends this process a signal after 0.1 s, then runs `rest`.
std::vector<std::string> interrupting(std::string_view signal, std::string_view rest) {
  return {"sh", "-c", fmt::format("sleep 0.1; kill -{} {}; {}", signal, ::getpid(), rest)};
}

TEST_F(ForegroundTest, a_signal_is_handed_to_the_command_which_is_recorded_until_it_ends) {
  options_.command = {
      "sh", "-c",
      fmt::format("trap 'sleep 0.2; exit 9' TERM; kill -TERM {}; sleep 5 & wait", ::getpid())};
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->command_status, 9);
  EXPECT_EQ(end->stop_signal, SIGTERM);
  EXPECT_EQ(end->manifest.command_status, 9);
  EXPECT_EQ(end->manifest.stop_reason, "interrupted (Terminated)");
  EXPECT_GT(end->manifest.end_ns - end->manifest.begin_ns, 200'000'000U);
}

TEST_F(ForegroundTest, a_second_signal_ends_the_recording_at_once) {
  options_.command =
      interrupting("INT", fmt::format("sleep 0.2; kill -INT {}; exec sleep 3", ::getpid()));
  options_.command[2].insert(0, "trap '' INT; ");
  auto end = record();
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->command_status, std::nullopt);
  EXPECT_EQ(end->manifest.stop_reason, "interrupted (Interrupt); the command still runs");
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), 0);
  ::wait(nullptr);
}

TEST_F(ForegroundTest, a_signal_that_comes_when_the_recording_ends_already_is_too_late) {
  options_.command = {"true"};
  work_->raised_at_stop = SIGINT;
  {
    auto end = record();
    ASSERT_TRUE(end) << end.error().message();
    EXPECT_EQ(end->manifest.stop_reason, "command ended");
    EXPECT_EQ(end->stop_signal, 0);
    ::kill(::getpid(), SIGINT); // while the summary is printed
  }
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  EXPECT_EQ(sigismember(&pending, SIGINT), 0);
}

TEST_F(ForegroundTest, the_recording_of_a_process_ends_with_it) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::usleep(200'000);
    ::_exit(0);
  }
  options_.source.filter.pids = {pid};
  auto end = record();
  ::waitpid(pid, nullptr, 0);
  ASSERT_TRUE(end) << end.error().message();
  EXPECT_EQ(end->manifest.stop_reason, "process ended");
  EXPECT_EQ(end->command_status, std::nullopt);
}

} // namespace
} // namespace iotrail::capture
