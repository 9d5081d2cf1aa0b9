// SPDX-License-Identifier: BSD-3-Clause
//
// Random programs with overlapping I/O, in a model of a page cache and a device that knows the
// contents of each bio. The test removes events from the engine's input: everything that the engine
// still calls exact must be true.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <map>
#include <random>
#include <set>

#include "test_facts.hpp"

namespace iotrail::trail {
namespace {

constexpr std::uint64_t kMachinePages = 4;
constexpr std::uint64_t kMachineBytes = kMachinePages * kPageBytes;
constexpr int kActions = 40;
constexpr std::uint64_t kStep = 10; // between two actions
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int kMachines = 100;
#else
constexpr int kMachines = 2000; // rare cases need many
#endif

// The writer of each dirty byte; 0: none. Small, because each bio has a copy: there are few
// operations.
using Writers = std::array<std::uint16_t, kMachineBytes>;

struct CarriedBio {
  std::uint64_t op_id; // of direct I/O and reads
  std::uint64_t asked_begin;
  std::uint64_t asked_end;
  std::uint64_t completed_ns;
  Writers writers; // of a write-back
};

// The events after the action that causes them are in `later`, by their time.
class Machine {
public:
  explicit Machine(std::uint32_t seed) : random_(seed) { facts.has_cache_events = true; }

  TestFacts facts;
  std::map<std::uint64_t, CarriedBio> bios; // by the time at which they were queued

  void run() {
    for (int action = 0; action < kActions; ++action) {
      pass_time(now_ns_ + kStep);
      act();
    }
    pass_time(now_ns_ + 1000);
  }

private:
  std::mt19937 random_;
  std::uint64_t now_ns_ = 0;
  std::uint64_t last_op_ = 0;
  Writers writers_{};
  std::array<bool, kMachinePages> is_dirty_{};
  std::array<std::uint64_t, kMachinePages> busy_until_ns_{}; // in flight to or from the device
  bool is_mapped_ = false;
  std::set<std::uint64_t> mappers_;
  std::multimap<std::uint64_t, std::function<void()>> later_;

  std::uint64_t below(std::uint64_t limit) { return random_() % limit; }

  void pass_time(std::uint64_t until_ns) {
    while (!later_.empty() && later_.begin()->first <= until_ns) {
      const auto next = later_.begin();
      now_ns_ = next->first;
      next->second();
      later_.erase(next);
    }
    now_ns_ = until_ns;
  }

  void act() {
    const std::uint64_t begin = below(kMachineBytes);
    const std::uint64_t end = std::min(kMachineBytes, begin + 1 + below(below(2) ? 900 : 9000));
    switch (below(12)) {
    case 0:
    case 1:
    case 2:
      return write_back(begin / kPageBytes, (end - 1) / kPageBytes);
    case 3:
      return write_directly(begin / kPageBytes);
    case 4:
      return read(begin, end);
    case 5:
      return truncate(begin);
    case 6:
      return store_mapped(begin / kPageBytes);
    default:
      return write(begin, end);
    }
  }

  bool is_busy(std::uint64_t page) const { return busy_until_ns_[page] >= now_ns_; }

  // Stored at some time between its begin and its end.
  void write(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t op = ++last_op_;
    const std::uint64_t duration_ns = 1 + below(below(3) ? 8 : 60);
    facts.write(now_ns_, op, begin, end - begin, duration_ns);
    later_.emplace(now_ns_ + below(duration_ns), [this, op, begin, end] {
      for (std::uint64_t page = begin / kPageBytes; page * kPageBytes < end; ++page)
        make_dirty(page, op);
      std::fill(&writers_[begin], writers_.data() + end, static_cast<std::uint16_t>(op));
    });
  }

  void make_dirty(std::uint64_t page, std::uint64_t op) {
    if (!std::exchange(is_dirty_[page], true))
      facts.dirty(now_ns_, op, page * kPageBytes, kPageBytes);
  }

