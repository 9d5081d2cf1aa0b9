// SPDX-License-Identifier: BSD-3-Clause
//
// The spans of a trace on tracks, for programs that draw them. A track has lanes: in each, spans
// follow one another or lie within one another, as such programs require. The first lane of a thread
// has all that its calls did. Overlapping requests of a device need several.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "export/trace_format.hpp"

namespace iotrail::output {

struct Lane {
  std::uint32_t number = 0; // from 1, unique in the time line
  std::uint32_t rank = 0;   // from 0, within its track
  bool is_device = false;
  std::uint64_t pid = 0; // 0 for a device
  std::uint64_t tid = 0; // of the thread, if is_thread
  bool is_thread = false;
  std::string name; // "sqlite3", "sda", "async"; printable
};

// Valid during the call that gets it.
struct TimelineSpan {
  std::string_view layer;
  std::string_view event;
  std::string name; // printable
  std::uint64_t op = 0;
  std::uint64_t parent_op = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t duration_ns = 0;
  bool has_bytes = false;
  std::uint64_t bytes = 0;
  std::int64_t error = 0;
  std::string path;         // printable; empty: none
  std::uint64_t device = 0; // of a request

  std::uint64_t end_ns() const {
    return begin_ns + duration_ns < begin_ns ? UINT64_MAX : begin_ns + duration_ns;
  }
};

class TimelineWriter {
public:
  virtual ~TimelineWriter() = default;
  // A process of a lane, before its first lane; pid 0: the devices.
  virtual void process(std::uint64_t pid, const std::string& name) = 0;
  virtual void lane(const Lane& lane) = 0;
  // In the order of begins.
  virtual void span(const Lane& lane, const TimelineSpan& span) = 0;
};

Result<void> write_timeline(const TraceInput& input, const Sink& sink, TimelineWriter& writer);

// Finds lanes for the spans of one track, which come in the order of begins, longer ones first.
class LaneFinder {
public:
  // `nests`: a span may lie within another one of its lane.
  explicit LaneFinder(bool nests) : nests_(nests) {}

  // The rank of a lane into which the span fits; the first one if possible.
  std::size_t rank_of(std::uint64_t begin_ns, std::uint64_t end_ns);

private:
  void close_until(std::uint64_t ns);
  std::size_t choose(std::uint64_t end_ns);

  bool nests_;
  std::vector<std::vector<std::uint64_t>> open_ends_ns_;   // of a lane, outermost first
  std::set<std::pair<std::uint64_t, std::size_t>> in_use_; // innermost end and rank
  std::set<std::size_t> free_;
};

} // namespace iotrail::output
