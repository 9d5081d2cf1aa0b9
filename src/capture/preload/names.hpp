// SPDX-License-Identifier: BSD-3-Clause
//
// What the numbers in records stand for: files and paths that processes have told of, as ids of the trace.
#pragma once

#include <cstdint>
#include <deque>
#include <span>
#include <string>
#include <vector>

#include "capture/preload/arena.hpp"
#include "capture/preload/tick_clock.hpp"
#include "store/trace_writer.hpp"

namespace iotrail::capture::preload {

// Paths of one place's text ring that no record has referred to yet.
class PendingPaths {
public:
  void add(io_u32 reference, io_u32 id) { paths_.push_back({reference, id}); }
  // 0: not there; it was dropped or its writer was killed.
  io_u32 take(io_u32 reference);

private:
  struct Path {
    io_u32 reference;
    io_u32 id;
  };
  std::deque<Path> paths_; // in the order in which they were written
};

class Names {
public:
  Names(store::TraceWriter& writer, const TickClock& clock) : writer_(writer), clock_(clock) {}

  // One message: its header and the text after it.
  void accept(const TextHeader& header, std::string_view text, io_u32 reference,
              PendingPaths& paths);
  io_u32 file(io_u32 number);
  io_u32 path(io_u32 reference, PendingPaths& paths);

  std::uint64_t unresolved() const { return unresolved_; }

private:
  void add_file(const TextHeader& header, std::string_view path);
  void add_process(const TextHeader& header, std::string_view text);

  store::TraceWriter& writer_;
  const TickClock& clock_;
  std::vector<io_u32> files_; // id in the trace by number in the arena; 0: not told of
  std::uint64_t unresolved_ = 0;
};

} // namespace iotrail::capture::preload
