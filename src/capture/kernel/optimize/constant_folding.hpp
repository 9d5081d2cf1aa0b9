// SPDX-License-Identifier: BSD-3-Clause
//
// A program made for what its read-only variables hold: their values stand in it, and what can then not be reached or is of
// no use is left out. The kernel's verifier does less of it, and dearly: it keeps the loads, and takes one piece out after
// the other, moving for each all that follows.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "capture/kernel/optimize/constant_propagation.hpp"

namespace iotrail::capture::kernel {

// What libbpf hands over beside the instructions: records that each begin with the place of the one they speak of.
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

// False: it has instructions of a kind that is not known, and stays as it is.
bool fold_constants(ProgramCode& program, const Constants& constants);

} // namespace iotrail::capture::kernel
