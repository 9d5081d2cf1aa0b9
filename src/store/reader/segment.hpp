// SPDX-License-Identifier: BSD-3-Clause
//
// A segment of a trace that is open.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "store/format/layout.hpp"
#include "store/reader/segment_bytes.hpp"
#include "store/reader/segment_index.hpp"

namespace iotrail::store {

struct Segment {
  std::uint32_t number = 0;
  SegmentBytes bytes;
  std::optional<SegmentHeader> header;

  // It comes from another position in this trace, or from another trace. Its rows would count
  // twice, or belong to another recording.
  bool is_misplaced() const {
    return header && (header->number != number || header->kind != segment_kind(number));
  }
  std::string name() const { return segment_name(segment_kind(number), number); }
};

inline std::optional<SegmentHeader> header_of(const SegmentBytes& segment) {
  std::array<std::byte, sizeof(SegmentHeader)> begin{};
  return read_segment_header(std::span(begin).first(segment.read(0, begin)));
}

} // namespace iotrail::store
