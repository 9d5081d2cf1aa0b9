// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/optimize/constant_propagation.hpp"

#include <array>
#include <cstring>
#include <set>

namespace iotrail::capture::kernel {
namespace {

struct Value {
  enum class Kind : std::uint8_t { unknown, number, constant_at } kind = Kind::unknown;
  std::uint64_t bits = 0; // the number, or the offset of a constant

  bool is_number() const { return kind == Kind::number; }
  bool operator==(const Value&) const = default;
};

Value number(std::uint64_t bits) {
  return {Value::Kind::number, bits};
}

std::uint64_t extended(std::int32_t immediate) {
  return static_cast<std::uint64_t>(std::int64_t{immediate});
}

std::optional<std::uint64_t> calculated(unsigned operation, std::uint64_t left, std::uint64_t right,
                                        unsigned bits) {
  const std::uint64_t shift = right & (bits - 1);
  switch (operation) {
  case BPF_ADD:
    return left + right;
  case BPF_SUB:
    return left - right;
  case BPF_MUL:
    return left * right;
  case BPF_OR:
    return left | right;
  case BPF_AND:
    return left & right;
  case BPF_XOR:
    return left ^ right;
  case BPF_LSH:
    return left << shift;
  case BPF_RSH:
    return left >> shift;
  case BPF_MOV:
    return right;
  case BPF_NEG:
    return 0 - left;
  default:
    return std::nullopt; // rare, or with several meanings
  }
}

template <typename Unsigned, typename Signed>
bool holds(unsigned operation, Unsigned left, Unsigned right) {
  const auto signed_left = static_cast<Signed>(left);
  const auto signed_right = static_cast<Signed>(right);
  switch (operation) {
  case BPF_JEQ:
    return left == right;
  case BPF_JNE:
    return left != right;
  case BPF_JGT:
    return left > right;
  case BPF_JGE:
    return left >= right;
  case BPF_JLT:
    return left < right;
  case BPF_JLE:
    return left <= right;
  case BPF_JSET:
    return (left & right) != 0;
  case BPF_JSGT:
    return signed_left > signed_right;
  case BPF_JSGE:
    return signed_left >= signed_right;
  case BPF_JSLT:
    return signed_left < signed_right;
  default:
    return signed_left <= signed_right;
  }
}

std::size_t size_of_load(const bpf_insn& instruction) {
  switch (BPF_SIZE(instruction.code)) {
  case BPF_B:
    return 1;
  case BPF_H:
    return 2;
  case BPF_W:
    return 4;
  default:
    return 8;
  }
}

class Registers {
public:
  Value& operator[](unsigned number) { return values_.at(number); }
  const Value& operator[](unsigned number) const { return values_.at(number); }

  Value operand(const bpf_insn& instruction) const {
    return BPF_SRC(instruction.code) == BPF_X ? (*this)[instruction.src_reg]
                                              : number(extended(instruction.imm));
  }
  void forget(RegisterSet set) {
    for (unsigned number = 0; number < kRegisters; ++number)
      if ((set >> number & 1U) != 0)
        values_.at(number) = {};
  }
  // Keeps the facts that hold on each path to here. True: they are fewer than before.
  bool join(const Registers& other) {
    bool is_less = false;
    for (unsigned number = 0; number < kRegisters; ++number)
      if (Value& value = values_.at(number);
          value.kind != Value::Kind::unknown && value != other[number]) {
        value = {};
        is_less = true;
      }
    return is_less;
  }

private:
  std::array<Value, kRegisters> values_{};
};

Value moved(const bpf_insn& instruction, const Registers& registers) {
  const Value operand = registers.operand(instruction);
  if (instruction.off != 0) // extends a sign
    return {};
  if (BPF_CLASS(instruction.code) == BPF_ALU64)
    return operand;
  return operand.is_number() ? number(operand.bits & UINT32_MAX) : Value{};
}

Value value_of_calculation(const bpf_insn& instruction, const Registers& registers) {
  const unsigned operation = BPF_OP(instruction.code);
  if (operation == BPF_MOV)
    return moved(instruction, registers);
  const bool is_wide = BPF_CLASS(instruction.code) == BPF_ALU64;
  const Value left = registers[instruction.dst_reg];
  const Value right = operation == BPF_NEG ? number(0) : registers.operand(instruction);
  if (left.kind == Value::Kind::constant_at && right.is_number() && is_wide && operation == BPF_ADD)
    return {Value::Kind::constant_at, left.bits + right.bits};
  if (!left.is_number() || !right.is_number())
    return {};
  const std::uint64_t mask = is_wide ? UINT64_MAX : UINT32_MAX;
  const auto result = calculated(operation, left.bits & mask, right.bits & mask, is_wide ? 64 : 32);
  return result ? number(*result & mask) : Value{};
}

std::optional<bool> outcome(const bpf_insn& instruction, const Registers& registers) {
  const Value left = registers[instruction.dst_reg];
  const Value right = registers.operand(instruction);
  if (!left.is_number() || !right.is_number())
    return std::nullopt;
  const unsigned operation = BPF_OP(instruction.code);
  if (BPF_CLASS(instruction.code) == BPF_JMP)
    return holds<std::uint64_t, std::int64_t>(operation, left.bits, right.bits);
  return holds<std::uint32_t, std::int32_t>(operation, static_cast<std::uint32_t>(left.bits),
                                            static_cast<std::uint32_t>(right.bits));
}

std::vector<char> targets_in(BpfCode code) {
  std::vector<char> is_target(code.size(), 0);
  for (std::size_t at = 0; at < code.size(); at += places_of(code[at]))
    if (is_jump(code[at]) || is_branch(code[at]))
      is_target[jump_target(at, code[at])] = 1;
  return is_target;
}

} // namespace

// A block from a jump target to the next one.
class ConstantPropagation::Walk {
public:
  Walk(ConstantPropagation& known, BpfCode code, const Constants& constants)
      : known_(known), code_(code), constants_(constants), is_target_(targets_in(code)) {}

