// SPDX-License-Identifier: BSD-3-Clause
//
// The one interface of whatever events come from. A session drives its sources from one thread, in this order:
//
//   open()   load, allocate, detect; nothing is recorded yet. May fail for the whole source, never for one hook.
//   start()  events arise from here on
//   drain()  every millisecond or so: moves all that arose up to now into the writer, oldest first per producer
//   stop()   no event arises any more; the session then drains until nothing comes
//
// A source never blocks on the traced program and never throws. What it could not deliver it counts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "schema.hpp"
#include "store/manifest.hpp"
#include "store/trace_writer.hpp"

namespace iotrail::capture {

// What is to be recorded. Empty lists do not restrict.
struct Filter {
  std::vector<schema::Layer> layers;
  std::vector<std::string> events; // names as in the schema
  pid_t tree_root = 0;             // this process and all that it starts from now on
  bool tree_from_exec = false;     // but nothing before its next exec
  std::vector<pid_t>
      pids; // these processes as they run, and all that they have started and will start
  std::vector<std::string> cgroups; // paths below /sys/fs/cgroup
  std::vector<std::string> devices; // block devices, as paths
  std::vector<std::string> files;   // files, as paths
  bool whole_system = false;
};

struct SourceOptions {
  Filter filter;
  std::size_t ring_bytes =
      0; // of all rings of one CPU (kernel) or thread (preload); 0: the source's default
};

// A counter of stats.def since the start; cumulative.
struct CounterValue {
  io_counter counter;
  io_u32 layer; // 0: not known
  std::uint64_t value;
};

class Source {
public:
  virtual ~Source() = default;

  virtual std::string_view name() const = 0; // as in the value table `source`
  virtual Result<void> open(const SourceOptions& options) = 0;

  // Added to the environment of the command before it is executed, "NAME=value".
  virtual std::vector<std::string> child_environment() const { return {}; }

  virtual Result<void> start() = 0;
  virtual std::size_t drain(store::TraceWriter& writer) = 0; // number of records moved
  virtual Result<void> stop() = 0;

  // Events that arose since the start, delivered or lost; counted where they arise, not where they arrive.
  virtual std::uint64_t produced() const = 0;
  virtual std::vector<CounterValue> counters() const = 0;

  // What serves each event, or why nothing does. Valid after open().
  virtual std::vector<store::HookReport> hooks() const = 0;
  virtual std::size_t ring_memory_bytes() const = 0;
};

} // namespace iotrail::capture
