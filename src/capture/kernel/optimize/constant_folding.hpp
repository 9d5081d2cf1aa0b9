// SPDX-License-Identifier: BSD-3-Clause
//
// Specializes a program to the values of its read-only variables: replaces loads by values, and
// removes code that cannot be reached or has no use. The kernel's verifier does less at a higher
// cost: it keeps the loads, and removes one piece after another, moving all code behind each.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/kernel/optimize/constant_propagation.hpp"

namespace iotrail::capture::kernel {

// Data from libbpf beside the instructions: records that each begin with the place of an
// instruction.
struct PlaceRecords {
  std::vector<std::byte> bytes;
  std::uint32_t record_size = 0;

  std::uint32_t count() const {
    return record_size == 0 ? 0 : static_cast<std::uint32_t>(bytes.size() / record_size);
  }
};

struct ProgramCode {
  std::vector<bpf_insn> instructions;
  PlaceRecords functions; // bpf_func_info
  PlaceRecords lines;     // bpf_line_info
};

// False: it has instructions of an unknown kind, and stays as it is.
bool fold_constants(ProgramCode& program, const Constants& constants);

} // namespace iotrail::capture::kernel
