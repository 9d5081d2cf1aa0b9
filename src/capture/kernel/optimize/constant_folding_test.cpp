// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/optimize/constant_folding.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <random>

namespace iotrail::capture::kernel {
namespace {

constexpr int kMap = 7;

// Instructions, as few as the tests need.
bpf_insn made(unsigned code, unsigned to, unsigned from, int offset, std::int64_t immediate) {
  return {.code = static_cast<__u8>(code),
          .dst_reg = static_cast<__u8>(to & 0xfU),
          .src_reg = static_cast<__u8>(from & 0xfU),
          .off = static_cast<__s16>(offset),
          .imm = static_cast<__s32>(immediate)};
}
bpf_insn set(unsigned to, int value) {
  return made(BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, value);
}
bpf_insn add(unsigned to, unsigned from) {
  return made(BPF_ALU64 | BPF_ADD | BPF_X, to, from, 0, 0);
}
bpf_insn load(unsigned size, unsigned to, unsigned from, int offset) {
  return made(BPF_LDX | BPF_MEM | size, to, from, offset, 0);
}
bpf_insn jump_if_0(unsigned what, int distance) {
  return made(BPF_JMP | BPF_JEQ | BPF_K, what, 0, distance, 0);
}
bpf_insn jump(int distance) {
  return made(BPF_JMP | BPF_JA, 0, 0, distance, 0);
}
bpf_insn call(int distance) {
  return made(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, distance);
}
bpf_insn leave() {
  return made(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}
std::array<bpf_insn, 2> wide(unsigned to, unsigned kind, std::uint64_t low, std::uint64_t high) {
  return {made(BPF_LD | BPF_IMM | BPF_DW, to, kind, 0, static_cast<std::int64_t>(low)),
          made(0, 0, 0, 0, static_cast<std::int64_t>(high))};
}

class Program {
public:
  Program& operator<<(const bpf_insn& instruction) {
    code.instructions.push_back(instruction);
    return *this;
  }
  Program& operator<<(const std::array<bpf_insn, 2>& instruction) {
    return *this << instruction[0] << instruction[1];
  }

  ProgramCode code;
};
std::array<bpf_insn, 2> constant_at(unsigned to, std::uint64_t offset) {
  return wide(to, BPF_PSEUDO_MAP_VALUE, kMap, offset);
}

std::vector<std::byte> bytes_of(std::initializer_list<std::uint64_t> words) {
  std::vector<std::byte> bytes(words.size() * sizeof(std::uint64_t));
  std::memcpy(bytes.data(), words.begin(), bytes.size());
  return bytes;
}

bool are_equal(const bpf_insn& one, const bpf_insn& other) {
  return std::memcmp(&one, &other, sizeof one) == 0;
}

void expect(const Program& program, std::initializer_list<bpf_insn> instructions) {
  const std::vector<bpf_insn>& code = program.code.instructions;
  ASSERT_EQ(code.size(), instructions.size());
  for (std::size_t at = 0; at < code.size(); ++at)
    EXPECT_TRUE(are_equal(code[at], instructions.begin()[at])) << "instruction " << at;
}

bpf_insn set_32(unsigned to, std::uint32_t value) {
  return made(BPF_ALU | BPF_MOV | BPF_K, to, 0, 0, static_cast<std::int32_t>(value));
}

TEST(constant_folding, a_constant_becomes_an_operand_of_the_program) {
  const auto bytes = bytes_of({0, 0x1122334455667788});
  Program program;
  program << constant_at(1, 8) << load(BPF_W, 0, 1, 4) << leave();
  EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
  expect(program, {set_32(0, 0x11223344), leave()});
}

TEST(constant_folding, a_value_of_64_bits_stays_where_it_is) {
  const auto bytes = bytes_of({0x1122334455667788, ~std::uint64_t{4}});
  Program program;
  program << constant_at(1, 0) << load(BPF_DW, 0, 1, 0) << load(BPF_DW, 2, 1, 8) << add(0, 2)
          << leave();
  EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
  const auto address = constant_at(1, 0);
  expect(program, {address[0], address[1], load(BPF_DW, 0, 1, 0), set(2, -5), add(0, 2), leave()});
}

TEST(constant_folding, dead_branches_are_removed_with_functions_that_only_they_call) {
  const auto bytes = bytes_of({0});
  Program program;
  program << constant_at(2, 0) << load(BPF_B, 2, 2, 0) << set(0, 1) << jump_if_0(2, 1) << call(1)
          << leave()               // the first function
          << set(0, 5) << leave()  // is called no more
          << set(0, 6) << leave(); // nor was this
  program.code.functions = {bytes_of({0, 7, 9}), sizeof(std::uint64_t)};
  EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
  expect(program, {set(0, 1), leave()});
  EXPECT_EQ(program.code.functions.bytes, bytes_of({0}));
}

TEST(constant_folding, calls_and_records_follow_moved_code) {
  const auto bytes = bytes_of({1});
  Program program;
  program << constant_at(6, 0) << load(BPF_B, 6, 6, 0) << jump_if_0(6, 2) << call(4) << leave()
          << set(0, 1) << leave()  // never
          << leave()               // a function that is not called
          << set(0, 2) << leave(); // one that is
  program.code.functions = {bytes_of({0, 8, 9}), sizeof(std::uint64_t)};
  program.code.lines = {bytes_of({0, 2, 4, 6, 8, 9, 10}), sizeof(std::uint64_t)};
  EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
  expect(program, {call(1), leave(), set(0, 2), leave()});
  EXPECT_EQ(program.code.functions.bytes, bytes_of({0, 2}));
  EXPECT_EQ(program.code.lines.bytes, bytes_of({0, 2, 3}))
      << "the last that speaks of a place is right";
}

TEST(constant_folding, a_value_known_on_one_path_only_is_unknown) {
  const auto bytes = bytes_of({3});
  Program program;
  program << constant_at(3, 0) << load(BPF_B, 0, 1, 0) << set(2, 0) << jump_if_0(0, 1)
          << load(BPF_B, 2, 3, 0) << jump_if_0(2, 1) << set(0, 9) << leave();
  EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
  expect(program, {load(BPF_B, 0, 1, 0), set(2, 0), jump_if_0(0, 1), set_32(2, 3), jump_if_0(2, 1),
                   set(0, 9), leave()});
}

TEST(constant_folding, a_loop_stays) {
  const auto bytes = bytes_of({0});
  Program program;
  program << constant_at(2, 0) << load(BPF_B, 3, 2, 0) << set(0, 0) << add(0, 3)
          << load(BPF_B, 3, 1, 0) << jump_if_0(3, -3) << leave();
  EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
  expect(program,
         {set_32(3, 0), set(0, 0), add(0, 3), load(BPF_B, 3, 1, 0), jump_if_0(3, -3), leave()});
}

TEST(constant_folding, values_outside_the_constants_or_in_other_maps_are_unknown) {
  const auto bytes = bytes_of({1});
  for (const auto& address : {constant_at(1, 5), wide(1, BPF_PSEUDO_MAP_VALUE, kMap + 1, 0),
                              wide(1, BPF_PSEUDO_MAP_FD, kMap, 0)}) {
    Program program;
    program << address << load(BPF_W, 0, 1, 0) << leave();
    EXPECT_TRUE(fold_constants(program.code, {kMap, bytes}));
    expect(program, {address[0], address[1], load(BPF_W, 0, 1, 0), leave()});
  }
}

TEST(constant_folding, a_program_with_an_unknown_instruction_stays_as_it_is) {
  const auto bytes = bytes_of({1});
  constexpr unsigned kMayGoto = BPF_JMP | 0xe0U;
  for (const auto& unknown : {made(kMayGoto, 0, 0, 0, 0), made(BPF_JMP32 | BPF_JA, 0, 0, 0, 1),
                              made(BPF_LDX | BPF_MEM | BPF_B, 12, 1, 0, 0), jump(50), jump(-50)}) {
    Program program;
    program << constant_at(1, 0) << load(BPF_B, 0, 1, 0) << unknown << leave();
    const auto before = program.code.instructions;
    EXPECT_FALSE(fold_constants(program.code, {kMap, bytes}));
    ASSERT_EQ(program.code.instructions.size(), before.size());
    for (std::size_t at = 0; at < before.size(); ++at)
      EXPECT_TRUE(are_equal(program.code.instructions[at], before[at])) << at;
  }
}

// Interprets a program, with a context and constants of 64 bytes each.
class Machine {
public:
  static constexpr std::uint64_t kContext = std::uint64_t{1} << 40U;
  static constexpr std::uint64_t kConstants = std::uint64_t{1} << 41U;

  Machine(BpfCode code, std::span<const std::byte> context, std::span<const std::byte> constants)
      : code_(code), context_(context), constants_(constants) {
    registers_[BPF_REG_1] = kContext;
  }

  // The value of r0 at the end.
  std::uint64_t run() {
    for (std::size_t at = 0; !is_exit(code_[at]);)
      at = step(at, code_[at]);
    return registers_[BPF_REG_0];
  }

private:
  std::size_t step(std::size_t at, const bpf_insn& instruction) {
    std::uint64_t& to = registers_.at(instruction.dst_reg);
    if (is_wide(instruction))
      to = instruction.src_reg == 0 ? static_cast<std::uint32_t>(instruction.imm)
                                    : kConstants + static_cast<std::uint32_t>(code_[at + 1].imm);
    else if (is_load(instruction))
      to = loaded(registers_.at(instruction.src_reg) + static_cast<std::uint64_t>(instruction.off),
                  instruction);
    else if (is_calculation(instruction))
      to = calculated(instruction, to);
    else if (is_jump(instruction) || holds(instruction, to))
      return jump_target(at, instruction);
    return at + places_of(instruction);
  }

  std::uint64_t operand(const bpf_insn& instruction) const {
    return BPF_SRC(instruction.code) == BPF_X
               ? registers_.at(instruction.src_reg)
               : static_cast<std::uint64_t>(std::int64_t{instruction.imm});
  }

  std::uint64_t loaded(std::uint64_t address, const bpf_insn& instruction) const {
    const bool is_constant = address >= kConstants;
    const auto bytes = (is_constant ? constants_ : context_)
                           .subspan(address - (is_constant ? kConstants : kContext));
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), BPF_SIZE(instruction.code) == BPF_B ? 1 : 8);
    return value;
  }

