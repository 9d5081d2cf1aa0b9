// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/program_types.hpp"

#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/libbpf.h>

#include <array>
#include <cerrno>
#include <list>
#include <optional>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/btf/libbpf_log.hpp"
#include "capture/kernel/load/program_job.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

constexpr std::string_view kTracepointSection = "tp_btf/";
constexpr std::string_view kListSection = "iter/";
constexpr std::string_view kListPrefix =
    "bpf_iter_"; // prefix of the kernel's functions that define lists

std::optional<KernelTypes> known_types;

// Reads 8 bytes from an invalid address onto its stack.
constexpr std::array kReadingProgram = {bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_X,
                                                 .dst_reg = BPF_REG_1,
                                                 .src_reg = BPF_REG_10,
                                                 .off = 0,
                                                 .imm = 0},
                                        bpf_insn{.code = BPF_ALU64 | BPF_ADD | BPF_K,
                                                 .dst_reg = BPF_REG_1,
                                                 .src_reg = 0,
                                                 .off = 0,
                                                 .imm = -8},
                                        bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K,
                                                 .dst_reg = BPF_REG_2,
                                                 .src_reg = 0,
                                                 .off = 0,
                                                 .imm = 8},
                                        bpf_insn{.code = BPF_ALU64 | BPF_MOV | BPF_K,
                                                 .dst_reg = BPF_REG_3,
                                                 .src_reg = 0,
                                                 .off = 0,
                                                 .imm = 0},
                                        bpf_insn{.code = BPF_JMP | BPF_CALL,
                                                 .dst_reg = 0,
                                                 .src_reg = 0,
                                                 .off = 0,
                                                 .imm = BPF_FUNC_probe_read_kernel},
                                        kIdleProgram[0],
                                        kIdleProgram[1]};

// 0, or the errno with which the kernel refuses the program.
int refusal_of(bpf_prog_type type, std::span<const bpf_insn> program,
               const bpf_prog_load_opts& options) {
  for (int tries = 0;; ++tries) {
    const Fd loaded(::bpf_prog_load(type, "iotrail_probe", IOT_PROGRAM_LICENSE, program.data(),
                                    program.size(), &options));
    if (loaded || errno != EAGAIN || tries == kInterruptionsMost)
      return loaded ? 0 : errno;
  }
}

// "block_rq_issue" of "tp_btf/block_rq_issue"; empty: the program hooks no tracepoint.
std::string_view tracepoint_of(const bpf_program* program) {
  const std::string_view section = section_of(program);
  return section.starts_with(kTracepointSection) ? section.substr(kTracepointSection.size())
                                                 : std::string_view();
}

// "bpf_iter_task" of "iter/task"; empty: the program lists nothing.
std::string list_function_of(const bpf_program* program) {
  const std::string_view section = section_of(program);
  return section.starts_with(kListSection)
             ? fmt::format("{}{}", kListPrefix, section.substr(kListSection.size()))
             : "";
}

bool is_kprobe(const bpf_program* program) {
  const std::string_view section = section_of(program);
  return section.starts_with("kprobe/") || section.starts_with("kretprobe/");
}

bool kernel_has_kprobes() {
  return ::access("/sys/bus/event_source/devices/kprobe", F_OK) == 0;
}

// Empty: no reason against the program is known.
std::string why_unavailable(const bpf_program* program, const KernelTypes& types,
                            int refusal_of_functions) {
  if (const std::string_view point = tracepoint_of(program); !point.empty())
    return types.has_tracepoint(point)
               ? ""
               : fmt::format("the kernel, with the modules that are loaded, has no tracepoint {}",
                             point);
  const std::string_view function = function_of(program);
  if (function.empty())
    return {};
  if (is_kprobe(program) && !kernel_has_kprobes())
    return "the kernel has no kprobes";
  if (!is_kprobe(program) && refusal_of_functions != 0)
    return errno_text(refusal_of_functions);
  return types.has_function(function) ? "" : fmt::format("the kernel has no function {}", function);
}

} // namespace

std::string_view section_of(const bpf_program* program) {
  return bpf_program__section_name(program);
}

std::string_view function_of(const bpf_program* program) {
  const std::string_view section = section_of(program);
  for (const std::string_view prefix : {"fentry/", "fexit/", "kprobe/", "kretprobe/"})
    if (section.starts_with(prefix))
      return section.substr(prefix.size());
  return {};
}

// The functions to look up are those that programs name in their sections.
KernelTypes types_for(const bpf_object* object, const KernelBtf& btf) {
  std::vector<std::string_view> names = {kCastFunction};
  std::list<std::string> lists;
  for (bpf_program* program = nullptr; (program = bpf_object__next_program(object, program));) {
    if (const std::string_view function = function_of(program); !function.empty())
      names.push_back(function);
    if (section_of(program).starts_with(kListSection))
      names.push_back(lists.emplace_back(list_function_of(program)));
  }
  return KernelTypes(btf, names);
}

KernelBtf read_kernel_types(const bpf_object* object) {
  hush_libbpf();
  KernelBtf btf = KernelBtf::read();
  known_types.emplace(types_for(object, btf));
  return btf;
}

const KernelTypes& kernel_types() {
  if (!known_types)
    if (iotrail_bpf* skeleton = iotrail_bpf__open(); skeleton != nullptr) {
      read_kernel_types(skeleton->obj);
      iotrail_bpf__destroy(skeleton);
    }
  if (!known_types)
    known_types.emplace(KernelBtf::read(), std::span<const std::string_view>());
  return *known_types;
}

int refusal_of_function_hooks() {
  const std::uint32_t function = kernel_types().function_id("vfs_read");
  if (function == 0)
    return ENOENT;
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.expected_attach_type = BPF_TRACE_FENTRY;
  options.attach_btf_id = function;
  return refusal_of(BPF_PROG_TYPE_TRACING, kIdleProgram, options);
}

int refusal_of_memory_reads() {
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  return refusal_of(BPF_PROG_TYPE_RAW_TRACEPOINT, kReadingProgram, options);
}

HookedType hooked_type(const bpf_program* program) {
  if (const std::string_view point = tracepoint_of(program); !point.empty())
    return kernel_types().hooked_tracepoint(point);
  const std::string list = list_function_of(program);
  return {.id = kernel_types().function_id(list.empty() ? function_of(program) : list),
          .module = ""};
}

void refuse_unavailable(const bpf_object* object, const KernelTypes& types,
                        int refusal_of_functions, Refusals& refusals) {
  if (!types.are_known())
    return;
  for (bpf_program* program = nullptr; (program = bpf_object__next_program(object, program));)
    if (const std::string why = why_unavailable(program, types, refusal_of_functions); !why.empty())
      refusals.add(bpf_program__name(program), why);
  for (const EventHooks& hooks : event_hooks())
    for (const Alternative& alternative : hooks.alternatives) {
      if (alternative.parameters < 0)
        continue;
      const std::string first(alternative.programs.front());
      const bpf_program* entry = bpf_object__find_program_by_name(object, first.c_str());
      const std::string_view point = tracepoint_of(entry);
      const std::string_view name = point.empty() ? function_of(entry) : point;
      const int parameters =
          point.empty() ? types.parameters(name) : types.tracepoint_parameters(name);
      if (parameters != alternative.parameters)
        refusals.add(first, fmt::format("the kernel's {} has {} parameters, not {}", name,
                                        parameters, alternative.parameters));
    }
}

} // namespace iotrail::capture::kernel
