// SPDX-License-Identifier: BSD-3-Clause
#include "program_paths.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <queue>

namespace iotrail::fit {
namespace {

constexpr std::size_t kRegisters = 11;
// Registers that a call leaves undefined: its result and its arguments.
constexpr std::size_t kArguments = 6;
constexpr std::size_t kContext = 1; // register with the program's argument
constexpr std::int64_t kWord = 8;   // bytes

// Known facts about a register or a word on the stack.
struct Value {
  enum class Kind { unknown, number, context, frame };
  Kind kind = Kind::unknown;
  std::int64_t number = 0; // for `context` and `frame`: offset from its begin in bytes
  bool operator==(const Value&) const = default;
};

struct State {
  std::array<Value, kRegisters> registers;
  // Known words, by their offset in the frame.
  std::map<std::int64_t, Value> stack;
  bool operator==(const State&) const = default;

  static State at_entry(Value context) {
    State state;
    state.registers[kContext] = context;
    state.registers[BPF_REG_10] = {Value::Kind::frame, 0};
    return state;
  }

  // Keeps the facts that hold in both states.
  void join(const State& other) {
    for (std::size_t i = 0; i < kRegisters; ++i)
      if (registers[i] != other.registers[i])
        registers[i] = {};
    std::erase_if(stack, [&](const auto& word) {
      const auto there = other.stack.find(word.first);
      return there == other.stack.end() || there->second != word.second;
    });
  }

  void forget_stack(std::int64_t from, std::int64_t to) {
    std::erase_if(stack,
                  [&](const auto& word) { return word.first > from - kWord && word.first < to; });
  }
};

bool is_wide(const bpf_insn& insn) {
  return BPF_CLASS(insn.code) == BPF_ALU64 || BPF_CLASS(insn.code) == BPF_JMP;
}

std::int64_t narrowed(std::int64_t number, bool is_wide) {
  return is_wide ? number : static_cast<std::int64_t>(static_cast<std::uint32_t>(number));
}

std::optional<std::int64_t> calculate(unsigned operation, std::int64_t left, std::int64_t right) {
  const auto bits = static_cast<std::uint64_t>(left);
  const auto others = static_cast<std::uint64_t>(right);
  switch (operation) {
  case BPF_ADD:
    return static_cast<std::int64_t>(bits + others);
  case BPF_SUB:
    return static_cast<std::int64_t>(bits - others);
  case BPF_AND:
    return static_cast<std::int64_t>(bits & others);
  case BPF_OR:
    return static_cast<std::int64_t>(bits | others);
  case BPF_XOR:
    return static_cast<std::int64_t>(bits ^ others);
  default:
    return std::nullopt;
  }
}

std::optional<bool> compare(unsigned operation, std::int64_t left, std::int64_t right) {
  const auto bits = static_cast<std::uint64_t>(left);
  const auto others = static_cast<std::uint64_t>(right);
  switch (operation) {
  case BPF_JEQ:
    return left == right;
  case BPF_JNE:
    return left != right;
  case BPF_JSET:
    return (bits & others) != 0;
  case BPF_JGT:
    return bits > others;
  case BPF_JGE:
    return bits >= others;
  case BPF_JLT:
    return bits < others;
  case BPF_JLE:
    return bits <= others;
  default:
    return std::nullopt;
  }
}

class Walk {
public:
  explicit Walk(std::span<const bpf_insn> instructions) : instructions_(instructions) {
    enter(0, State::at_entry({Value::Kind::context, 0}));
    for (; !waiting_.empty(); waiting_.pop())
      step(waiting_.front());
  }

  Paths take() && { return std::move(paths_); }

private:
  // Continues at an instruction if new facts lead there.
  void enter(std::size_t at, const State& state) {
    if (at >= instructions_.size())
      return;
    const auto [known, is_new] = states_.try_emplace(at, state);
    if (!is_new) {
      State joined = known->second;
      joined.join(state);
      if (joined == known->second)
        return;
      known->second = joined;
    }
    waiting_.push(at);
  }

  void step(std::size_t at) {
    paths_.reached.insert(at);
    const bpf_insn& insn = instructions_[at];
    State state = states_.at(at);
    switch (BPF_CLASS(insn.code)) {
    case BPF_ALU:
    case BPF_ALU64:
      calculate_into(state, insn);
      return enter(at + 1, state);
    case BPF_LD:
      return load_constant(at, state);
    case BPF_LDX:
      load(at, state);
      return enter(at + 1, state);
    case BPF_ST:
    case BPF_STX:
      store(state, insn);
      return enter(at + 1, state);
    default:
      return jump(at, state);
    }
  }

  static Value operand(const State& state, const bpf_insn& insn) {
    return BPF_SRC(insn.code) == BPF_X
               ? Value(state.registers[insn.src_reg])
               : Value{Value::Kind::number, narrowed(insn.imm, is_wide(insn))};
  }

