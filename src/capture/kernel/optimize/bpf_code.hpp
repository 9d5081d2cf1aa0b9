// SPDX-License-Identifier: BSD-3-Clause
//
// The structure of BPF instructions: where they continue, which registers they read and write.
// Places are indices of 8 bytes; an instruction of 16 bytes takes two.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace iotrail::capture::kernel {

using BpfCode = std::span<const bpf_insn>;
using RegisterSet = std::uint32_t; // a bit each

constexpr std::size_t kRegisters = 11;

// The first half of an instruction that loads 8 bytes, an address or a map into a register.
inline bool is_wide(const bpf_insn& instruction) {
  return instruction.code == (BPF_LD | BPF_IMM | BPF_DW);
}
inline std::size_t places_of(const bpf_insn& instruction) {
  return is_wide(instruction) ? 2 : 1;
}
inline bool is_calculation(const bpf_insn& instruction) {
  return BPF_CLASS(instruction.code) == BPF_ALU || BPF_CLASS(instruction.code) == BPF_ALU64;
}
inline bool is_load(const bpf_insn& instruction) {
  return BPF_CLASS(instruction.code) == BPF_LDX && BPF_MODE(instruction.code) == BPF_MEM;
}
inline bool is_exit(const bpf_insn& instruction) {
  return instruction.code == (BPF_JMP | BPF_EXIT);
}
inline bool is_call(const bpf_insn& instruction) {
  return instruction.code == (BPF_JMP | BPF_CALL);
}
// Always taken.
inline bool is_jump(const bpf_insn& instruction) {
  return instruction.code == (BPF_JMP | BPF_JA);
}
inline bool is_branch(const bpf_insn& instruction) {
  return (BPF_CLASS(instruction.code) == BPF_JMP || BPF_CLASS(instruction.code) == BPF_JMP32) &&
         !is_exit(instruction) && !is_call(instruction) && !is_jump(instruction);
}
inline std::size_t jump_target(std::size_t at, const bpf_insn& instruction) {
  return at + 1 + static_cast<std::size_t>(std::ptrdiff_t{instruction.off});
}
// It calls a function of the same program, or loads the address of one.
inline bool names_function(const bpf_insn& instruction) {
  return (is_call(instruction) && instruction.src_reg == BPF_PSEUDO_CALL) ||
         (is_wide(instruction) && instruction.src_reg == BPF_PSEUDO_FUNC);
}
inline std::size_t named_function(std::size_t at, const bpf_insn& instruction) {
  return at + 1 + static_cast<std::size_t>(std::ptrdiff_t{instruction.imm});
}

// All instructions are of known kinds, and none leads out of the code.
bool is_understood(BpfCode code);

// The registers that an instruction may read, and those that it writes; a call may read all
// argument registers.
RegisterSet registers_read(const bpf_insn& instruction);
RegisterSet registers_written(const bpf_insn& instruction);

} // namespace iotrail::capture::kernel
