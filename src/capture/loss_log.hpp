// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "capture/source.hpp"

namespace iotrail::capture {

// Turns the sources' growing counters into rows of the table `losses`: what was lost, and between which two looks.
class LossLog {
public:
  explicit LossLog(std::uint64_t begin_ns) : last_look_ns_(begin_ns) {}

  void look(const Source& source, store::TraceWriter& writer, std::uint64_t now_ns);
  // Ends one round of looks over all sources.
  void looked(std::uint64_t now_ns) { last_look_ns_ = now_ns; }

  // Sums since the start, by counter.
  std::uint64_t total(io_counter counter) const;
  const std::map<std::pair<io_counter, io_u32>, std::uint64_t>& totals() const { return seen_; }

private:
  std::uint64_t last_look_ns_;
  std::map<std::pair<io_counter, io_u32>, std::uint64_t> seen_; // by counter and layer
};

} // namespace iotrail::capture
