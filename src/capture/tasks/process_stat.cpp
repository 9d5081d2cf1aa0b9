// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/process_stat.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "base/clock.hpp"

namespace iotrail::capture {
namespace {

// Fields after the name, as numbered in proc(5), minus the three before.
enum Field : std::size_t {
  kParent = 1,
  kMajorFaults = 9,
  kUser = 11,
  kSystem = 12,
  kThreads = 17,
  kStart = 19,
  kVirtual = 20,
  kBlockIo = 39,
  kFields = 40,
};

// Negative numbers, as for signals and priorities, count as 0, because none is used.
std::array<std::uint64_t, kFields> numbers_of(std::string_view text) {
  std::array<std::uint64_t, kFields> numbers{};
  for (std::size_t i = 0; i < kFields && !text.empty(); ++i) {
    const std::string_view word = text.substr(0, text.find(' '));
    std::from_chars(word.data(), word.data() + word.size(), numbers[i]);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return numbers;
}

std::uint64_t ticks_ns(std::uint64_t ticks) {
  static const auto kTickNs =
      1'000'000'000U / static_cast<std::uint64_t>(std::max(1L, ::sysconf(_SC_CLK_TCK)));
  return ticks * kTickNs;
}

// Both clocks belong to this time namespace, which may lag the kernel's.
std::uint64_t monotonic_of_boot_time(std::uint64_t boot_time_ns) {
  const auto ago_ns = static_cast<std::int64_t>(clock_ns(CLOCK_BOOTTIME) - boot_time_ns);
  const auto now_ns = static_cast<std::int64_t>(monotonic_ns());
  return static_cast<std::uint64_t>(std::max<std::int64_t>(now_ns - ago_ns, 0));
}

} // namespace

// "pid (comm) state parent ... start ...", where comm may contain any bytes.
std::optional<ProcessStat> parse_process_stat(std::string_view text) {
  const std::size_t begin = text.find('(');
  const std::size_t end = text.rfind(')');
  if (begin == text.npos || end == text.npos || end < begin || text.size() < end + 3)
    return std::nullopt;
  const auto numbers = numbers_of(text.substr(end + 2));
  return ProcessStat{
      .state = text[end + 2],
      .name = std::string(text.substr(begin + 1, end - begin - 1)),
      .parent = static_cast<iot_u32>(numbers[kParent]),
      .threads = static_cast<iot_u32>(numbers[kThreads]),
      .start_ns = monotonic_of_boot_time(ticks_ns(numbers[kStart])),
      .user_ns = ticks_ns(numbers[kUser]),
      .system_ns = ticks_ns(numbers[kSystem]),
      .block_io_ns = ticks_ns(numbers[kBlockIo]),
      .major_faults = numbers[kMajorFaults],
      .virtual_bytes = numbers[kVirtual],
  };
}

} // namespace iotrail::capture