  std::uint64_t calculated(const bpf_insn& instruction, std::uint64_t left) const {
    const bool is_32 = BPF_CLASS(instruction.code) == BPF_ALU;
    const std::uint64_t mask = is_32 ? UINT32_MAX : UINT64_MAX;
    const std::uint64_t right = operand(instruction) & mask;
    left &= mask;
    switch (BPF_OP(instruction.code)) {
    case BPF_MOV:
      return right;
    case BPF_ADD:
      return (left + right) & mask;
    case BPF_SUB:
      return (left - right) & mask;
    case BPF_AND:
      return left & right;
    case BPF_LSH:
      return (left << (right & (is_32 ? 31U : 63U))) & mask;
    case BPF_RSH:
      return left >> (right & (is_32 ? 31U : 63U));
    default:
      return left ^ right;
    }
  }

  bool holds(const bpf_insn& instruction, std::uint64_t left) const {
    const bool is_32 = BPF_CLASS(instruction.code) == BPF_JMP32;
    const std::uint64_t mask = is_32 ? UINT32_MAX : UINT64_MAX;
    const std::uint64_t right = operand(instruction) & mask;
    const auto sign = [&](std::uint64_t value) {
      return is_32 ? std::int64_t{static_cast<std::int32_t>(value)}
                   : static_cast<std::int64_t>(value);
    };
    left &= mask;
    switch (BPF_OP(instruction.code)) {
    case BPF_JEQ:
      return left == right;
    case BPF_JNE:
      return left != right;
    case BPF_JGT:
      return left > right;
    case BPF_JLE:
      return left <= right;
    case BPF_JSET:
      return (left & right) != 0;
    case BPF_JSGE:
      return sign(left) >= sign(right);
    default:
      return sign(left) < sign(right);
    }
  }