  // A store to a page that is dirty already causes no event. Stores through mappings count for the
  // process that made the page dirty: docs/trails.md.
  void store_mapped(std::uint64_t page) {
    if (!is_mapped_ && below(4) != 0)
      return;
    if (!std::exchange(is_mapped_, true))
      facts.add({.kind = FactKind::mapped, .ts_ns = now_ns_ - 1, .file = kTestFile});
    const std::uint64_t op = ++last_op_;
    mappers_.insert(op);
    make_dirty(page, op);
    for (std::uint64_t place = page * kPageBytes; place < (page + 1) * kPageBytes; ++place)
      if (!mappers_.contains(writers_[place]))
        writers_[place] = static_cast<std::uint16_t>(op);
  }

  void truncate(std::uint64_t end) {
    if (below(3) != 0)
      return;
    facts.add({.kind = FactKind::truncated, .ts_ns = now_ns_, .file = kTestFile, .offset = end});
    std::fill(&writers_[end], writers_.data() + kMachineBytes, std::uint16_t{0});
    for (std::uint64_t page = page_after(end) / kPageBytes; page < kMachinePages; ++page)
      is_dirty_[page] = false;
  }

  void write_back(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t page = first; page <= last; ++page) {
      pass_time(now_ns_ + 1); // each bio has its own time
      if (is_busy(page) || !std::exchange(is_dirty_[page], false))
        continue;
      CarriedBio bio{};
      bio.writers = writers_;
      carry(page, 1, page * kPageBytes, 0, IOT_block_write, bio);
      std::fill_n(&writers_[page * kPageBytes], kPageBytes, std::uint16_t{0});
    }
  }

  void write_directly(std::uint64_t page) {
    pass_time(now_ns_ + 1);
    if (is_busy(page) || is_dirty_[page])
      return;
    const std::uint64_t op = ++last_op_;
    facts.write(now_ns_ - 1, op, page * kPageBytes, kPageBytes, 60);
    CarriedBio bio{};
    bio.op_id = op;
    carry(page, 1, kNoOffset, op, IOT_block_write, bio);
  }

  // The requested pages, and all after them.
  void read(std::uint64_t begin, std::uint64_t end) {
    const std::uint64_t first = begin / kPageBytes;
    pass_time(now_ns_ + 1);
    for (std::uint64_t page = first; page < kMachinePages; ++page)
      if (is_busy(page) || is_dirty_[page])
        return;
    const std::uint64_t op = ++last_op_;
    facts.read(now_ns_ - 1, op, begin, end - begin, 60);
    CarriedBio bio{};
    bio.op_id = op;
    bio.asked_begin = begin;
    bio.asked_end = end;
    carry(first, kMachinePages - first, first * kPageBytes, op, IOT_block_read, bio);
  }

