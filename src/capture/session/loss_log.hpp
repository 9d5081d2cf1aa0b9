// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <span>

#include "capture/source.hpp"

namespace iotrail::capture {

// Turns the growing counters of the sources into rows of the table `losses`: how much was lost
// between two samples. If losses are counted when an operation ends, the row begins earlier, since
// the operation may have begun earlier.
class LossLog {
public:
  explicit LossLog(std::uint64_t begin_ns) : begin_ns_(begin_ns), last_sample_ns_(begin_ns) {}

  void sample(std::span<const std::unique_ptr<Source>> sources, store::TraceWriter& writer,
              std::uint64_t now_ns);

private:
  struct Key {
    iot_counter counter;
    iot_u32 layer;
    iot_u32 event;
    auto operator<=>(const Key&) const = default;
  };

  void sample(const Source& source, store::TraceWriter& writer, std::uint64_t now_ns);

  std::uint64_t begin_ns_; // begin of the recording
  std::uint64_t last_sample_ns_;
  std::map<Key, std::uint64_t> seen_;
};

} // namespace iotrail::capture
