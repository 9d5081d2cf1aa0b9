// SPDX-License-Identifier: BSD-3-Clause
//
// Scales a recording of one call in N (`--sample 1/N`) to all calls: N times each sum over the
// recorded ones. Only programs' calls into the kernel are sampled, so only sums of their layers are
// scaled. Below them, the kernel's own work is recorded completely.
// on its own is recorded whole.
#pragma once

#include <cstdint>
#include <string_view>

namespace iotrail::output {

class Sample {
public:
  // `sample_of` as in the manifest: 0 means no sample.
  explicit Sample(std::uint32_t sample_of) : one_of_(sample_of == 0 ? 1 : sample_of) {}

  // How many operations of the layer each recorded one stands for; 1: the layer is not sampled. An
  // empty name means calls of any layer.
  std::uint64_t scale_factor(std::string_view layer) const;

private:
  std::uint64_t one_of_;
};

// N times the sum, or the largest number.
std::uint64_t scaled(std::uint64_t sum, std::uint64_t scale_factor);

} // namespace iotrail::output
