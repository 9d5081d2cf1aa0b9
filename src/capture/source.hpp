// SPDX-License-Identifier: BSD-3-Clause
//
// The interface of a source of events. A recorder drives its sources from one thread, in this
// order:
//
//   open()   load, allocate, detect; nothing is recorded yet. Fails as a whole, never for one hook
//   start()  events are recorded from here on; follow() may add processes
//   look(), name_files(), drain()   every millisecond or so, each for all sources before the next:
//            events up to look() go to the writer, oldest first per producer
//   stop()   no more events; the recorder then drains until the source is empty
//
// A source never blocks on the traced program and never throws. It counts the events that it cannot
// deliver.
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

// With aggregates, the source adds events up and delivers rows of the table `event_sums`. At each
// interval and at the end it delivers the sums that have grown, with the increase since the
// interval before.
struct AggregateOptions {
  std::uint64_t interval_ns = 0; // 0: events are recorded, not added up
  std::size_t rows =
      0; // that the kernel's table has, rounded up to a power of two; 0: the source's default
  // Also at the end; may be empty. The rows are added up over processes, files and devices.
  std::function<void(std::span<const rows::event_sums>)> on_interval;
};

struct SourceOptions {
  Filter filter;
  // For all rings of one CPU (kernel) or thread (preload); 0: the source's default.
  std::size_t ring_bytes = 0;
  // For tests: kernel functions and tracepoints that iotrail does not hook, as if a compiler had
  // inlined them.
  std::vector<std::string> hooks_left_out;
  // For tests: the size of the kernel source's table of files, after which it begins another one;
  // 0: its default.
  std::uint32_t files_at_once = 0;
  // For tests: how many objects in flight the kernel source follows, for each kind; 0: its default.
  std::uint32_t in_flight_at_once = 0;
  // The preload library and its arena, which another source adds to the programs. I/O on them for
  // iotrail is not the programs' I/O.
  std::vector<std::filesystem::path> own_files;
  std::filesystem::path program;      // that `filter.tree_root` is about to execute; empty: unknown
  std::vector<std::string> arguments; // of `program`, its name first
  bool keeps_arguments = true;        // of programs, in their command lines
  Tasks* tasks = nullptr; // shared by all sources of a recording; nullptr: the source makes its own
  AggregateOptions aggregates; // for the kernel source
};

// A counter of stats.def since the start; cumulative.
struct CounterValue {
  iot_counter counter;
  iot_u32 layer; // 0: unknown
  std::uint64_t value;
  iot_u32 event = 0; // kind of the missing event; 0: unknown
};

class Source {
public:
  virtual ~Source() = default;

  virtual std::string_view name() const = 0; // as in the value table `source`
  virtual Result<void> open(const SourceOptions& options) = 0;

  // Variables to add to the environment of the command before exec, "NAME=value".
  virtual std::vector<std::string> child_environment() const { return {}; }

  // Files that the source adds to programs, as in SourceOptions.
  virtual std::vector<std::filesystem::path> own_files() const { return {}; }

  virtual Result<void> start() = 0;
  // After start(): also records this process and all that it starts from now on.
  virtual Result<void> follow(pid_t) {
    return fail(fmt::format("source {}", name()), "it cannot follow one more process");
  }
  // Takes the current end of the rings. Files that appear later are named after the next look().
  virtual void look() {}
  // Names the files seen before look() to the writer, if the source sees each file from its open
  // on. A file keeps the first name that the writer gets.
  virtual void name_files(store::TraceWriter&) {}
  // Number of records that were moved or still wait.
  virtual std::size_t drain(store::TraceWriter& writer) = 0;
  // No more events will come, and all are drained.
  virtual bool has_ended() const { return false; }
  virtual Result<void> stop() = 0;

  // Events since the start, delivered or lost. Counted where they occur, not where they arrive.
  virtual std::uint64_t produced() const = 0;
  // The part of `produced` from operations below a threshold, which is known at their end.
  virtual std::uint64_t left_out() const { return 0; }
  // Its events come as rows of `event_sums` (AggregateOptions).
  virtual bool adds_up() const { return false; }
  virtual std::vector<CounterValue> counters() const = 0;
  // The longest time between the begin of a lost event and its counting.
  virtual std::uint64_t longest_lost_ns() const { return 0; }

  // The hook for each event, or why there is none. Valid after open().
  virtual std::vector<store::HookReport> hooks() const = 0;
  // Current memory of its rings. Valid after open().
  virtual std::size_t ring_memory_bytes() const = 0;

  // Programs that should have been followed but were not, "PID PROGRAM: why"; the first thousand or
  // so.
  virtual std::vector<std::string> not_followed() const { return {}; }
  // File systems of the files that it saw which have no events in layer fs; sorted.
  virtual std::vector<std::string> unsupported_file_systems() const { return {}; }
};

} // namespace iotrail::capture
