// SPDX-License-Identifier: BSD-3-Clause
//
// The arena as a hostile program may write it: any bytes in any part, at any time between the steps
// of the collector. The collector must not read out of bounds, hang or use unlimited memory, and
// its counts for each place must add up.
#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>

#include "base/bytes.hpp"
#include "base/clock.hpp"
#include "capture/preload/collector/arena_watch.hpp"
#include "capture/preload/collector/owners.hpp"
#include "capture/preload/collector/thread_ring_reader.hpp"

using namespace iotrail;
using namespace iotrail::capture;
using namespace iotrail::capture::preload;

namespace {

constexpr iot_u32 kSlots = 64;
constexpr iot_u32 kUsed = 3; // places
constexpr int kRunsOfTrace = 2000;
constexpr std::uint64_t kStepNs = 20'000'000;

// An input is a list of these, each followed by `size` bytes for its place.
struct Edit {
  std::uint8_t target; // target of the write; above the last: a step of the collector
  std::uint8_t place;
  std::uint16_t offset;
  std::uint8_t size;
};
constexpr int kTargets = 5;

class Fuzzed {
public:
  Fuzzed() : clock_(ClockKind::tsc), arena_(make_arena(tasks_)) {}

  void run(ByteReader in) {
    begin();
    std::uint64_t now_ns = monotonic_ns();
    while (in.ok() && in.remaining() >= sizeof(Edit)) {
      const auto edit = in.read<Edit>();
      if (edit.target % (kTargets + 1) == kTargets)
        step(now_ns += kStepNs);
      else
        write(edit, in.take(std::min<std::size_t>(edit.size, in.remaining())));
    }
    for (ThreadRingReader& reader : readers_)
      reader.close(0);
    for (int i = 0; i < 4; ++i)
      step(now_ns += kStepNs);
    for (iot_u32 place = 0; place < kUsed; ++place)
      finish(place, now_ns += kStepNs);
  }

private:
  static ArenaFile make_arena(const Tasks& tasks) {
    auto arena = ArenaFile::create(kSlots, ClockKind::tsc, {.events = ~0ULL}, tasks);
    IOTRAIL_CHECK(arena.has_value());
    return std::move(*arena);
  }

  void begin() {
    std::memset(&arena_.header(), 0, kPageBytes);
    std::ranges::fill(arena_.owners().first(kUsed), 0);
    std::ranges::fill(std::as_writable_bytes(arena_.places().first(kUsed)), std::byte{});
    readers_.clear();
    header_.emplace(arena_);
    read_ = {};
    if (runs_++ % kRunsOfTrace == 0)
      new_trace();
    ids_.emplace(*writer_, clock_, false);
    for (iot_u32 place = 0; place < kUsed; ++place) {
      std::ranges::fill(std::as_writable_bytes(arena_.records(place)), std::byte{});
      std::ranges::fill(arena_.text(place), std::byte{});
      readers_.emplace_back(arena_, place);
    }
  }

  void new_trace() {
    const std::filesystem::path path = arena_.path().parent_path() / "fuzz.iotrail";
    writer_.reset();
    std::filesystem::remove_all(path);
    auto writer = store::TraceWriter::create(path, {});
    IOTRAIL_CHECK(writer.has_value());
    writer_ = std::move(*writer);
  }

  void write(const Edit& edit, ByteSpan bytes) {
    const iot_u32 place = edit.place % kUsed;
    const std::span<std::byte> targets[kTargets] = {
        std::as_writable_bytes(std::span(&arena_.header(), 1)),
        std::as_writable_bytes(arena_.owners().subspan(place, 1)),
        std::as_writable_bytes(arena_.places().subspan(place, 1)),
        std::as_writable_bytes(arena_.records(place)), arena_.text(place)};
    const std::span<std::byte> to = targets[edit.target % (kTargets + 1)];
    const std::size_t at = edit.offset % to.size();
    std::ranges::copy(bytes.first(std::min(bytes.size(), to.size() - at)), to.subspan(at).begin());
  }

  // Everything before the end was read, is torn or was lost.
  void finish(iot_u32 place, std::uint64_t now_ns) {
    ThreadRingReader& reader = readers_[place];
    for (iot_u32 i = 0; i <= kSlots && !reader.is_drained(); ++i) {
      step(now_ns);
      if (reader.has_torn())
        reader.skip_torn();
    }
    IOTRAIL_CHECK(reader.produced() == read_[place] + reader.torn() + reader.lost());
  }

  void step(std::uint64_t now_ns) {
    if (header_->is_intact() && !header_->look())
      std::ranges::for_each(readers_, &ThreadRingReader::stop_reading);
    for (ThreadRingReader& reader : readers_)
      reader.look();
    for (ThreadRingReader& reader : readers_)
      reader.read_text(*ids_);
    for (iot_u32 place = 0; place < kUsed; ++place) {
      readers_[place].identify(tasks_, owner_check_, now_ns);
      read_[place] += readers_[place].read_records(clock_, *ids_, deferred_filter_, *writer_);
    }
    tasks_.write(*writer_, now_ns);
    writer_->tick(now_ns);
    for (const iot_u32 place :
         owners_.find_gone(arena_.owners().first(kUsed), arena_.places().first(kUsed))) {
      if (readers_[place].has_torn())
        readers_[place].skip_torn();
      else if (readers_[place].is_drained())
        readers_[place].free_place();
    }
  }

  Tasks tasks_;
  TickClock clock_;
  ArenaFile arena_;
  OwnerWatch owners_;
  OwnerCheck owner_check_{{}, arena_.path(), 0};
  std::unique_ptr<store::TraceWriter> writer_;
  std::optional<ArenaIds> ids_;
  DeferredFilter deferred_filter_;
  std::optional<ArenaWatch> header_;
  std::deque<ThreadRingReader> readers_;
  std::array<std::uint64_t, kUsed> read_{}; // records, by place
  int runs_ = 0;
};

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Fuzzed fuzzed;
  fuzzed.run(ByteReader(std::as_bytes(std::span(data, size))));
  return 0;
}
