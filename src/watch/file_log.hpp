// SPDX-License-Identifier: BSD-3-Clause
//
// The log of one watched file: its last reads and writes, the oldest replaced first. It remembers
// when it was enabled, and takes only events from these times. Not thread-safe.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace iotrail::watch {

// Each costs about 80 bytes.
inline constexpr std::size_t kEntriesMost = 1'000'000;

struct LogEntry {
  std::uint64_t ts_ns = 0;   // CLOCK_MONOTONIC: begin of a call; when a bio was queued
  std::uint64_t address = 0; // of a call, the position in the file in bytes; of a bio, the sector
  std::uint64_t bytes = 0;
  std::uint32_t pid = 0; // the process that caused it
  bool is_read = false;
  bool is_bio = false; // else a call
  std::string comm;    // of the process at that time
};

class FileLog {
public:
  // `most` is from 1 to kEntriesMost.
  FileLog(std::size_t most, std::uint64_t now_ns) : most_(most), zero_ns_(now_ns) { start(now_ns); }

  void start(std::uint64_t now_ns);
  void stop(std::uint64_t now_ns);
  void reset(std::uint64_t now_ns); // drops all entries
  void reset_time(std::uint64_t now_ns) {
    reset(now_ns);
    zero_ns_ = now_ns;
  }

  bool is_enabled() const { return is_enabled_; }
  std::size_t most() const { return most_; }
  std::uint64_t zero_ns() const { return zero_ns_; } // times are shown from here on
  std::size_t entries() const { return std::min(most_, kept_.size() + current_.size()); }

  // The events of the running recording, again from its begin, in the order of time.
  void begin_recording() { current_.clear(); }
  void add(LogEntry entry);
  // The running recording has ended at this time: its entries stay.
  void keep(std::uint64_t until_ns);

  std::vector<LogEntry> all() const; // the oldest first

private:
  struct Span {
    std::uint64_t from_ns;
    std::uint64_t until_ns;
  };
  bool covers(std::uint64_t ts_ns) const;

  std::size_t most_;
  std::uint64_t zero_ns_;
  bool is_enabled_ = false;
  std::vector<Span> spans_;      // when it was enabled, since the last reset
  std::deque<LogEntry> kept_;    // of earlier recordings
  std::deque<LogEntry> current_; // of the running one
};

} // namespace iotrail::watch
