// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/preload_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <optional>

#include "base/clock.hpp"
#include "capture/preload/arena_file.hpp"
#include "capture/preload/call_table.hpp"
#include "capture/preload/owners.hpp"
#include "capture/preload/place_reader.hpp"

namespace iotrail::capture {

using namespace preload;
namespace fs = std::filesystem;

namespace {

constexpr char kLibraryName[] = "libiotrail-preload.so";
constexpr std::uint64_t kOwnerCheckNs = 10'000'000;
constexpr std::uint64_t kStuckNs =
    1'000'000'000; // a record that is not finished for so long never will be
constexpr std::uint64_t kFinishNs = 50'000'000; // that calls under way at the end have to finish
constexpr io_u32 kSmallestRing = 1024;          // records

class PreloadSource final : public Source {
public:
  std::string_view name() const override { return "preload"; }
  Result<void> open(const SourceOptions& options) override;
  std::vector<std::string> child_environment() const override;
  Result<void> start() override;
  std::size_t drain(store::TraceWriter& writer) override;
  Result<void> stop() override;
  std::uint64_t produced() const override;
  std::vector<CounterValue> counters() const override;
  std::vector<store::HookReport> hooks() const override;
  std::size_t ring_memory_bytes() const override;

private:
  void follow_new_places();
  std::size_t read_all(store::TraceWriter& writer);
  void free_places();
  void skip_stuck(std::uint64_t now_ns);
  void wait_for_last();
  std::uint64_t lost() const;
  std::uint64_t no_ring() const;