  void carry(std::uint64_t page, std::uint64_t pages, std::uint64_t offset, std::uint64_t op,
             std::uint64_t flags, CarriedBio& bio) {
    const std::uint64_t queued_ns = now_ns_;
    const std::uint64_t issued_ns = queued_ns + 1 + below(4);
    bio.completed_ns = issued_ns + 1 + below(50);
    bios[queued_ns] = bio;
    std::fill_n(&busy_until_ns_[page], pages, bio.completed_ns);
    facts.bio(queued_ns, offset, pages * kPageBytes, op, flags);
    Fact& completed = facts.facts.back();
    completed.ts_ns = issued_ns;
    completed.duration_ns = bio.completed_ns - issued_ns;
    completed.queue_ns = issued_ns - queued_ns;
    completed.sector = page * kPageBytes / kSectorBytes;
    facts.facts[facts.facts.size() - 2].sector = completed.sector;
  }
};

std::uint32_t layer_of(FactKind kind) {
  switch (kind) {
  case FactKind::dirtied:
  case FactKind::evicted:
  case FactKind::flushed:
    return IOT_LAYER_cache;
  case FactKind::queued:
  case FactKind::completed:
    return IOT_LAYER_block;
  default:
    return IOT_LAYER_syscall;
  }
}

// Whether the link is true for each of its bytes.
bool is_true(const Link& link, const Machine& machine) {
  const auto found = machine.bios.find(link.queued_ns);
  if (found == machine.bios.end())
    return false;
  const CarriedBio& bio = found->second;
  if (link.completed_ns != 0 && link.completed_ns != bio.completed_ns)
    return false;
  const auto all = [&](auto&& is_so) {
    for (std::uint64_t place = link.offset; place < link.offset + link.bytes; ++place)
      if (!is_so(place))
        return false;
    return true;
  };
  const std::uint64_t op = is_remainder(link.cause) ? 0 : link.op_id;
  const auto is_asked_page = [&](std::uint64_t place) {
    return place >= page_begin(bio.asked_begin) && place < page_after(bio.asked_end);
  };
  const auto is_asked = [&](std::uint64_t place) {
    return place >= bio.asked_begin && place < bio.asked_end;
  };
  switch (link.cause) {
  case Cause::write_back:
  case Cause::mapped:
    return all([&](std::uint64_t place) { return bio.writers[place] == op; });
  case Cause::direct:
    return bio.op_id == op;
  case Cause::read:
    return bio.op_id == op && all(is_asked);
  case Cause::read_ahead:
    return bio.op_id == op && all([&](std::uint64_t place) { return !is_asked_page(place); });
  case Cause::rounding:
    if (link.operation == IOT_block_read)
      return bio.op_id == op &&
             all([&](std::uint64_t place) { return is_asked_page(place) && !is_asked(place); });
    [[fallthrough]];
  case Cause::along:
  case Cause::dirty_before:
    return all([&](std::uint64_t place) { return bio.writers[place] == 0; });
  default:
    return false; // this machine has no such cause
  }
}

struct Tally {
  std::uint64_t exact = 0; // bytes
  std::uint64_t all = 0;
};

void check(Machine& machine, const std::string& which, Tally& tally) {
  for (const Link& link : machine.facts.replay().links) {
    tally.all += link.bytes;
    if (link.confidence != Confidence::exact)
      continue;
    tally.exact += link.bytes;
    ASSERT_TRUE(is_true(link, machine))
        << which << ": " << cause_name(link.cause) << " of operation " << link.op_id << " at "
        << link.offset << ", " << link.bytes << " bytes, queued at " << link.queued_ns;
  }
}

using Choice = std::function<bool(const Fact&)>;

// Removes events, each with a probability of one in `one_in`, from some time on, and reports that
// to the engine as a trace does.
Tally check_with_losses(const Choice& can_be_lost, unsigned one_in, bool are_only_completions,
                        std::uint32_t programs = kMachines) {
  Tally tally;
  for (std::uint32_t seed = 0; seed < programs; ++seed) {
    Machine machine(seed);
    machine.run();
    std::mt19937 random(seed);
    const std::uint64_t from_ns = random() % (kActions * kStep);
    std::erase_if(machine.facts.facts, [&](const Fact& fact) {
      if (fact.ts_ns < from_ns || !can_be_lost(fact) || random() % one_in != 0)
        return false;
      if (are_only_completions)
        machine.facts.losses.are_completions_missed = true;
      else
        machine.facts.losses.note(layer_of(fact.kind), fact.ts_ns);
      return true;
    });
    check(machine, "program " + std::to_string(seed), tally);
    if (testing::Test::HasFatalFailure())
      break;
  }
  return tally;
}

TEST(replay_loss, without_losses_exact_links_are_true) {
  const Tally tally = check_with_losses([](const Fact&) { return false; }, 1, false);
  EXPECT_GT(tally.exact * 10, tally.all * 4) << "so that the other tests say something";
}

TEST(replay_loss, with_any_event_lost_exact_links_are_true) {
  const Tally tally = check_with_losses([](const Fact&) { return true; }, 8, false);
  EXPECT_GT(tally.exact * 10, tally.all) << "of what came before the loss";
}

TEST(replay_loss, with_events_of_one_kind_lost_exact_links_are_true) {
  for (const FactKind kind :
       {FactKind::read, FactKind::write, FactKind::truncated, FactKind::mapped, FactKind::dirtied,
        FactKind::queued, FactKind::completed})
    for (const unsigned one_in : {1U, 8U}) {
      SCOPED_TRACE(static_cast<int>(kind));
      check_with_losses([&](const Fact& fact) { return fact.kind == kind; }, one_in, false,
                        kMachines / 4);
    }
}

TEST(replay_loss, with_unreported_completions_exact_links_are_true) {
  const auto is_completion = [](const Fact& fact) { return fact.kind == FactKind::completed; };
  const Tally tally = check_with_losses(is_completion, 8, true);
  EXPECT_GT(tally.exact * 10, tally.all * 3) << "such a loss concerns few";
}

} // namespace
} // namespace iotrail::trail
