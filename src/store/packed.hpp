// SPDX-License-Identifier: BSD-3-Clause
//
// Bit packing, the ground under every column encoding: values in frames of 64, each frame with just as many bits a
// value as its largest needs, so that a rare large value (a slow call, a jump in a file) widens 64 values and no more.
//
//   packed = form [base] [width of each frame] frames     see docs/format.md
#pragma once

#include <cstdint>
#include <span>

#include "base/bytes.hpp"

namespace iotrail::store {

inline constexpr std::size_t kFrameValues = 64;

// Before packing, `base` is subtracted and trailing zero bits that all values share are dropped; with zigzag, small
// negative numbers are then folded to small positive ones.
struct PackedForm {
  std::uint64_t base = 0;
  bool zigzag = false;
};

// The better form for values like these, and the bits that packing them takes.
struct PackedChoice {
  PackedForm form;
  std::uint64_t bits = 0;
};
PackedChoice choose_form(std::span<const std::uint64_t> values);

// `values` is used up: it serves as scratch space.
void write_packed(std::span<std::uint64_t> values, PackedForm form, ByteWriter& out);

// Fills `values`; in.ok() tells whether there was enough.
void read_packed(ByteReader& in, std::span<std::uint64_t> values);

} // namespace iotrail::store
