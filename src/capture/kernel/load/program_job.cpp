// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/program_job.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include <cerrno>
#include <string>

#include "base/result.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/btf/libbpf_log.hpp"
#include "capture/kernel/btf/module_types.hpp"
#include "capture/kernel/load/program_types.hpp"

namespace iotrail::capture::kernel {
namespace {

PlaceRecords copy_of(const void* records, std::uint32_t count, std::uint32_t size) {
  const auto* bytes = static_cast<const std::byte*>(records);
  return {{bytes, bytes + std::size_t{count} * size}, size};
}

} // namespace

void call_cast(std::vector<bpf_insn>& instructions, std::uint32_t function) {
  if (function == 0)
    return;
  for (bpf_insn& instruction : instructions)
    if (instruction.code == (BPF_JMP | BPF_CALL) && instruction.src_reg == 0 &&
        instruction.imm == IOT_CAST_CALL) {
      instruction.src_reg = BPF_PSEUDO_KFUNC_CALL;
      instruction.imm = static_cast<std::int32_t>(function);
    }
}

ProgramJob::ProgramJob(bpf_program* program, const ProgramSection& section,
                       const bpf_prog_load_opts& options, const Constants& constants)
    : program_(program), section_(section), constants_(constants), options_(options) {
  const bpf_insn* begin = bpf_program__insns(program);
  code_.instructions.assign(begin, begin + bpf_program__insn_cnt(program));
  call_cast(code_.instructions, kernel_types().function_id(kCastFunction));
  code_.functions = copy_of(options.func_info, options.func_info_cnt, options.func_info_rec_size);
  if (shows_libbpf_log()) // only a verifier log shows lines of the source
    code_.lines = copy_of(options.line_info, options.line_info_cnt, options.line_info_rec_size);
  options_.expected_attach_type = section_.attach_type;
  options_.prog_flags |= section_.flags;
  options_.attempts = kInterruptionsMost;
}

bool ProgramJob::find_type(ModuleTypes& modules) {
  if (section_.type != BPF_PROG_TYPE_TRACING)
    return true;
  const HookedType hooked = hooked_type(program_);
  const int module = hooked.module.empty() ? 0 : modules.descriptor_of(hooked.module);
  options_.attach_btf_id = hooked.id;
  options_.attach_btf_obj_fd = static_cast<std::uint32_t>(module);
  if (hooked.id == 0)
    refusal_ = ENOENT;
  else if (module < 0)
    refusal_ = -module;
  return refusal_ == 0;
}

int ProgramJob::load_into_kernel(const bpf_prog_load_opts& options) const {
  return ::bpf_prog_load(section_.type, bpf_program__name(program_), IOT_PROGRAM_LICENSE,
                         code_.instructions.data(), code_.instructions.size(), &options);
}

void ProgramJob::load() {
  if (!fold_constants(code_, constants_))
    show_in_log(fmt::format("prog '{}': loaded with all that it does not need: it has instructions "
                            "that are not known\n",
                            bpf_program__name(program_)));
  options_.func_info = code_.functions.bytes.data();
  options_.func_info_cnt = code_.functions.count();
  options_.line_info = code_.lines.bytes.empty() ? nullptr : code_.lines.bytes.data();
  options_.line_info_cnt = code_.lines.count();
  options_.line_info_rec_size = code_.lines.record_size;
  loaded_ = Fd(load_into_kernel(options_));
  refusal_ = loaded_ ? 0 : errno;
  if (!loaded_ && shows_libbpf_log())
    show_reasons();
}

// The kernel returns them at a second call.
void ProgramJob::show_reasons() const {
  constexpr std::size_t kLogBytes = 16U << 20U;
  std::string log(kLogBytes, '\0');
  bpf_prog_load_opts options = options_;
  options.log_buf = log.data();
  options.log_size = static_cast<std::uint32_t>(log.size());
  options.log_level = 1;
  const Fd loaded(load_into_kernel(options));
  show_in_log(fmt::format("prog '{}': {}\n-- BEGIN PROG LOAD LOG --\n{}-- END PROG LOAD LOG --\n",
                          bpf_program__name(program_), errno_text(refusal_), log.c_str()));
}

void ProgramJob::hand_over() {
  if (loaded_ && ::dup3(loaded_.get(), bpf_program__fd(program_), O_CLOEXEC) < 0)
    refusal_ = errno;
  loaded_.reset();
}

} // namespace iotrail::capture::kernel
