// SPDX-License-Identifier: BSD-3-Clause
// Sums of numbers from a trace, which may be any: they end at the largest number.
#pragma once

#include <cstdint>

namespace iotrail {

constexpr std::uint64_t capped_sum(std::uint64_t a, std::uint64_t b) {
  return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

} // namespace iotrail
