// SPDX-License-Identifier: BSD-3-Clause
//
// When a wait begins: before iotrail walks the stack, which takes longer than some waits. perf
// reports the same switches through a probe of its own. The kernel runs the probes of a tracepoint
// in the order in which they were registered. So perf runs either before iotrail or after it.
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <optional>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "kernel_recording.hpp"
#include "live_recording.hpp"
#include "shared.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kReads = 300;
constexpr std::size_t kRingBytes = std::size_t{64} << 12U;

// The number of the tracepoint; nothing: the machine has no tracefs.
std::optional<std::uint64_t> number_of_switch() {
  const ScratchDirectory point;
  if (::mount("tracefs", point.path().c_str(), "tracefs", 0, nullptr) != 0)
    return {};
  std::uint64_t number = 0;
  const bool is_read =
      static_cast<bool>(std::ifstream(point / "events/sched/sched_switch/id") >> number);
  ::umount2(point.path().c_str(), MNT_DETACH);
  return is_read ? std::optional(number) : std::nullopt;
}

// Reports the switches of the calling thread. Its probe is registered while it is open.
Fd open_switches(std::uint64_t number) {
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_TRACEPOINT;
  attributes.config = number;
  attributes.sample_period = 1;
  attributes.sample_type = PERF_SAMPLE_TIME;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.disabled = 1;
  return Fd(static_cast<int>(
      ::syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC)));
}

using Times = std::array<std::uint64_t, 4 * kReads>;

// Copies the times out of perf's ring, which has not wrapped. Returns how many there are.
std::size_t take_times(const std::byte* memory, Times& times) {
  struct Sample {
    perf_event_header header;
    std::uint64_t time_ns;
  };
  const auto* const page = reinterpret_cast<const perf_event_mmap_page*>(memory);
  std::size_t count = 0;
  for (std::uint64_t at = 0; at < page->data_head && count < times.size();) {
    Sample sample{};
    std::memcpy(&sample, memory + page->data_offset + at, sizeof sample);
    if (sample.header.type == PERF_RECORD_SAMPLE)
      times[count++] = sample.time_ns;
    at += sample.header.size;
  }
  return count;
}

// Reads byte by byte what another thread writes with pauses, and notes each switch.
int read_with_waits(std::uint64_t number, Times& times, std::size_t& count) {
  const Fd perf = open_switches(number);
  const long page = ::sysconf(_SC_PAGESIZE);
  void* const memory = ::mmap(nullptr, static_cast<std::size_t>(page) + kRingBytes,
                              PROT_READ | PROT_WRITE, MAP_SHARED, perf.get(), 0);
  int ends[2];
  if (!perf || memory == MAP_FAILED || ::pipe2(ends, O_CLOEXEC) != 0)
    return 1;
  std::thread writer([&ends] {
    for (std::size_t byte = 0; byte < kReads; ++byte) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      [[maybe_unused]] const auto written = ::write(ends[1], "a", 1);
    }
  });
  ::ioctl(perf.get(), PERF_EVENT_IOC_ENABLE, 0);
  std::size_t bytes = 0;
  for (char byte = 0; bytes < kReads && ::read(ends[0], &byte, 1) == 1;)
    ++bytes;
  ::ioctl(perf.get(), PERF_EVENT_IOC_DISABLE, 0);
  writer.join();
  count = take_times(static_cast<const std::byte*>(memory), times);
  return bytes == kReads ? 0 : 2;
}

struct Switches {
  Times times;
  std::size_t count;
};

// The middle one of the differences between the begins of waits and the times of perf's probe.
// `is_first`: perf's runs before iotrail's. Nothing: the machine refuses.
std::optional<std::uint64_t> distance_to_perf(std::uint64_t number, bool is_first) {
  const Fd registers = is_first ? open_switches(number) : Fd();
  const Shared<Switches> switches;
  const Recording recording =
      Recording::alone({.layers = {schema::Layer::sched, schema::Layer::syscall}},
                       [&] { return read_with_waits(number, switches->times, switches->count); });
  if (!recording.refusal().empty())
    return {};
  EXPECT_EQ(recording.status(), 0);
  const auto begin = switches->times.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(switches->count);
  std::vector<std::uint64_t> distances;
  for (const Row& wait : recording.rows("sched_wait", "state", 'S')) {
    if (wait.u("tid") != static_cast<std::uint64_t>(recording.pid()))
      continue;
    const std::uint64_t start_ns = wait.u("ts_ns");
    const auto after = std::lower_bound(begin, end, start_ns);
    if (is_first ? after != begin : after != end)
      distances.push_back(is_first ? start_ns - *(after - 1) : *after - start_ns);
  }
  EXPECT_GT(distances.size(), kReads / 2);
  if (distances.empty())
    return {};
  std::ranges::sort(distances);
  return distances[distances.size() / 2];
}

TEST(KernelWaitBegin, sched_wait_begins_before_its_stack_is_walked) {
  const auto number = number_of_switch();
  if (!number || !open_switches(*number))
    GTEST_SKIP() << "no tracefs or no perf events here";
  const auto before_ns = distance_to_perf(*number, true);
  const auto after_ns = distance_to_perf(*number, false);
  if (!before_ns || !after_ns)
    GTEST_SKIP() << "the machine refuses to record waits";
  // The walk lies between the begin of the wait and perf's probe after it.
  EXPECT_LT(*before_ns, *after_ns);
}

} // namespace
} // namespace iotrail::live
