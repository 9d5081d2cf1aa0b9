// SPDX-License-Identifier: BSD-3-Clause
//
// The one interface of whatever events come from. A recorder drives its sources from one thread, in this order:
//
//   open()   load, allocate, detect; nothing is recorded yet. May fail for the whole source, never for one hook.
//   start()  events arise from here on; follow() may add processes
//   look(), name_files(), drain()   every millisecond or so, each of all sources before the next: what arose up to the look
//            goes into the writer, oldest first per producer
//   stop()   no event arises any more; the recorder then drains until nothing comes
//
// A source never blocks on the traced program and never throws. What it could not deliver it counts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/selection/filter.hpp"
#include "dictionary_rows.hpp"
#include "schema.hpp"
#include "store/format/manifest.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

class Tasks;

// Events are added up where they arise, and what leaves the source are rows of the table `event_sums`: at each interval, and at
// the end, those that have grown, each with what has come since the interval before.
struct AggregateOptions {
  std::uint64_t interval_ns = 0; // 0: events are recorded, not added up
  std::size_t rows =
      0; // that the kernel's table has, rounded up to a power of two; 0: the source's default
  // Also at the end; may be empty. The rows are added up over processes, files and devices.
  std::function<void(std::span<const rows::event_sums>)> on_interval;
};

struct SourceOptions {
  Filter filter;
  std::size_t ring_bytes =
      0; // of all rings of one CPU (kernel) or thread (preload); 0: the source's default
  // Kernel functions and tracepoints that are left alone though they could be hooked, as where a compiler has inlined a
  // function: for tests.
  std::vector<std::string> hooks_left_out;
  // Of files that the kernel source knows in a table, after which it begins another; 0: its default. For tests.
  std::uint32_t files_at_once = 0;
  // Of the things in flight that the kernel source follows, for each kind; 0: its default. For tests.
  std::uint32_t in_flight_at_once = 0;
  // The preload library and its arena, where another source brings them into the programs: what is done to them for
  // iotrail's sake is not the programs' I/O.
  std::vector<std::filesystem::path> own_files;
  std::filesystem::path program; // that `filter.tree_root` is about to execute; empty: not known
  std::vector<std::string> arguments; // of it, its name first
  Tasks* tasks = nullptr; // shared by all sources of a recording; nullptr: the source has its own
  AggregateOptions aggregates; // of the kernel source
};

// A counter of stats.def since the start; cumulative.
struct CounterValue {
  iot_counter counter;
  iot_u32 layer; // 0: not known
  std::uint64_t value;
  iot_u32 event = 0; // id of the event that is missing; 0: not known
};

class Source {
public:
  virtual ~Source() = default;

  virtual std::string_view name() const = 0; // as in the value table `source`
  virtual Result<void> open(const SourceOptions& options) = 0;

  // Added to the environment of the command before it is executed, "NAME=value".
  virtual std::vector<std::string> child_environment() const { return {}; }

  // Brought into the programs; as in SourceOptions.
  virtual std::vector<std::filesystem::path> own_files() const { return {}; }

  virtual Result<void> start() = 0;
  // After start(): this process too, and all that it starts from now on.
  virtual Result<void> follow(pid_t) {
    return fail(fmt::format("source {}", name()), "it cannot follow one more process");
  }
  // The names of files that arise from here on wait for the next time.
  virtual void look() {}
  // Tells the writer of the files that were seen up to now, if each is seen from its opening on: the name that a file has
  // in the trace is the one that the writer is told first.
  virtual void name_files(store::TraceWriter&) {}
  // Number of records moved, or that wait.
  virtual std::size_t drain(store::TraceWriter& writer) = 0;
  // Nothing more will come of it, and all that came is drained.
  virtual bool has_ended() const { return false; }
  virtual Result<void> stop() = 0;

  // Events that arose since the start, delivered or lost; counted where they arise, not where they arrive.
  virtual std::uint64_t produced() const = 0;
  // Of these, those of operations that took or moved less than the filter wants; known when the operations end.
  virtual std::uint64_t left_out() const { return 0; }
  // Its events come as rows of `event_sums` (AggregateOptions).
  virtual bool adds_up() const { return false; }
  virtual std::vector<CounterValue> counters() const = 0;
  // How long before it was counted a lost event may have begun.
  virtual std::uint64_t longest_lost_ns() const { return 0; }

  // What serves each event, or why nothing does. Valid after open().
  virtual std::vector<store::HookReport> hooks() const = 0;
  // That its rings take now. Valid from open() on.
  virtual std::size_t ring_memory_bytes() const = 0;

  // Programs that ran unseen though they were to be followed, "PID PROGRAM: why"; the first thousand or so.
  virtual std::vector<std::string> not_followed() const { return {}; }
  // File systems of the files that it saw, if the layer fs has no event of them; in order.
  virtual std::vector<std::string> bare_file_systems() const { return {}; }
};

} // namespace iotrail::capture
