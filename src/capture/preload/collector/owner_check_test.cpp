// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/owner_check.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "base/clock.hpp"

namespace iotrail::capture::preload {
namespace {

constexpr std::string_view kVariable = "IOTRAIL_OWNER_TEST=1";

// A process that its parent leaves, so that this one is no ancestor of it. It runs `cat`, which
// has answered: its environment and its mappings are there.
class Stranger {
public:
  explicit Stranger(const char* variable) {
    int ends[2];
    int input[2];
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    EXPECT_EQ(pipe2(input, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
      if (const pid_t grandchild = fork(); grandchild != 0)
        _exit(write(ends[1], &grandchild, sizeof(grandchild)) == sizeof(grandchild) ? 0 : 1);
      dup2(input[0], STDIN_FILENO);
      dup2(ends[1], STDOUT_FILENO);
      char* const words[] = {const_cast<char*>("cat"), nullptr};
      char* const variables[] = {const_cast<char*>(variable), nullptr};
      execve("/bin/cat", words, variables);
      _exit(1);
    }
    close(ends[1]);
    close(input[0]);
    EXPECT_EQ(read(ends[0], &pid_, sizeof(pid_)), static_cast<ssize_t>(sizeof(pid_)));
    waitpid(child, nullptr, 0);
    char answer = 0;
    EXPECT_EQ(write(input[1], "x", 1), 1);
    EXPECT_EQ(read(ends[0], &answer, 1), 1);
    close(ends[0]);
    input_ = input[1];
  }
  Stranger(const Stranger&) = delete;
  Stranger& operator=(const Stranger&) = delete;
  ~Stranger() {
    kill(pid_, SIGKILL);
    close(input_);
  }

  iot_u32 pid() const { return static_cast<iot_u32>(pid_); }

private:
  pid_t pid_ = 0;
  int input_ = -1; // held open, so that `cat` waits for more
};

OwnerCheck check() {
  return OwnerCheck({std::string(kVariable)}, "/no-such-arena", 0);
}

TEST(OwnerCheck, only_traced_processes_may_own_a_place) {
  const Stranger other("OTHER=1");
  const Stranger traced(kVariable.data());
  EXPECT_FALSE(check().may_own(other.pid(), 0));
  EXPECT_TRUE(check().may_own(traced.pid(), 0));
}

// It may be another user's, or not to be looked at.
TEST(OwnerCheck, the_first_process_is_not_traced) {
  OwnerCheck later({std::string(kVariable)}, "/no-such-arena", monotonic_ns());
  EXPECT_FALSE(later.may_own(1, 0));
}

TEST(OwnerCheck, a_command_that_is_older_than_the_recording_is_traced) {
  const pid_t child = fork();
  if (child == 0) {
    pause();
    _exit(0);
  }
  OwnerCheck later({std::string(kVariable)}, "/no-such-arena", monotonic_ns() + 1'000'000'000);
  EXPECT_TRUE(later.may_own(static_cast<iot_u32>(child), 0));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
}

TEST(OwnerCheck, a_process_that_maps_the_arena_is_traced) {
  const Stranger other("OTHER=1");
  OwnerCheck by_mapping({}, "/usr/bin/cat", 0);
  EXPECT_TRUE(by_mapping.may_own(other.pid(), 0));
}

TEST(OwnerCheck, children_are_traced_and_the_dead_cannot_be_asked) {
  OwnerCheck owners = check();
  const pid_t child = fork();
  if (child == 0)
    _exit(0);
  siginfo_t ended{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_TRUE(owners.may_own(static_cast<iot_u32>(child), 0)) << "not waited for";
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(check().may_own(static_cast<iot_u32>(child), 0));
  EXPECT_TRUE(owners.may_own(static_cast<iot_u32>(getpid()), 0));
}

} // namespace
} // namespace iotrail::capture::preload
