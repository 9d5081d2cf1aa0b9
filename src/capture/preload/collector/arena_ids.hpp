// SPDX-License-Identifier: BSD-3-Clause
//
// Maps the file and path numbers in records, as announced by processes, to ids of the trace.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "capture/preload/collector/file_system_devices.hpp"
#include "capture/preload/shared/arena.hpp"
#include "capture/preload/shared/tick_clock.hpp"
#include "capture/selection/pseudo_file_systems.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::preload {

// Paths from one place's text ring that no record has used yet. Bounded: a program that sends paths
// without records loses the oldest.
class PendingPaths {
public:
  void add(iot_u32 reference, iot_u32 id);
  // Nothing: it is missing, because it was dropped or its writer was killed. An empty path is 0.
  std::optional<iot_u32> take(iot_u32 reference);

private:
  struct Path {
    iot_u32 reference;
    std::optional<iot_u32> id; // until a record takes it
  };
  std::deque<Path> paths_; // in the order of writing, so that references only grow, modulo 2^32
};

// Messages of one place's text ring that no record has used yet.
struct Pending {
  PendingPaths paths;
  std::optional<rows::processes> process; // with the ids of its own namespace
  std::size_t blockers = 0;               // reported for programs about to be executed
};

std::string_view preload_blocker_text(PreloadBlocker preload_blocker);

class ArenaIds {
public:
  ArenaIds(store::TraceWriter& writer, const TickClock& clock, bool excludes_pseudo)
      : writer_(writer), clock_(clock), leaves_out_pseudo_(excludes_pseudo) {}

  // Takes one message: its header and the text after it.
  void accept(const TextHeader& header, std::string_view text, iot_u32 reference, Pending& pending);
  iot_u32 file(iot_u32 number);
  iot_u32 path(iot_u32 reference, PendingPaths& paths);
  // Calls on the file are excluded.
  bool is_pseudo(iot_u32 number) const { return (known_file(number) & kPseudo) != 0; }
  void leave_out() { ++left_out_; }
  std::uint64_t left_out() const { return left_out_; }

  std::uint64_t unresolved() const { return unresolved_; }
  // Programs without the library, "PID PROGRAM: why"; only the first ones.
  const std::vector<std::string>& not_followed() const { return not_followed_; }

private:
  void add_file(const TextHeader& header, std::string_view path);
  rows::processes process_of(const TextHeader& header, std::string_view text) const;

  static constexpr iot_u32 kPseudo = 1U << 31U; // flag next to the id
  iot_u32 known_file(iot_u32 number) const;

  store::TraceWriter& writer_;
  const TickClock& clock_;
  bool leaves_out_pseudo_;
  PseudoDevices pseudo_devices_;
  FileSystemDevices devices_;
  std::uint64_t left_out_ = 0;
  // Id in the trace by file number in the arena; 0: not reported. Allocated in chunks on demand,
  // because a number may be anything.
  static constexpr std::size_t kPieceFiles = 4096;
  using FilePiece = std::array<iot_u32, kPieceFiles>;
  std::vector<std::unique_ptr<FilePiece>> files_ =
      std::vector<std::unique_ptr<FilePiece>>(kFileLimit / kPieceFiles);
  std::uint64_t unresolved_ = 0;
  std::vector<std::string> not_followed_;
};

} // namespace iotrail::capture::preload