  fs::path library_;
  std::optional<ArenaFile> arena_;
  std::optional<TickClock> clock_;
  std::optional<Names> names_;
  std::deque<PlaceReader> readers_; // of places 0, 1, ... that were ever claimed
  std::vector<std::uint64_t> stuck_since_ns_;
  OwnerWatch owners_;
  std::uint64_t next_check_ns_ = 0;
  std::optional<std::uint64_t> closed_no_ring_;
};

io_u32 slots_for(std::size_t ring_bytes) {
  if (ring_bytes == 0)
    return kDefaultSlots;
  const std::size_t slots = std::bit_floor(ring_bytes / sizeof(RawRecord));
  return static_cast<io_u32>(std::clamp<std::size_t>(slots, kSmallestRing, 1U << 24U));
}

io_u64 mask_of(const std::vector<std::string>& events) {
  io_u64 mask = 0;
  for (const schema::Event& event : schema::kEvents)
    if (event.layer == schema::Layer::app &&
        (events.empty() || std::ranges::find(events, event.name) != events.end()))
      mask |= 1ULL << (event.id & 63U);
  return mask;
}

// The library comes into a program as it starts, and knows names of files but not which of them are wanted.
Result<void> check_filter(const Filter& filter) {
  if (!filter.pids.empty() || !filter.cgroups.empty() || filter.whole_system)
    return fail("layer app", "calls are seen only in a command that iotrail starts");
  if (!filter.files.empty() || !filter.devices.empty())
    return fail("layer app", "calls cannot be restricted to files or devices");
  return {};
}

Result<void> PreloadSource::open(const SourceOptions& options) {
  if (Result<void> fits = check_filter(options.filter); !fits)
    return fits;
  const Result<fs::path> library = preload_library();
  if (!library)
    return std::unexpected(library.error());
  library_ = *library;
  clock_.emplace(TickClock::detect());
  Result<ArenaFile> arena = ArenaFile::create(slots_for(options.ring_bytes), clock_->kind(),
                                              mask_of(options.filter.events));
  if (!arena)
    return std::unexpected(arena.error());
  arena_.emplace(std::move(*arena));
  return {};
}

std::vector<std::string> PreloadSource::child_environment() const {
  std::string preload = "LD_PRELOAD=" + library_.string();
  if (const char* const present = getenv("LD_PRELOAD"); present != nullptr && *present != 0)
    preload += std::string(":") + present;
  return {preload, std::string(kArenaVariable) + '=' + arena_->path().string()};
}

Result<void> PreloadSource::start() {
  __atomic_store_n(&arena_->header().state, static_cast<io_u32>(ArenaState::open),
                   __ATOMIC_RELEASE);
  return {};
}

void PreloadSource::follow_new_places() {
  const io_u32 used =
      std::min(__atomic_load_n(&arena_->header().used_places, __ATOMIC_ACQUIRE), kPlaces);
  while (readers_.size() < used) {
    readers_.emplace_back(*arena_, static_cast<io_u32>(readers_.size()));
    stuck_since_ns_.push_back(0);
  }
}

std::size_t PreloadSource::read_all(store::TraceWriter& writer) {
  std::size_t records = 0;
  for (PlaceReader& reader : readers_)
    reader.look();
  for (PlaceReader& reader : readers_)
    reader.read_text(*names_);
  for (PlaceReader& reader : readers_)
    records += reader.read_records(*clock_, *names_, writer);
  return records;
}

std::size_t PreloadSource::drain(store::TraceWriter& writer) {
  if (!names_)
    names_.emplace(writer, *clock_);
  const std::uint64_t now_ns = monotonic_ns();
  clock_->tick(now_ns);
  if (!closed_no_ring_)
    follow_new_places();
  else
    wait_for_last();
  const std::size_t records = read_all(writer);
  if (now_ns >= next_check_ns_) {
    next_check_ns_ = now_ns + kOwnerCheckNs;
    skip_stuck(now_ns);
    free_places();
  }
  return records;
}

void PreloadSource::free_places() {
  const std::size_t used = readers_.size();
  for (const io_u32 index :
       owners_.gone(arena_->owners().first(used), arena_->places().first(used))) {
    PlaceReader& reader = readers_[index];
    reader.look(); // what it wrote last, before it was found gone
    if (reader.has_torn())
      reader.skip_torn();
    else if (reader.is_drained())
      reader.free_place();
  }
}

// A thread that jumped out of a signal handler leaves a record that it never finishes.
void PreloadSource::skip_stuck(std::uint64_t now_ns) {
  for (std::size_t i = 0; i < readers_.size(); ++i) {
    if (!readers_[i].has_torn())
      stuck_since_ns_[i] = 0;
    else if (stuck_since_ns_[i] == 0)
      stuck_since_ns_[i] = now_ns;
    else if (now_ns - stuck_since_ns_[i] > kStuckNs)
      readers_[i].skip_torn();
  }
}

// After the end: calls that had reserved a record are given a moment to finish it, then it counts as torn.
void PreloadSource::wait_for_last() {
  const std::uint64_t until_ns = monotonic_ns() + kFinishNs;
  const auto is_unfinished = [](PlaceReader& reader) {
    reader.look();
    return reader.has_torn();
  };
  while (std::ranges::any_of(readers_, is_unfinished) && monotonic_ns() < until_ns)
    usleep(1000);
  for (PlaceReader& reader : readers_)
    if (reader.has_torn())
      reader.skip_torn();
}

Result<void> PreloadSource::stop() {
  if (!arena_)
    return {};
  __atomic_store_n(&arena_->header().state, static_cast<io_u32>(ArenaState::closed),
                   __ATOMIC_SEQ_CST);
  follow_new_places();
  for (PlaceReader& reader : readers_)
    reader.close();
  closed_no_ring_ = __atomic_load_n(&arena_->header().no_ring, __ATOMIC_RELAXED);
  return {};
}

std::uint64_t PreloadSource::no_ring() const {
  return closed_no_ring_.value_or(__atomic_load_n(&arena_->header().no_ring, __ATOMIC_RELAXED));
}

std::uint64_t PreloadSource::lost() const {
  std::uint64_t sum = 0;
  for (const PlaceReader& reader : readers_)
    sum += reader.lost();
  return sum;
}

std::uint64_t PreloadSource::produced() const {
  std::uint64_t sum = arena_ ? no_ring() + lost() : 0;
  for (const PlaceReader& reader : readers_)
    sum += reader.reserved();
  return sum;
}

std::vector<CounterValue> PreloadSource::counters() const {
  std::uint64_t torn = 0;
  for (const PlaceReader& reader : readers_)
    torn += reader.torn();
  const std::uint64_t dropped =
      arena_ ? __atomic_load_n(&arena_->header().text_full, __ATOMIC_RELAXED) : 0;
  const std::uint64_t not_followed =
      arena_ ? __atomic_load_n(&arena_->header().not_followed, __ATOMIC_RELAXED) : 0;
  return {{IO_COUNTER_preload_ring_full, IO_LAYER_app, lost()},
          {IO_COUNTER_preload_no_ring, IO_LAYER_app, arena_ ? no_ring() : 0},
          {IO_COUNTER_preload_torn, IO_LAYER_app, torn},
          {IO_COUNTER_preload_text_full, IO_LAYER_app,
           std::max(dropped, names_ ? names_->unresolved() : 0)},
          {IO_COUNTER_preload_not_followed, IO_LAYER_app, not_followed},
          {IO_COUNTER_preload_hook_missing, IO_LAYER_app, missing_hooks()}};
}

std::vector<store::HookReport> PreloadSource::hooks() const {
  return hook_reports();
}

std::size_t PreloadSource::ring_memory_bytes() const {
  return arena_ ? arena_->memory_bytes() : 0;
}

} // namespace

Result<fs::path> preload_library() {
  std::error_code ignored;
  std::vector<fs::path> tried;
  if (const char* const named = getenv("IOTRAIL_PRELOAD_LIBRARY"); named != nullptr)
    tried.emplace_back(named);
  const fs::path beside = fs::read_symlink("/proc/self/exe", ignored).parent_path();
  for (const char* const folder : {"", "../lib/iotrail", "../lib", IOTRAIL_PRELOAD_BUILT_IN})
    tried.push_back(beside / folder / kLibraryName);
  for (const fs::path& path : tried) {
    if (access(path.c_str(), R_OK) != 0)
      continue;
    fs::path found = fs::canonical(path, ignored);
    if (found.string().find_first_of(" :") != std::string::npos)
      return fail("cannot preload " + found.string(),
                  "LD_PRELOAD cannot hold a path with a blank or a colon");
    return found;
  }
  std::string places;
  for (const fs::path& path : tried)
    places += "\n    " + path.lexically_normal().string();
  return fail(std::string("cannot find ") + kLibraryName, "not in" + places,
              "set IOTRAIL_PRELOAD_LIBRARY to its path");
}

std::unique_ptr<Source> make_preload_source() {
  return std::make_unique<PreloadSource>();
}

} // namespace iotrail::capture
