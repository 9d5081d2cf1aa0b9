// SPDX-License-Identifier: BSD-3-Clause
//
// Finds the reachable instructions of a BPF program, like the kernel's verifier: known numbers
// decide branches. For a program that libbpf has relocated to a kernel, this kernel would check
// exactly those.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <map>
#include <set>
#include <span>

namespace iotrail::fit {

// libbpf replaces an instruction by this if it names something that the kernel's types lack.
inline constexpr int kPoison = 0xbad2310;
// From this number on: libbpf's replacement for the address of a map that it has not created.
inline constexpr int kUnmadeMap = 2001000000;

struct Paths {
  std::set<std::size_t> reached;  // numbers of the instructions
  std::set<std::size_t> poisoned; // of these: kPoison
  // Loads from the program's argument: number of the instruction, and number of the 8-byte word.
  std::map<std::size_t, std::size_t> arguments;
};

// `instructions`: a program, followed by all functions that it calls.
Paths follow_paths(std::span<const bpf_insn> instructions);

} // namespace iotrail::fit
