// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/optimize/bpf_code.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr RegisterSet kArguments = 0b111110; // r1 to r5
constexpr RegisterSet kClobbered = 0b111111; // by a call: r0 to r5

RegisterSet bit_of(unsigned number) {
  return 1U << number;
}

bool has_register_operand(const bpf_insn& instruction) {
  return BPF_SRC(instruction.code) == BPF_X;
}

bool is_within(BpfCode code, std::size_t at) {
  return at < code.size();
}

bool is_known_branch(const bpf_insn& instruction) {
  const unsigned operation = BPF_OP(instruction.code);
  return operation != BPF_JA && operation <= BPF_JSLE && operation != BPF_CALL &&
         operation != BPF_EXIT;
}

// A place that does not follow the first half of a wide instruction.
bool is_understood_at(BpfCode code, std::size_t at) {
  const bpf_insn& instruction = code[at];
  if (instruction.dst_reg >= kRegisters)
    return false;
  if (names_function(instruction))
    return is_within(code, named_function(at, instruction));
  if (is_wide(instruction))
    return is_within(code, at + 1);
  if (instruction.src_reg >= kRegisters)
    return false;
  if (is_jump(instruction))
    return is_within(code, jump_target(at, instruction));
  if (is_branch(instruction))
    return is_known_branch(instruction) && is_within(code, jump_target(at, instruction));
  switch (BPF_CLASS(instruction.code)) {
  case BPF_ALU:
  case BPF_ALU64:
    return BPF_OP(instruction.code) <= BPF_END;
  case BPF_LDX:
    return true;
  case BPF_ST:
    return BPF_MODE(instruction.code) == BPF_MEM;
  case BPF_STX:
    return BPF_MODE(instruction.code) == BPF_MEM || BPF_MODE(instruction.code) == BPF_ATOMIC;
  case BPF_JMP:
    return is_call(instruction) || is_exit(instruction);
  default:
    return false;
  }
}

RegisterSet read_by_calculation(const bpf_insn& instruction) {
  const RegisterSet own = bit_of(instruction.dst_reg);
  switch (BPF_OP(instruction.code)) {
  case BPF_MOV:
    return has_register_operand(instruction) ? bit_of(instruction.src_reg) : 0;
  case BPF_NEG:
  case BPF_END:
    return own;
  default:
    return own | (has_register_operand(instruction) ? bit_of(instruction.src_reg) : 0);
  }
}

} // namespace

bool is_understood(BpfCode code) {
  for (std::size_t at = 0; at < code.size(); at += places_of(code[at]))
    if (!is_understood_at(code, at))
      return false;
  const bool ends = !code.empty() && (is_exit(code.back()) || is_jump(code.back()));
  return ends;
}

RegisterSet registers_read(const bpf_insn& instruction) {
  if (is_calculation(instruction))
    return read_by_calculation(instruction);
  if (is_wide(instruction) || is_jump(instruction))
    return 0;
  if (is_exit(instruction))
    return bit_of(BPF_REG_0);
  if (is_call(instruction))
    return kArguments;
  switch (BPF_CLASS(instruction.code)) {
  case BPF_LDX:
    return bit_of(instruction.src_reg);
  case BPF_ST:
    return bit_of(instruction.dst_reg);
  case BPF_STX: // an exchange compares with r0
    return bit_of(instruction.dst_reg) | bit_of(instruction.src_reg) |
           (BPF_MODE(instruction.code) == BPF_ATOMIC ? bit_of(BPF_REG_0) : 0);
  default:
    return bit_of(instruction.dst_reg) |
           (has_register_operand(instruction) ? bit_of(instruction.src_reg) : 0);
  }
}

RegisterSet registers_written(const bpf_insn& instruction) {
  if (is_call(instruction))
    return kClobbered;
  if (is_calculation(instruction) || is_wide(instruction) || BPF_CLASS(instruction.code) == BPF_LDX)
    return bit_of(instruction.dst_reg);
  if (BPF_CLASS(instruction.code) == BPF_STX && BPF_MODE(instruction.code) == BPF_ATOMIC)
    return bit_of(instruction.src_reg) | bit_of(BPF_REG_0);
  return 0;
}

} // namespace iotrail::capture::kernel
