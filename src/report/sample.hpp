// SPDX-License-Identifier: BSD-3-Clause
//
// What a recording of one call in N (`--sample 1/N`) says of all calls: of a sum over the recorded ones, N times as much.
// Only what programs ask the kernel for is taken by chance, so only layers of that are scaled: below them, what the kernel
// does on its own is recorded whole.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iotrail::output {

class Sample {
public:
  // As the manifest has it, in which 0 is no sample.
  explicit Sample(std::uint32_t sample_of) : one_of_(sample_of == 0 ? 1 : sample_of) {}

  // How many operations of the layer each recorded one stands for; 1: all are recorded, or which are was not left to chance.
  // An empty name: calls, whatever their layer.
  std::uint64_t stands_for(std::string_view layer) const;

private:
  std::uint64_t one_of_;
};

// N times as much, or the largest number there is.
std::uint64_t scaled(std::uint64_t sum, std::uint64_t stands_for);

// What stands before an estimate: "~"; nothing before what is none, and before 0.
std::string estimate_mark(std::uint64_t sum, std::uint64_t stands_for);

} // namespace iotrail::output
