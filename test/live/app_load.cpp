// SPDX-License-Identifier: BSD-3-Clause
//
// More events than rings hold: nothing is lost while the collector keeps up, and losses are exact when it does not.
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.hpp"
#include "capture/preload/shared/arena.hpp"

namespace iotrail::live {

namespace {

constexpr int kSeconds = 10;
constexpr std::uint64_t kPerMillisecond = 1000;
constexpr std::uint64_t kFlood = 500'000;

// A million calls a second, a thousand each millisecond.
const Child kMillion("million", [](const std::string&) {
  const int null = open("/dev/null", O_WRONLY);
  const std::uint64_t begin = monotonic_ns();
  for (std::uint64_t tick = 0; tick < kSeconds * 1000; ++tick) {
    while (monotonic_ns() < begin + tick * 1'000'000) {
    }
    for (std::uint64_t i = 0; i < kPerMillisecond; ++i)
      (void)!write(null, "x", 1);
  }
  return 0;
});

const Child kFlooder("flood", [](const std::string&) {
  const int null = open("/dev/null", O_WRONLY);
  for (std::uint64_t i = 0; i < kFlood; ++i)
    (void)!write(null, "x", 1);
  return 0;
});

// A fault that no other counter knows of: the newest record of the ring disappears.
const Child kVanishing("vanishing", [](const std::string&) {
  using namespace capture::preload;
  const int file = open(getenv(kArenaVariable), O_RDWR);
  void* const memory =
      mmap(nullptr, rings_offset(kPlaces), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return 1;
  auto* const arena = static_cast<std::byte*>(memory);
  const auto* const owners = reinterpret_cast<const iot_u64*>(arena + owners_offset());
  auto* const places = reinterpret_cast<ArenaPlace*>(arena + places_offset(kPlaces));
  for (iot_u32 i = 0; i < kPlaces; ++i)
    if (owners[i] == owner_of(getpid(), gettid()))
      places[i].records.head -= 1;
  return 0;
});

} // namespace

TEST(preload_load, million_events_a_second) {
  const auto recording = AppRecording::of_child("million");
  expect_complete(recording);
  const auto& counts = recording;
  EXPECT_GE(counts.written(), kSeconds * 1000 * kPerMillisecond);
  RecordProperty("seconds",
                 std::to_string(static_cast<double>(counts.end_ns() - counts.begin_ns()) / 1e9));
}

TEST(preload_load, losses_of_a_small_ring_are_exact) {
  RunOptions options;
  options.ring_bytes = 1U << 20U;
  options.is_drained = false;
  const auto recording = AppRecording::of_child("flood", options);
  EXPECT_EQ(recording.status(), 0);
  const std::uint64_t full = recording.counter(IOT_COUNTER_preload_ring_full);
  EXPECT_EQ(full, recording.lost());
  EXPECT_EQ(recording.produced(), recording.written() + full);
  EXPECT_EQ(recording.written(), (1U << 20U) / 64);
  EXPECT_GE(recording.produced(), kFlood);
  EXPECT_LT(recording.produced(), kFlood + 1000);
}

TEST(preload_load, record_that_vanishes_is_not_passed_over) {
  RunOptions options;
  options.is_drained = false;
  const auto recording = AppRecording::of_child("vanishing", options);
  EXPECT_EQ(recording.status(), 0);
  EXPECT_EQ(recording.counter(IOT_COUNTER_preload_overwritten), 1U);
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
  EXPECT_GT(recording.written(), 0U);
}

TEST(preload_load, unwanted_events_are_not_produced) {
  RunOptions options;
  options.events = {"app_open"};
  const auto recording = AppRecording::of_child("flood", options);
  expect_complete(recording);
  EXPECT_EQ(recording.produced(), ALL(recording, app_open).size());
  EXPECT_GT(recording.produced(), 0U);
}

} // namespace iotrail::live