  BpfCode code_;
  std::span<const std::byte> context_;
  std::span<const std::byte> constants_;
  std::array<std::uint64_t, kRegisters> registers_{};
};

// Programs that calculate with loaded values and with constants, jump forwards, and end with r0.
class Writer {
public:
  explicit Writer(unsigned seed) : random_(seed) {}

  std::vector<bpf_insn> write() {
    Program program;
    for (unsigned number : {0, 2, 3, 4, 5})
      program << load(BPF_DW, number, 1, static_cast<int>(number) * 8);
    const std::size_t first = program.code.instructions.size();
    while (program.code.instructions.size() < first + 40)
      add_one(program);
    program << leave();
    aim_jumps(program.code.instructions, first);
    return program.code.instructions;
  }

  std::vector<std::byte> bytes() {
    std::vector<std::byte> bytes(64);
    for (std::byte& byte : bytes)
      byte = static_cast<std::byte>(below(3) == 0 ? below(256) : below(2));
    return bytes;
  }

private:
  unsigned below(unsigned limit) { return static_cast<unsigned>(random_()) % limit; }
  unsigned any_number() {
    constexpr std::array<unsigned, 5> kNumbers = {0, 2, 3, 4, 5};
    return kNumbers.at(below(kNumbers.size()));
  }

