// SPDX-License-Identifier: BSD-3-Clause
//
// Which instructions of a BPF program can be reached, as the kernel's verifier finds out: numbers that are known decide
// where the program goes on. Of what libbpf has fitted to a kernel, that is what this kernel would look at.
#pragma once

#include <linux/bpf.h>

#include <cstddef>
#include <map>
#include <set>
#include <span>

namespace iotrail::fit {

// What libbpf puts in the place of an instruction that names what the kernel's types do not have.
inline constexpr int kPoison = 0xbad2310;
// From here on: in the place of the address of a map that it has not made.
inline constexpr int kUnmadeMap = 2001000000;

struct Paths {
  std::set<std::size_t> reached;  // by the number of the instruction
  std::set<std::size_t> poisoned; // of these: kPoison
  // Loads from what the program is called with: the instruction, and the number of the 8-byte word.
  std::map<std::size_t, std::size_t> arguments;
};

// `instructions`: a program and behind it all that it calls.
Paths follow_paths(std::span<const bpf_insn> instructions);

} // namespace iotrail::fit
