// SPDX-License-Identifier: BSD-3-Clause
#include "program_paths.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace iotrail::fit {
namespace {

bpf_insn insn(int code, unsigned target, unsigned source, std::int16_t offset, int number) {
  bpf_insn made{};
  made.code = static_cast<std::uint8_t>(code);
  made.dst_reg = static_cast<std::uint8_t>(target & 0xfU);
  made.src_reg = static_cast<std::uint8_t>(source & 0xfU);
  made.off = offset;
  made.imm = number;
  return made;
}
bpf_insn set(unsigned target, int number) {
  return insn(BPF_ALU64 | BPF_MOV | BPF_K, target, 0, 0, number);
}
bpf_insn load(unsigned target, unsigned source, std::int16_t offset) {
  return insn(BPF_LDX | BPF_MEM | BPF_DW, target, source, offset, 0);
}
bpf_insn store(unsigned target, std::int16_t offset, unsigned source) {
  return insn(BPF_STX | BPF_MEM | BPF_DW, target, source, offset, 0);
}
bpf_insn skip_if_zero(unsigned target) {
  return insn(BPF_JMP | BPF_JEQ | BPF_K, target, 0, 1, 0);
}
bpf_insn call(int function) {
  return insn(BPF_JMP | BPF_CALL, 0, 0, 0, function);
}
bpf_insn leave() {
  return insn(BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

} // namespace

TEST(ProgramPaths, code_that_a_known_number_skips_is_not_reached) {
  EXPECT_TRUE(follow_paths(std::vector{set(2, 0), skip_if_zero(2), call(kPoison), leave()})
                  .poisoned.empty());
  EXPECT_EQ(follow_paths(std::vector{set(2, 1), skip_if_zero(2), call(kPoison), leave()}).poisoned,
            std::set<std::size_t>{2});
}

TEST(ProgramPaths, what_is_not_known_leads_both_ways) {
  const Paths paths =
      follow_paths(std::vector{load(2, 1, 0), skip_if_zero(2), call(kPoison), leave()});
  EXPECT_EQ(paths.poisoned, std::set<std::size_t>{2});
  EXPECT_TRUE(paths.reached.contains(3));
}

TEST(ProgramPaths, a_number_of_two_ways_is_not_known) {
  const Paths paths = follow_paths(std::vector{set(2, 0), load(3, 1, 0), skip_if_zero(3), set(2, 1),
                                               skip_if_zero(2), call(kPoison), leave()});
  EXPECT_EQ(paths.poisoned, std::set<std::size_t>{5});
}

TEST(ProgramPaths, arguments_are_known_by_way_of_the_stack_and_of_functions) {
  const Paths paths = follow_paths(std::vector{store(10, -8, 1), load(6, 10, -8), load(2, 6, 16),
                                               insn(BPF_JMP | BPF_CALL, 0, BPF_PSEUDO_CALL, 0, 1),
                                               leave(), load(2, 1, 24), leave()});
  EXPECT_EQ(paths.arguments, (std::map<std::size_t, std::size_t>{{2, 2}, {5, 3}}));
}

TEST(ProgramPaths, where_the_address_of_a_map_lies_is_no_context) {
  const Paths paths =
      follow_paths(std::vector{store(10, -8, 1), load(6, 10, -8), load(2, 6, 8), call(kUnmadeMap),
                               call(kUnmadeMap), load(2, 6, 40), leave()});
  EXPECT_EQ(paths.arguments, (std::map<std::size_t, std::size_t>{{2, 1}}));
}

TEST(ProgramPaths, what_a_call_may_write_is_not_known) {
  const Paths paths = follow_paths(
      std::vector{set(6, 0), store(10, -8, 6), insn(BPF_ALU64 | BPF_MOV | BPF_X, 1, 10, 0, 0),
                  insn(BPF_ALU64 | BPF_ADD | BPF_K, 1, 0, 0, -8), call(1), load(2, 10, -8),
                  skip_if_zero(2), call(kPoison), leave()});
  EXPECT_EQ(paths.poisoned, std::set<std::size_t>{7});
}

} // namespace iotrail::fit
