// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/preload_source.hpp"

#include <unistd.h>

#include <algorithm>
#include <bit>
#include <deque>
#include <optional>

#include "base/clock.hpp"
#include "capture/preload/collector/arena_file.hpp"
#include "capture/preload/collector/arena_watch.hpp"
#include "capture/preload/collector/call_table.hpp"
#include "capture/preload/collector/owners.hpp"
#include "capture/preload/collector/thread_ring_reader.hpp"
#include "capture/preload/shared/lost_memory.hpp"
#include "capture/preload/shared/preload_blocker.hpp"
#include "capture/selection/operations.hpp"

namespace iotrail::capture {

using namespace preload;
namespace fs = std::filesystem;

namespace {

constexpr std::uint64_t kOwnerCheckNs = 10'000'000;
constexpr std::uint64_t kStuckNs =
    1'000'000'000; // an unfinished record of this age is never finished
constexpr std::uint64_t kFinishNs = 50'000'000; // for calls in progress at the end
constexpr iot_u32 kSmallestRing = 1024;         // records
constexpr unsigned kWaitUs = 1000;

class PreloadSource final : public Source {
public:
  std::string_view name() const override { return "preload"; }
  Result<void> open(const SourceOptions& options) override;
  std::vector<std::string> child_environment() const override;
  std::vector<fs::path> own_files() const override { return {library_, arena_->path()}; }
  Result<void> start() override;
  void look() override;
  std::size_t drain(store::TraceWriter& writer) override;
  Result<void> stop() override;
  std::uint64_t produced() const override;
  std::uint64_t left_out() const override { return deferred_filter_.left_out(); }
  std::vector<CounterValue> counters() const override;
  std::vector<store::HookReport> hooks() const override;
  std::size_t ring_memory_bytes() const override;
  std::vector<std::string> not_followed() const override;

private:
  void begin_to_read(store::TraceWriter& writer);
  void follow_new_places();
  std::string arena_variable(std::string_view name) const;
  bool is_arena_bad() const;
  bool is_out_of_reach() const;
  std::size_t read_all(store::TraceWriter& writer, std::uint64_t now_ns);
  void free_places(std::uint64_t now_ns);
  void skip_stuck(std::uint64_t now_ns);
  void wait_for_last();
  void stop_reading();
  std::uint64_t sum(std::uint64_t (ThreadRingReader::*count)() const) const;

