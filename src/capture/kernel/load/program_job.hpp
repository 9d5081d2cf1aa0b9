// SPDX-License-Identifier: BSD-3-Clause
//
// A program on its way from libbpf, which has relocated it, into the kernel.
#pragma once

#include <linux/bpf.h>

#include <bpf/bpf.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/fd.hpp"
#include "capture/kernel/optimize/constant_folding.hpp"

struct bpf_program;

namespace iotrail::capture::kernel {

class ModuleTypes;

// Programs of one kind of section, as libbpf would load them.
struct ProgramSection {
  const char* pattern;
  bpf_prog_type type;
  bpf_attach_type attach_type;
  std::uint32_t flags;
};
inline constexpr std::array kProgramSections = {
    ProgramSection{"tp_btf+", BPF_PROG_TYPE_TRACING, BPF_TRACE_RAW_TP, 0},
    ProgramSection{"fentry+", BPF_PROG_TYPE_TRACING, BPF_TRACE_FENTRY, 0},
    ProgramSection{"fexit+", BPF_PROG_TYPE_TRACING, BPF_TRACE_FEXIT, 0},
    ProgramSection{"iter+", BPF_PROG_TYPE_TRACING, BPF_TRACE_ITER, 0},
    ProgramSection{"kprobe+", BPF_PROG_TYPE_KPROBE, bpf_attach_type{}, 0},
    ProgramSection{"kretprobe+", BPF_PROG_TYPE_KPROBE, bpf_attach_type{}, 0},
    ProgramSection{"syscall", BPF_PROG_TYPE_SYSCALL, bpf_attach_type{}, BPF_F_SLEEPABLE},
};

// A program that does nothing.
inline constexpr std::array kIdleProgram = {
    bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K,
             .dst_reg = BPF_REG_0,
             .src_reg = 0,
             .off = 0,
             .imm = 0},
    bpf_insn{.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};

class ProgramJob {
public:
  // `options` as libbpf has filled them in. The types and constants of their object must stay open.
  ProgramJob(bpf_program* program, const ProgramSection& section, const bpf_prog_load_opts& options,
             const Constants& constants);

  bpf_program* program() const { return program_; }
  std::size_t length() const { return code_.instructions.size(); } // in instructions
  int refusal() const { return refusal_; }                         // 0, or the errno of the refusal

  // Finds the kernel's number of the hooked function or tracepoint. False: refused, since it does
  // not exist.
  bool find_type(ModuleTypes& modules);
  // In any thread. A load that a signal interrupts is repeated.
  void load();
  // The object's descriptor of the program becomes one of the loaded program.
  void hand_over();

private:
  int load_into_kernel(const bpf_prog_load_opts& options) const;
  void show_reasons() const;

  bpf_program* program_;
  const ProgramSection& section_;
  ProgramCode code_;
  Constants constants_;
  bpf_prog_load_opts options_;
  Fd loaded_;
  int refusal_ = 0;
};

// In programs, a call of the kernel's function that casts (bpf/types/compat.bpf.h) is one of a
// helper that does not exist. If the kernel has no such function (0), no such call is reachable.
void call_cast(std::vector<bpf_insn>& instructions, std::uint32_t function);

} // namespace iotrail::capture::kernel
