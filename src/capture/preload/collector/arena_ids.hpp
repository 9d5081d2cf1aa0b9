// SPDX-License-Identifier: BSD-3-Clause
//
// What the numbers in records stand for: files and paths that processes have told of, as ids of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/preload/shared/arena.hpp"
#include "capture/preload/shared/tick_clock.hpp"
#include "capture/selection/pseudo_file_systems.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::preload {

// Paths of one place's text ring that no record has referred to yet. Bounded: a program that sends paths and no records
// loses the oldest.
class PendingPaths {
public:
  void add(iot_u32 reference, iot_u32 id);
  // 0: not there; it was dropped or its writer was killed.
  iot_u32 take(iot_u32 reference);

private:
  struct Path {
    iot_u32 reference;
    iot_u32 id;
  };
  std::deque<Path>
      paths_; // in the order in which they were written, so that references only grow, around 2^32
};

// What one place's text ring has said and nothing has referred to yet.
struct Pending {
  PendingPaths paths;
  std::optional<rows::processes> process; // by the ids of its own namespace
  std::size_t obstacles = 0;              // told of, in programs about to be executed
};

std::string_view obstacle_text(Obstacle obstacle);

class ArenaIds {
public:
  ArenaIds(store::TraceWriter& writer, const TickClock& clock, bool leaves_out_pseudo)
      : writer_(writer), clock_(clock), leaves_out_pseudo_(leaves_out_pseudo) {}

  // One message: its header and the text after it.
  void accept(const TextHeader& header, std::string_view text, iot_u32 reference, Pending& pending);
  iot_u32 file(iot_u32 number);
  iot_u32 path(iot_u32 reference, PendingPaths& paths);
  // Calls on the file are left out.
  bool is_pseudo(iot_u32 number) const { return (known_file(number) & kPseudo) != 0; }
  void leave_out() { ++left_out_; }
  std::uint64_t left_out() const { return left_out_; }

  std::uint64_t unresolved() const { return unresolved_; }
  // Programs without the library, "PID PROGRAM: why"; the first of them.
  const std::vector<std::string>& not_followed() const { return not_followed_; }

private:
  void add_file(const TextHeader& header, std::string_view path);
  rows::processes process_of(const TextHeader& header, std::string_view text) const;

  static constexpr iot_u32 kPseudo = 1U << 31U; // beside the id
  iot_u32 known_file(iot_u32 number) const;

  store::TraceWriter& writer_;
  const TickClock& clock_;
  bool leaves_out_pseudo_;
  PseudoDevices pseudo_devices_;
  std::uint64_t left_out_ = 0;
  // Id in the trace by number in the arena; 0: not reported. In pieces made when needed: a number may be anything.
  static constexpr std::size_t kPieceFiles = 4096;
  using FilePiece = std::array<iot_u32, kPieceFiles>;
  std::vector<std::unique_ptr<FilePiece>> files_ =
      std::vector<std::unique_ptr<FilePiece>>(kFileLimit / kPieceFiles);
  std::uint64_t unresolved_ = 0;
  std::vector<std::string> not_followed_;
};

} // namespace iotrail::capture::preload
