// SPDX-License-Identifier: BSD-3-Clause
//
// Facts about a BPF program before it runs, from variables that no longer change.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "capture/kernel/optimize/bpf_code.hpp"

namespace iotrail::capture::kernel {

// The read-only variables of an object, with their values when its programs are loaded.
struct Constants {
  int map = -1; // the descriptor by which instructions name them
  std::span<const std::byte> bytes;
};

// Follows all paths from the first instruction, function by function: nothing is known at the begin
// of a function. Only registers are followed, not the stack.
class ConstantPropagation {
public:
  // All instructions of `code` are of known kinds.
  ConstantPropagation(BpfCode code, const Constants& constants);

  bool is_reached(std::size_t at) const { return facts_[at] != Fact::unreached; }
  // Whether a branch is always or never taken.
  std::optional<bool> is_taken(std::size_t at) const;
  // The value that an instruction loads from the constants.
  std::optional<std::uint64_t> loaded(std::size_t at) const;

private:
  enum class Fact : std::uint8_t { unreached, reached, taken, not_taken };

  class Walk;

  std::vector<Fact> facts_; // by place
  std::unordered_map<std::size_t, std::uint64_t> loaded_;
};

} // namespace iotrail::capture::kernel