  void add_one(Program& program) {
    constexpr std::array<unsigned, 7> kCalculations = {BPF_MOV, BPF_ADD, BPF_SUB, BPF_AND,
                                                       BPF_LSH, BPF_RSH, BPF_XOR};
    constexpr std::array<unsigned, 7> kConditions = {BPF_JEQ,  BPF_JNE,  BPF_JGT, BPF_JLE,
                                                     BPF_JSET, BPF_JSGE, BPF_JSLT};
    const unsigned operand = below(2) == 0 ? BPF_X : BPF_K;
    const int immediate = static_cast<int>(below(5)) - 2;
    switch (below(4)) {
    case 0: {
      const unsigned to = any_number();
      program << constant_at(6, below(40)) << load(below(2) == 0 ? BPF_B : BPF_DW, to, 6, 8);
      return;
    }
    case 1:
      program << made((below(2) == 0 ? BPF_JMP : BPF_JMP32) | kConditions.at(below(7)) | operand,
                      any_number(), any_number(), 0, immediate);
      return;
    default:
      program << made((below(2) == 0 ? BPF_ALU : BPF_ALU64) | kCalculations.at(below(7)) | operand,
                      any_number(), any_number(), 0, immediate);
    }
  }

  void aim_jumps(std::vector<bpf_insn>& code, std::size_t first) {
    std::vector<std::size_t> begins;
    for (std::size_t at = first; at < code.size(); at += places_of(code[at]))
      if (!is_load(code[at])) // its address is in front of it
        begins.push_back(at);
    for (std::size_t place = 0; place < begins.size(); ++place)
      if (bpf_insn& instruction = code[begins[place]]; is_branch(instruction)) {
        const std::size_t ahead = 1 + below(6);
        const std::size_t target = begins[std::min(place + ahead, begins.size() - 1)];
        instruction.off = static_cast<__s16>(target - begins[place] - 1);
      }
  }

  std::mt19937 random_;
};

TEST(constant_folding, does_not_change_the_effects_of_a_program) {
  std::size_t before = 0;
  std::size_t after = 0;
  for (unsigned seed = 0; seed < 5000; ++seed) {
    Writer writer(seed);
    ProgramCode program;
    program.instructions = writer.write();
    const auto original = program.instructions;
    const auto constants = writer.bytes();
    ASSERT_TRUE(fold_constants(program, {kMap, constants}));
    for (int round = 0; round < 8; ++round) {
      const auto context = writer.bytes();
      ASSERT_EQ(Machine(program.instructions, context, constants).run(),
                Machine(original, context, constants).run())
          << "seed " << seed;
    }
    before += original.size();
    after += program.instructions.size();
  }
  EXPECT_LT(after * 10, before * 9) << "it did nothing";
}

} // namespace
} // namespace iotrail::capture::kernel