  static void calculate_into(State& state, const bpf_insn& insn) {
    Value& target = state.registers[insn.dst_reg];
    const Value right = operand(state, insn);
    const bool wide = is_wide(insn);
    const unsigned operation = BPF_OP(insn.code);
    if (operation == BPF_MOV && insn.off == 0) {
      target = right;
      if (!wide && target.kind == Value::Kind::number)
        target.number = narrowed(target.number, false);
      else if (!wide)
        target = {};
      return;
    }
    const bool is_pointer =
        target.kind == Value::Kind::context || target.kind == Value::Kind::frame;
    const auto result = target.kind == Value::Kind::unknown || right.kind != Value::Kind::number ||
                                (is_pointer && (!wide || operation != BPF_ADD))
                            ? std::nullopt
                            : calculate(operation, target.number, right.number);
    target = result ? Value{target.kind, narrowed(*result, wide)} : Value{};
  }

  void load_constant(std::size_t at, State& state) {
    const bpf_insn& insn = instructions_[at];
    Value value;
    if (insn.src_reg == BPF_PSEUDO_FUNC)
      enter(at + 1 + static_cast<std::size_t>(static_cast<std::int64_t>(insn.imm)),
            State::at_entry({}));
    else if (insn.src_reg == 0 && at + 1 < instructions_.size())
      value = {Value::Kind::number,
               static_cast<std::int64_t>(
                   static_cast<std::uint64_t>(static_cast<std::uint32_t>(instructions_[at + 1].imm))
                       << 32U |
                   static_cast<std::uint32_t>(insn.imm))};
    state.registers[insn.dst_reg] = value;
    enter(at + 2, state);
  }

  void load(std::size_t at, State& state) {
    const bpf_insn& insn = instructions_[at];
    const Value from = state.registers[insn.src_reg];
    Value& target = state.registers[insn.dst_reg];
    const std::int64_t place = from.number + insn.off;
    target = {};
    if (from.kind == Value::Kind::context)
      paths_.arguments[at] = static_cast<std::size_t>(place / kWord);
    if (from.kind == Value::Kind::frame && BPF_SIZE(insn.code) == BPF_DW)
      if (const auto word = state.stack.find(place); word != state.stack.end())
        target = word->second;
  }

  static void store(State& state, const bpf_insn& insn) {
    const Value to = state.registers[insn.dst_reg];
    const std::int64_t place = to.number + insn.off;
    if (to.kind != Value::Kind::frame)
      return; // a known pointer into the frame comes from the program itself
    state.forget_stack(place, place + kWord);
    if (BPF_CLASS(insn.code) == BPF_STX && BPF_MODE(insn.code) == BPF_MEM &&
        BPF_SIZE(insn.code) == BPF_DW)
      state.stack[place] = state.registers[insn.src_reg];
  }

  void jump(std::size_t at, State& state) {
    const bpf_insn& insn = instructions_[at];
    const unsigned operation = BPF_OP(insn.code);
    const auto target = [&](std::int64_t by) {
      return static_cast<std::size_t>(static_cast<std::int64_t>(at) + 1 + by);
    };
    if (operation == BPF_EXIT)
      return;
    if (operation == BPF_CALL)
      return call(at, state, target(insn.imm));
    if (operation == BPF_JA)
      return enter(target(BPF_CLASS(insn.code) == BPF_JMP ? insn.off : insn.imm), state);
    const Value left = state.registers[insn.dst_reg];
    const Value right = operand(state, insn);
    std::optional<bool> goes;
    if (left.kind == Value::Kind::number && right.kind == Value::Kind::number)
      goes = compare(operation, narrowed(left.number, is_wide(insn)),
                     narrowed(right.number, is_wide(insn)));
    if (goes != true)
      enter(at + 1, state);
    if (goes != false)
      enter(target(insn.off), state);
  }

  // The register with the address of a map is unknown: it may have held the context before.
  static void forget_contexts(State& state) {
    for (Value& value : state.registers)
      if (value.kind == Value::Kind::context)
        value = {};
  }

  void call(std::size_t at, State& state, std::size_t function) {
    const bpf_insn& insn = instructions_[at];
    if (insn.imm == kPoison && insn.src_reg == 0) {
      paths_.poisoned.insert(at);
      return;
    }
    if (insn.imm >= kUnmadeMap && insn.src_reg == 0)
      forget_contexts(state);
    if (insn.src_reg == BPF_PSEUDO_CALL) {
      const Value first = state.registers[kContext];
      enter(function, State::at_entry(first.kind == Value::Kind::frame ? Value{} : first));
    }
    for (std::size_t i = 1; i < kArguments; ++i)
      if (state.registers[i].kind == Value::Kind::frame) // the called function may write there
        state.forget_stack(state.registers[i].number, 1);
    for (std::size_t i = 0; i < kArguments; ++i)
      state.registers[i] = {};
    enter(at + 1, state);
  }

  std::span<const bpf_insn> instructions_;
  std::map<std::size_t, State> states_; // before the instruction
  std::queue<std::size_t> waiting_;
  Paths paths_;
};

} // namespace

Paths follow_paths(std::span<const bpf_insn> instructions) {
  return Walk(instructions).take();
}

} // namespace iotrail::fit
