// SPDX-License-Identifier: BSD-3-Clause
//
// Waits of tasks in operations: the reason, the duration, and the time until a CPU is free.
#include <fcntl.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "await.hpp"
#include "base/clock.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"
#include "shared.hpp"
#include "wait_text.hpp"

namespace iotrail::live {
namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t kNsPerMs = 1'000'000;

Recording record_waits(const std::function<int()>& body) {
  return Recording::among_others({.layers = {schema::Layer::sched, schema::Layer::syscall}}, body);
}

#define RECORD_WAITS(...)                                                                          \
  const Recording recording = record_waits(__VA_ARGS__);                                           \
  if (!recording.refusal().empty())                                                                \
    GTEST_SKIP() << recording.refusal();                                                           \
  EXPECT_EQ(recording.status(), 0);                                                                \
  EXPECT_EQ(recording.lost(), 0U);                                                                 \
  EXPECT_EQ(recording.produced(), recording.written())

std::vector<Row> waits_of(const Recording& recording, const Row& call) {
  return recording.rows("sched_wait", "op_id", call.u("op_id"));
}

std::uint64_t end_ns(const Row& row) {
  return row.u("ts_ns") + row.u("duration_ns");
}

void expect_within(const Row& wait, const Row& call) {
  EXPECT_GE(wait.u("ts_ns"), call.u("ts_ns"));
  EXPECT_LE(end_ns(wait), end_ns(call));
  EXPECT_LE(wait.u("runnable_ns"), wait.u("duration_ns"));
  EXPECT_EQ(wait.u("pid"), call.u("pid"));
  EXPECT_EQ(wait.u("tid"), call.u("tid"));
  EXPECT_EQ(wait.u("parent_op"), call.u("parent_op"));
  EXPECT_LT(wait.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  EXPECT_TRUE(wait.s("result") == 0 || wait.s("result") == IOT_UNFINISHED); // docs/adr/0007
}

TEST(KernelSched, sched_wait_for_the_other_end_of_a_pipe) {
  static constexpr std::uint64_t kAskedMs = 60;
  RECORD_WAITS([] {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return 1;
    bool is_waiting = false;
    std::thread writer([&] {
      is_waiting = await([] { return sleeps_in(::getpid(), SYS_read); });
      std::this_thread::sleep_for(milliseconds(kAskedMs));
      [[maybe_unused]] const auto written = ::write(ends[1], "abc", 3);
    });
    char text[3];
    const auto bytes = ::read(ends[0], text, sizeof text);
    writer.join();
    return bytes == 3 && is_waiting ? 0 : 1;
  });
  std::vector<Row> calls = recording.rows("syscall_read", "result", 3);
  std::erase_if(calls, [](const Row& row) { return row.u("bytes_requested") != 3; });
  ASSERT_EQ(calls.size(), 1U);
  std::vector<Row> waits = waits_of(recording, calls[0]);
  std::erase_if(waits, [](const Row& row) { return row.u("state") != 'S'; });
  ASSERT_EQ(waits.size(), 1U);
  expect_within(waits[0], calls[0]);
  EXPECT_GE(waits[0].u("duration_ns"), kAskedMs * kNsPerMs);
  EXPECT_LT(waits[0].u("runnable_ns"), waits[0].u("duration_ns"));
  if (waits[0].s("result") == 0) {
    EXPECT_GT(waits[0].u("runnable_ns"), 0U);
  }
  const std::string stack = recording.string(waits[0].u("stack"));
  EXPECT_EQ(schema::wait_reason(stack), "pipe") << stack;
  EXPECT_NE(stack.find("read"), stack.npos) << stack;
  EXPECT_EQ(stack.find("schedule;"), stack.npos) << stack;
}

// Of this thread: how often it began to wait, and how often it had to leave its CPU.
struct Switches {
  long to_wait;
  long preempted;

  static Switches now() {
    rusage usage{};
    ::getrusage(RUSAGE_THREAD, &usage);
    return {usage.ru_nvcsw, usage.ru_nivcsw};
  }
};

// As many as the kernel itself counts, even if it does not report when the task runs again
// (docs/adr/0007).
TEST(KernelSched, sched_wait_of_each_read_that_blocks) {
  static constexpr std::size_t kBytesSent = 2000;
  const Shared<long> switches;
  RECORD_WAITS([&] {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
      return 1;
    std::thread writer([&ends] {
      for (std::size_t byte = 0; byte < kBytesSent; ++byte) {
        std::this_thread::sleep_for(milliseconds(1));
        [[maybe_unused]] const auto written = ::write(ends[1], "a", 1);
      }
    });
    const long before = Switches::now().to_wait;
    std::size_t bytes = 0;
    for (char byte = 0; bytes < kBytesSent && ::read(ends[0], &byte, 1) == 1;)
      ++bytes;
    *switches = Switches::now().to_wait - before;
    writer.join();
    return bytes == kBytesSent ? 0 : 1;
  });
  std::map<std::uint64_t, Row> reads;
  for (const Row& call : recording.rows("syscall_read", "bytes_requested", 1))
    reads.emplace(call.u("op_id"), call);
  long waits = 0;
  for (const Row& wait : recording.rows("sched_wait")) {
    const auto call = reads.find(wait.u("op_id"));
    if (call == reads.end() || wait.u("state") == 'R')
      continue;
    expect_within(wait, call->second);
    ++waits;
  }
  EXPECT_EQ(waits, *switches);
  EXPECT_GT(waits, 0);
}

// Two tasks on one CPU: the reading task is preempted for the computing one, as often as the kernel
// itself counts.
TEST(KernelSched, sched_wait_for_a_cpu) {
  static constexpr long kPreemptedLeast = 20;
  constexpr std::size_t kBytes = 64U << 20U;
  static std::vector<char> memory(kBytes);
  const Shared<long> preempted;
  RECORD_WAITS([&] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    const int zeros = ::open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (zeros < 0 || ::sched_setaffinity(0, sizeof one, &one) != 0)
      return 1;
    const pid_t busy = ::fork();
    if (busy == 0) {
      ::alarm(std::chrono::seconds(kTimeout).count());
      for (volatile unsigned long turns = 0;;)
        turns = turns + 1;
    }
    const long before = Switches::now().preempted;
    bool is_read = true;
    while (is_read && *preempted < kPreemptedLeast) {
      is_read = ::read(zeros, memory.data(), kBytes) == static_cast<ssize_t>(kBytes);
      *preempted = Switches::now().preempted - before;
    }
    ::kill(busy, SIGKILL);
    return ::waitpid(busy, nullptr, 0) == busy && is_read ? 0 : 1;
  });
  long waits = 0;
  for (const Row& call : recording.rows("syscall_read", "result", kBytes))
    for (const Row& wait : waits_of(recording, call)) {
      expect_within(wait, call);
      if (wait.u("state") != 'R')
        continue; // the read needs a page of memory, and may wait for it
      EXPECT_EQ(wait.u("runnable_ns"), wait.u("duration_ns"));
      EXPECT_EQ(wait.u("stack"), 0U);
      EXPECT_GT(wait.u("duration_ns"), 0U);
      ++waits;
    }
  EXPECT_LE(waits, *preempted);
  EXPECT_GT(waits, *preempted / 2) << "others were outside the reads, or not reported";
}

// The caller has priority over the journal's thread. Else, on one CPU, the commit may be over
// before the call waits for it.
TEST(KernelSched, sched_wait_for_a_journal) {
  constexpr std::size_t kSyncsOfOne = 20;
  const ScratchDirectory folder;
  const MountedFileSystem system(folder / "disk", folder / "mounted");
  if (!system.refusal().empty())
    GTEST_SKIP() << system.refusal();
  RECORD_WAITS([&] {
    const sched_param first = {.sched_priority = 1};
    ::sched_setscheduler(0, SCHED_FIFO,
                         &first); // may be refused where there are more CPUs
    const int file = ::open((system / "f").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    for (std::size_t i = 0; i < kSyncsOfOne; ++i)
      if (file < 0 || ::write(file, "abc", 3) != 3 || ::fsync(file) != 0)
        return 1;
    return 0;
  });
  const std::vector<Row>& calls = recording.rows("syscall_sync");
  ASSERT_EQ(calls.size(), kSyncsOfOne);
  std::vector<std::string_view> reasons;
  for (const Row& call : calls) {
    std::uint64_t waited_ns = 0;
    for (const Row& wait : waits_of(recording, call)) {
      expect_within(wait, call);
      waited_ns += wait.u("duration_ns");
      reasons.push_back(schema::wait_reason(recording.string(wait.u("stack"))));
    }
    EXPECT_LE(waited_ns, call.u("duration_ns"));
  }
  EXPECT_TRUE(std::ranges::find(reasons, "journal_commit") != reasons.end())
      << testing::PrintToString(reasons);
}

// A task outside operations has no wait that concerns a recording.
TEST(KernelSched, sched_wait_outside_operations_is_not_recorded) {
  struct Sleep {
    std::uint64_t begin_ns, end_ns;
  };
  const Shared<Sleep> sleep;
  RECORD_WAITS([&] {
    sleep->begin_ns = monotonic_ns();
    std::this_thread::sleep_for(milliseconds(50)); // clock_nanosleep is no I/O
    sleep->end_ns = monotonic_ns();
    return 0;
  });
  EXPECT_GT(sleep->end_ns, sleep->begin_ns);
  for (const Row& wait : recording.rows("sched_wait")) {
    EXPECT_NE(wait.u("op_id"), 0U);
    EXPECT_TRUE(end_ns(wait) <= sleep->begin_ns || wait.u("ts_ns") >= sleep->end_ns);
  }
}

} // namespace
} // namespace iotrail::live
