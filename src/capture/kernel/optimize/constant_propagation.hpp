// SPDX-License-Identifier: BSD-3-Clause
//
// What is known of a BPF program before it runs, since the variables that nobody writes any more are known.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/kernel/optimize/bpf_code.hpp"

namespace iotrail::capture::kernel {

// The variables of an object that are read only, as they stay from when its programs are loaded.
struct Constants {
  int map = -1; // the descriptor by which instructions name them
  std::span<const std::byte> bytes;
};

// Found by going through all that can be reached from the first instruction, function by function: of a function nothing is
// known at its begin. Only registers are followed, not the stack.
class ConstantPropagation {
public:
  // `code` must be understood.
  ConstantPropagation(BpfCode code, const Constants& constants);

  bool is_reached(std::size_t at) const { return facts_[at] != Fact::unreached; }
  // Of a branch: whether it is always or never taken.
  std::optional<bool> is_taken(std::size_t at) const;
  // Of an instruction that loads from the constants: the value.
  std::optional<std::uint64_t> loaded(std::size_t at) const;

private:
  enum class Fact : std::uint8_t { unreached, reached, taken, not_taken };

  class Walk;

  std::vector<Fact> facts_; // by place
  std::unordered_map<std::size_t, std::uint64_t> loaded_;
};

} // namespace iotrail::capture::kernel