  void go() {
    reach(0, {});
    while (!pending_.empty()) {
      const std::size_t begin = *pending_.begin();
      pending_.erase(pending_.begin());
      follow(begin, begins_.at(begin));
    }
  }

private:
  void reach(std::size_t at, const Registers& registers) {
    const auto [begin, is_new] = begins_.try_emplace(at, registers);
    if (is_new || begin->second.join(registers))
      pending_.insert(at);
  }

  void follow(std::size_t at, Registers registers) {
    for (bool is_first = true;; is_first = false) {
      if (!is_first && is_target_[at] != 0)
        return reach(at, registers);
      const bpf_insn& instruction = code_[at];
      known_.facts_[at] = Fact::reached;
      if (names_function(instruction))
        reach(named_function(at, instruction), {});
      if (is_exit(instruction))
        return;
      if (is_jump(instruction))
        return reach(jump_target(at, instruction), registers);
      if (is_branch(instruction)) {
        if (branch(at, instruction, registers))
          return;
      } else {
        step(at, instruction, registers);
      }
      at += places_of(instruction);
    }
  }

  // True: execution does not continue after it.
  bool branch(std::size_t at, const bpf_insn& instruction, const Registers& registers) {
    const std::optional<bool> taken = outcome(instruction, registers);
    if (taken)
      known_.facts_[at] = *taken ? Fact::taken : Fact::not_taken;
    if (taken != false)
      reach(jump_target(at, instruction), registers);
    return taken == true;
  }

  void step(std::size_t at, const bpf_insn& instruction, Registers& registers) {
    Value value;
    if (is_calculation(instruction))
      value = value_of_calculation(instruction, registers);
    else if (is_wide(instruction))
      value = value_of_wide(at, instruction);
    else if (is_load(instruction))
      value = load(at, instruction, registers[instruction.src_reg]);
    registers.forget(registers_written(instruction));
    if (value.kind != Value::Kind::unknown)
      registers[instruction.dst_reg] = value;
  }

  Value value_of_wide(std::size_t at, const bpf_insn& instruction) const {
    const auto next = static_cast<std::uint32_t>(code_[at + 1].imm);
    if (instruction.src_reg == 0)
      return number(std::uint64_t{next} << 32U | static_cast<std::uint32_t>(instruction.imm));
    if (instruction.src_reg == BPF_PSEUDO_MAP_VALUE && instruction.imm == constants_.map)
      return {Value::Kind::constant_at, next};
    return {};
  }

  Value load(std::size_t at, const bpf_insn& instruction, const Value& address) {
    known_.loaded_.erase(at);
    if (address.kind != Value::Kind::constant_at)
      return {};
    const std::uint64_t offset = address.bits + extended(instruction.off);
    const std::size_t size = size_of_load(instruction);
    if (offset > constants_.bytes.size() || size > constants_.bytes.size() - offset)
      return {};
    std::uint64_t value = 0; // BPF here has this machine's byte order, which is little-endian
    std::memcpy(&value, constants_.bytes.subspan(offset).data(), size);
    known_.loaded_[at] = value;
    return number(value);
  }

  ConstantPropagation& known_;
  BpfCode code_;
  const Constants& constants_;
  std::vector<char> is_target_;
  std::unordered_map<std::size_t, Registers> begins_; // known registers at the begin of a block
  std::set<std::size_t> pending_;
};

ConstantPropagation::ConstantPropagation(BpfCode code, const Constants& constants)
    : facts_(code.size(), Fact::unreached) {
  Walk(*this, code, constants).go();
}

std::optional<bool> ConstantPropagation::is_taken(std::size_t at) const {
  if (facts_[at] != Fact::taken && facts_[at] != Fact::not_taken)
    return std::nullopt;
  return facts_[at] == Fact::taken;
}

std::optional<std::uint64_t> ConstantPropagation::loaded(std::size_t at) const {
  const auto found = loaded_.find(at);
  return found == loaded_.end() ? std::nullopt : std::optional(found->second);
}

} // namespace iotrail::capture::kernel