  Tasks own_tasks_; // if none are given
  Tasks* tasks_ = &own_tasks_;
  fs::path library_;
  iot_u32 command_pid_ = 0;            // in this process's pid namespace
  bool is_harmful_to_command_ = false; // the library would harm the command if preloaded
  std::string unseen_command_;         // "PID PROGRAM: why"; empty: it can be followed
  std::optional<ArenaFile> arena_;
  std::optional<ArenaWatch> header_; // of the arena
  std::optional<TickClock> clock_;
  std::optional<ArenaIds> ids_;
  DeferredFilter deferred_filter_;
  bool leaves_out_pseudo_ = false;
  std::deque<ThreadRingReader> readers_; // of places 0, 1, ... that were ever claimed
  std::vector<std::uint64_t> stuck_since_ns_;
  OwnerWatch owners_;
  std::optional<OwnerCheck> owner_check_;
  std::uint64_t next_check_ns_ = 0;
  std::optional<std::uint64_t>
      finish_until_ns_; // after stop(): end of the wait for calls in progress
};

iot_u32 slots_for(std::size_t ring_bytes) {
  if (ring_bytes == 0)
    return kDefaultSlots;
  const std::size_t slots = std::bit_floor(ring_bytes / sizeof(RawRecord));
  return static_cast<iot_u32>(std::clamp<std::size_t>(slots, kSmallestRing, 1U << 24U));
}

WantedCalls wanted_calls(const Filter& filter) {
  WantedCalls wanted;
  for (const Operation& operation : all_operations()) {
    const schema::Event& event = *operation.event;
    if (event.layer != schema::Layer::app || !filter.records(event))
      continue;
    const iot_u64 bit = 1ULL << (event.id & 63U);
    const iot_u16 call = number_of_call(operation.call);
    if (is_chosen(filter, operation)) {
      wanted.events |= bit;
    } else {
      wanted.mixed_events |= bit;
      wanted.left_out[call % kCallLimit / 64] |= 1ULL << (call % 64U);
    }
  }
  wanted.mixed_events &= wanted.events;
  return wanted;
}

// The library enters a program at its start, and knows names of files but not which of them are
// selected.
Result<void> check_filter(const Filter& filter) {
  if (!filter.pids.empty() || filter.wanted.choose_groups() || filter.whole_system)
    return fail("layer app", "calls are seen only in a command that iotrail starts",
                std::string(store::kAskForOther));
  if (filter.names_things() || filter.filters_tasks() || filter.excluded.choose_files() ||
      filter.excluded.choose_devices())
    return fail("layer app",
                "calls cannot be restricted to files, devices, users, names or a sample",
                std::string(store::kAskForOther));
  return {};
}

PreloadBlocker find_blocker(const fs::path& program, const std::vector<std::string>& arguments) {
  std::vector<const char*> all;
  for (const std::string& argument : arguments)
    all.push_back(argument.c_str());
  all.push_back(nullptr);
  return blocker_of_path(program.c_str(), all.data());
}

Result<void> PreloadSource::open(const SourceOptions& options) {
  if (Result<void> fits = check_filter(options.filter); !fits)
    return fits;
  deferred_filter_.configure(options.filter.thresholds);
  leaves_out_pseudo_ = options.filter.excludes_pseudo;
  const Result<fs::path> library = preload_library();
  if (!library)
    return std::unexpected(library.error());
  library_ = *library;
  is_harmful_to_command_ = is_harmful(find_blocker(options.program, options.arguments));
  if (const std::string why = preload_blocker_text(options.program, options.arguments);
      !why.empty())
    unseen_command_ =
        fmt::format("{} {}: {}", options.filter.tree_root, options.program.native(), why);
  if (options.tasks != nullptr)
    tasks_ = options.tasks;
  tasks_->unseen().expect();
  command_pid_ = static_cast<iot_u32>(options.filter.tree_root);
  clock_.emplace(TickClock::detect());
  Result<ArenaFile> arena = ArenaFile::create(slots_for(options.ring_bytes), clock_->kind(),
                                              wanted_calls(options.filter), *tasks_);
  if (!arena)
    return std::unexpected(arena.error());
  arena_.emplace(std::move(*arena));
  header_.emplace(*arena_);
  const std::vector<std::string> variables{arena_variable(kArenaVariable),
                                           arena_variable(kAddedArenaVariable)};
  tasks_->expect_variables(variables);
  owner_check_.emplace(variables, arena_->path(), arena_->made_ns());
  return {};
}

std::string PreloadSource::arena_variable(std::string_view name) const {
  return fmt::format("{}={}", name, arena_->path().native());
}

std::vector<std::string> PreloadSource::child_environment() const {
  if (is_harmful_to_command_)
    return {};
  std::string preload = "LD_PRELOAD=" + library_.string();
  if (const char* const present = getenv("LD_PRELOAD"); present != nullptr && *present != 0)
    preload += std::string(":") + present;
  return {preload, arena_variable(kArenaVariable)};
}

Result<void> PreloadSource::start() {
  header_->set_state(ArenaState::open);
  return {};
}

void PreloadSource::begin_to_read(store::TraceWriter& writer) {
  ids_.emplace(writer, *clock_, leaves_out_pseudo_);
  if (unseen_command_.empty())
    return;
  const auto command = tasks_->last_known({tasks_->pid_namespace(), command_pid_, command_pid_});
  tasks_->unseen().note_reported(command ? command->pid : command_pid_);
}

void PreloadSource::follow_new_places() {
  if (!header_->is_intact())
    return;
  if (!header_->look())
    return stop_reading();
  while (readers_.size() < header_->last().used_places) {
    readers_.emplace_back(*arena_, static_cast<iot_u32>(readers_.size()));
    stuck_since_ns_.push_back(0);
  }
}

// The arena was overwritten or truncated: its contents are no longer trusted, and its programs are
// asked to stop using it.
void PreloadSource::stop_reading() {
  arena_->abandon();
  std::ranges::for_each(readers_, &ThreadRingReader::stop_reading);
}

// Number of records read, plus waiting reports after the end, so that the session calls again.
std::size_t PreloadSource::read_all(store::TraceWriter& writer, std::uint64_t now_ns) {
  std::size_t records = 0;
  if (!readers_.empty())
    clock_->settle();
  for (ThreadRingReader& reader : readers_)
    reader.read_text(*ids_);
  for (ThreadRingReader& reader : readers_)
    reader.identify(*tasks_, *owner_check_, now_ns);
  for (ThreadRingReader& reader : readers_)
    records += reader.read_records(*clock_, *ids_, deferred_filter_, writer);
  const std::size_t waiting =
      tasks_->write(writer, now_ns) +
      static_cast<std::size_t>(std::ranges::count_if(readers_, &ThreadRingReader::is_waiting));
  if (!finish_until_ns_ || waiting == 0)
    return records;
  usleep(kWaitUs);
  return records + waiting;
}

void PreloadSource::look() {
  if (!finish_until_ns_)
    follow_new_places();
  else
    wait_for_last();
  for (ThreadRingReader& reader : readers_)
    reader.look();
}

std::size_t PreloadSource::drain(store::TraceWriter& writer) {
  if (!ids_)
    begin_to_read(writer);
  const std::uint64_t now_ns = monotonic_ns();
  clock_->tick(now_ns);
  const std::size_t records = read_all(writer, now_ns);
  deferred_filter_.keep_slow(now_ns, writer); // no event waits: a call is recorded at its end
  if (now_ns >= next_check_ns_) {
    next_check_ns_ = now_ns + kOwnerCheckNs;
    skip_stuck(now_ns);
    free_places(now_ns);
  }
  return records;
}

void PreloadSource::free_places(std::uint64_t now_ns) {
  const std::size_t used = readers_.size();
  for (const iot_u32 index :
       owners_.find_gone(arena_->owners().first(used), arena_->places().first(used))) {
    ThreadRingReader& reader = readers_[index];
    reader.look(); // its last records, before it was found gone
    reader.read_text(*ids_);
    reader.identify(*tasks_, *owner_check_, now_ns);
    if (reader.has_torn())
      reader.skip_torn();
    else if (reader.is_drained())
      reader.free_place();
  }
}

// A thread that jumped out of a signal handler leaves an unfinished record.
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

// After the end: calls with a reserved record have a moment to finish it, then it counts as torn.
void PreloadSource::wait_for_last() {
  const auto is_unfinished = [](ThreadRingReader& reader) {
    reader.look();
    return reader.has_torn();
  };
  while (std::ranges::any_of(readers_, is_unfinished) && monotonic_ns() < *finish_until_ns_)
    usleep(1000);
  for (ThreadRingReader& reader : readers_)
    if (reader.has_torn())
      reader.skip_torn();
}

Result<void> PreloadSource::stop() {
  if (!arena_)
    return {};
  header_->set_state(ArenaState::closed);
  follow_new_places();
  finish_until_ns_ = monotonic_ns() + kFinishNs;
  for (ThreadRingReader& reader : readers_)
    reader.close(*finish_until_ns_);
  return {};
}

std::uint64_t PreloadSource::sum(std::uint64_t (ThreadRingReader::*count)() const) const {
  std::uint64_t sum = 0;
  for (const ThreadRingReader& reader : readers_)
    sum += (reader.*count)();
  return sum;
}

std::uint64_t PreloadSource::produced() const {
  if (!arena_)
    return 0;
  const std::uint64_t left_out = ids_ ? ids_->left_out() : 0;
  return header_->last().no_ring + header_->last().no_clock + sum(&ThreadRingReader::produced) -
         left_out;
}

std::vector<CounterValue> PreloadSource::counters() const {
  const ArenaHeader header = header_ ? header_->last() : ArenaHeader{};
  const auto overwritten = static_cast<std::uint64_t>(
      (is_arena_bad() ? 1 : 0) +
      std::ranges::count_if(readers_, &ThreadRingReader::is_overwritten));
  return {{IOT_COUNTER_preload_ring_full, IOT_LAYER_app, sum(&ThreadRingReader::lost)},
          {IOT_COUNTER_preload_no_ring, IOT_LAYER_app, header.no_ring},
          {IOT_COUNTER_preload_no_clock, IOT_LAYER_app, header.no_clock},
          {IOT_COUNTER_preload_torn, IOT_LAYER_app, sum(&ThreadRingReader::torn)},
          {IOT_COUNTER_preload_text_full, IOT_LAYER_app,
           std::max<std::uint64_t>(header.text_full, ids_ ? ids_->unresolved() : 0)},
          {IOT_COUNTER_preload_task_unknown, IOT_LAYER_app, sum(&ThreadRingReader::unknown)},
          {IOT_COUNTER_preload_overwritten, IOT_LAYER_app, overwritten},
          {IOT_COUNTER_preload_not_followed, IOT_LAYER_app,
           std::max<std::uint64_t>(header.not_followed + tasks_->unseen().count() +
                                       (unseen_command_.empty() ? 0 : 1),
                                   is_out_of_reach() ? 1 : 0)},
          {IOT_COUNTER_preload_pseudo_left_out, IOT_LAYER_app, ids_ ? ids_->left_out() : 0}};
}

// A program overwrote or cut off the shared part.
bool PreloadSource::is_arena_bad() const {
  return header_ && (!header_->is_intact() || is_arena_lost());
}

// From some time on, programs could not find the recorder; which programs is unknown.
bool PreloadSource::is_out_of_reach() const {
  return arena_ && arena_->is_removed();
}

std::vector<std::string> PreloadSource::not_followed() const {
  std::vector<std::string> all;
  if (is_out_of_reach())
    all.push_back(fmt::format("all that started later: {}, by which programs find the recorder, "
                              "was removed meanwhile",
                              arena_->path().native()));
  if (!unseen_command_.empty())
    all.push_back(unseen_command_);
  if (ids_)
    std::ranges::copy(ids_->not_followed(), std::back_inserter(all));
  for (const UntracedPrograms::UnseenProgram& program : tasks_->unseen().first()) {
    std::string why = preload_blocker_text(program.exe);
    if (why.empty())
      why = is_arena_bad() ? "it did not load the preload library, or said so in memory that a "
                             "program overwrote"
                           : "it did not load the preload library";
    all.push_back(fmt::format("{} {}: {}", program.pid, program.exe, why));
  }
  return all;
}

std::vector<store::HookReport> PreloadSource::hooks() const {
  return hook_reports();
}

std::size_t PreloadSource::ring_memory_bytes() const {
  return arena_ ? arena_->memory_bytes() : 0;
}

} // namespace

std::string preload_blocker_text(const fs::path& program,
                                 const std::vector<std::string>& arguments) {
  const PreloadBlocker preload_blocker = find_blocker(program, arguments);
  return preload_blocker == PreloadBlocker::none
             ? std::string()
             : std::string(preload_blocker_text(preload_blocker));
}

std::unique_ptr<Source> make_preload_source() {
  return std::make_unique<PreloadSource>();
}

} // namespace iotrail::capture
