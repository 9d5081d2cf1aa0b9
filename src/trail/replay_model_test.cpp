// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs in a simple model of a page cache and a device: each byte knows its last writer.
// The test compares the engine's result for the same facts with the model.
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <random>

#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

constexpr std::uint64_t kPages = 6;
constexpr std::uint64_t kBytes = kPages * kPageBytes;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kPrograms = 1000; // each takes fifty times as long
#else
constexpr int kPrograms = 10000;
#endif

struct Model {
  std::vector<std::uint64_t> writer = std::vector<std::uint64_t>(kBytes); // of dirty bytes, else 0
  std::array<bool, kPages> is_dirty{};
  std::array<std::vector<std::uint64_t>, kPages>
      leaving; // writers of the bytes of a page that a bio is going to take
  std::map<std::uint64_t, std::uint64_t> charged; // bytes that reached the device, by operation
  std::uint64_t device_bytes = 0;
  std::uint64_t written = 0;
  std::uint64_t dropped = 0;
  std::uint64_t absorbed = 0;
  TestFacts facts;
  std::uint64_t now_ns = 0;
  std::uint64_t last_op = 0;

  void write(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t op = ++last_op;
    facts.write(now_ns, op, begin, end - begin);
    for (std::uint64_t page = begin / kPageBytes; page * kPageBytes < end; ++page)
      if (!std::exchange(is_dirty[page], true))
        facts.dirty(now_ns, op, page * kPageBytes, kPageBytes);
    for (std::uint64_t place = begin; place < end; ++place) {
      absorbed += writer[place] != 0;
      writer[place] = op;
    }
    written += end - begin;
  }

  // A file system makes pages clean, and queues their bios now or later: until then they cannot be
  // cleaned again.
  void clean(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t page = first; page <= last; ++page)
      if (leaving[page].empty() && std::exchange(is_dirty[page], false))
        for (std::uint64_t place = page * kPageBytes; place < (page + 1) * kPageBytes; ++place)
          leaving[page].push_back(std::exchange(writer[place], 0));
  }

  void queue_bios() {
    for (std::uint64_t page = 0; page < kPages; ++page) {
      if (leaving[page].empty())
        continue;
      facts.write_back(now_ns, page * kPageBytes, kPageBytes);
      device_bytes += kPageBytes;
      for (const std::uint64_t op : std::exchange(leaving[page], {}))
        if (op)
          ++charged[op];
    }
  }

  void truncate(std::uint64_t end) {
    facts.add({.kind = FactKind::truncated, .ts_ns = now_ns, .file = kTestFile, .offset = end});
    for (std::uint64_t place = end; place < kBytes; ++place)
      dropped += std::exchange(writer[place], 0) != 0;
    for (std::uint64_t page = (end + kPageBytes - 1) / kPageBytes; page < kPages; ++page)
      is_dirty[page] = false;
  }
};

Model run_program(std::uint32_t seed) {
  std::mt19937 random(seed);
  Model model;
  model.facts.has_cache_events = true;
  for (int step = 0; step < 25; ++step) {
    model.now_ns += 10;
    std::uint64_t begin = random() % kBytes;
    std::uint64_t end =
        std::min<std::uint64_t>(kBytes, begin + 1 + random() % (random() % 2 ? 600 : 9000));
    switch (random() % 5) {
    case 0:
      model.clean(begin / kPageBytes, (end - 1) / kPageBytes);
      if (random() % 2 == 0)
        model.queue_bios();
      break;
    case 1:
      if (random() % 3 != 0)
        break;
      model.queue_bios(); // truncation waits for them
      model.truncate(begin);
      break;
    default:
      model.write(begin, end);
    }
  }
  model.now_ns += 10;
  model.queue_bios();
  return model;
}

TEST(replay_model, random_programs_are_charged_as_the_model_says) {
  for (std::uint32_t seed = 0; seed < kPrograms; ++seed) {
    Model model = run_program(seed);
    const Trails trails = model.facts.replay();
    std::map<std::uint64_t, std::uint64_t> charged;
    std::uint64_t device_bytes = 0;
    for (const Link& link : trails.links) {
      device_bytes += link.bytes;
      ASSERT_NE(link.completed_ns, 0U) << "program " << seed;
      if (link.cause == Cause::write_back)
        charged[link.op_id] += link.bytes;
    }
    ASSERT_EQ(charged, model.charged) << "program " << seed;
    ASSERT_EQ(device_bytes, model.device_bytes) << "program " << seed;
    Fate fate;
    if (!trails.fates.empty())
      fate = trails.fates[0];
    ASSERT_EQ(fate.written, model.written) << "program " << seed;
    ASSERT_EQ(fate.absorbed, model.absorbed) << "program " << seed;
    ASSERT_EQ(fate.dropped, model.dropped) << "program " << seed;
    ASSERT_EQ(fate.written, fate.to_device + fate.failed + fate.absorbed + fate.dropped +
                                fate.inlined + fate.pending);
  }
}

} // namespace
} // namespace iotrail::trail
