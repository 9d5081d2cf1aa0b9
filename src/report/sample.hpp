// SPDX-License-Identifier: BSD-3-Clause
//
// What a recording of one call in N (`--sample 1/N`) says about all calls: N times each sum over the recorded ones. Only
// calls of programs into the kernel are sampled, so only sums of their layers are scaled. Below them, what the kernel does
// on its own is recorded whole.
#pragma once

#include <cstdint>
#include <string_view>

namespace iotrail::output {

class Sample {
public:
  // As the manifest has it, in which 0 is no sample.
  explicit Sample(std::uint32_t sample_of) : one_of_(sample_of == 0 ? 1 : sample_of) {}

  // How many operations of the layer each recorded one stands for; 1: chance did not decide which ones are recorded.
  // An empty name: calls, whatever their layer.
  std::uint64_t scale_factor(std::string_view layer) const;

private:
  std::uint64_t one_of_;
};

// N times as much, or the largest number there is.
std::uint64_t scaled(std::uint64_t sum, std::uint64_t scale_factor);

} // namespace iotrail::output
