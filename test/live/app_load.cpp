// SPDX-License-Identifier: BSD-3-Clause
//
// Many events at once: nothing is lost while they fit into the ring, and losses are exact when they do not. Whether the
// collector keeps up with a rate is measured by bench/keeps_up.
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "capture/preload/shared/arena.hpp"

namespace iotrail::live {

namespace {

constexpr std::uint64_t kFlood = 500'000;

const Child kFlooder("flood", [](const std::string&) {
  const int null = open("/dev/null", O_WRONLY);
  for (std::uint64_t i = 0; i < kFlood; ++i)
    (void)!write(null, "x", 1);
  return 0;
});

// The place of this thread, which it can write to; null: none.
capture::preload::ThreadSlot* own_place() {
  using namespace capture::preload;
  const int file = open(getenv(kArenaVariable), O_RDWR);
  void* const memory =
      mmap(nullptr, rings_offset(kPlaces), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED)
    return nullptr;
  auto* const arena = static_cast<std::byte*>(memory);
  const auto* const owners = reinterpret_cast<const iot_u64*>(arena + owners_offset());
  auto* const places = reinterpret_cast<ThreadSlot*>(arena + places_offset(kPlaces));
  for (iot_u32 i = 0; i < kPlaces; ++i)
    if (owners[i] == owner_of(getpid(), gettid()))
      return &places[i];
  return nullptr;
}

// A loss that no other counter shows: the newest record of the ring disappears.
const Child kVanishing("vanishing", [](const std::string&) {
  capture::preload::ThreadSlot* const place = own_place();
  if (place == nullptr)
    return 1;
  place->records.head -= 1;
  return 0;
});

// Records its calls in the name of process 1.
const Child kForging("forging", [](const std::string&) {
  capture::preload::ThreadSlot* const place = own_place();
  if (place == nullptr)
    return 1;
  place->outer_owner = capture::preload::owner_of(1, 1);
  const int null = open("/dev/null", O_WRONLY);
  for (int i = 0; i < 5000; ++i)
    (void)!write(null, "x", 1);
  return 0;
});

} // namespace

TEST(preload_load, nothing_is_lost_of_what_fits_into_the_ring) {
  RunOptions options;
  options.ring_bytes = 64U << 20U; // a record takes 64 bytes
  const auto recording = AppRecording::of_child("flood", options);
  expect_complete(recording);
  EXPECT_GE(recording.written(), kFlood);
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

TEST(preload_load, no_program_records_calls_in_the_name_of_another) {
  RunOptions options;
  options.is_drained = false;
  const auto recording = AppRecording::of_child("forging", options);
  EXPECT_EQ(recording.status(), 0);
  EXPECT_EQ(recording.counter(IOT_COUNTER_preload_overwritten), 1U);
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
  EXPECT_EQ(ALL(recording, app_write).size(), 0U);
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
