// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/bpf_object.hpp"

#include <linux/membarrier.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <cstdarg>
#include <cstdlib>

#include "base/fd.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

constexpr std::string_view kTracepointPrefix = "tp_btf/";

// What libbpf said last of a program that failed, since it returns only a number for the whole object.
struct LastWords {
  std::string program;
  std::string message;
};
LastWords last_words;

int listen(libbpf_print_level level, const char* format, va_list arguments) {
  static const bool is_shown = std::getenv("IOTRAIL_BPF_LOG") != nullptr;
  if (level == LIBBPF_DEBUG && !is_shown)
    return 0;
  char text[512];
  va_list copy;
  va_copy(copy, arguments);
  std::vsnprintf(text, sizeof(text), format, copy);
  va_end(copy);
  if (is_shown)
    std::vfprintf(stderr, format, arguments);
  const std::string_view message(text);
  constexpr std::string_view kProgram = "libbpf: prog '";
  if (level == LIBBPF_WARN && message.starts_with(kProgram)) {
    const std::string_view rest = message.substr(kProgram.size());
    const std::size_t quote = std::min(rest.find('\''), rest.size());
    last_words = {std::string(rest.substr(0, quote)), std::string(rest.substr(quote))};
  }
  return 0;
}

// Best effort: kernels since 5.11 account maps to the cgroup instead.
void raise_locked_memory() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_MEMLOCK, &all);
}

const btf* kernel_btf() {
  static btf* types = [] {
    libbpf_set_print(listen);
    btf* loaded = btf__load_vmlinux_btf();
    return libbpf_get_error(loaded) ? nullptr : loaded;
  }();
  return types;
}

Error load_error(int code) {
  if (kernel_btf() == nullptr)
    return {"the kernel source cannot be used",
            "the kernel has no type information (/sys/kernel/btf/vmlinux)",
            "use a kernel built with CONFIG_DEBUG_INFO_BTF", code};
  if (code == EPERM)
    return {
        "the kernel source cannot be used", "not permitted",
        "run as root, or give the program CAP_BPF and CAP_PERFMON (setcap cap_bpf,cap_perfmon+ep)",
        code};
  return {"loading the BPF programs", errno_text(code),
          "IOTRAIL_BPF_LOG=1 shows the kernel's reasons", code};
}

bool hooks_functions(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return section.starts_with("fentry/") || section.starts_with("fexit/");
}

bool is_kprobe(const bpf_program* program) {
  const std::string_view section = bpf_program__section_name(program);
  return section.starts_with("kprobe/") || section.starts_with("kretprobe/");
}

// Each refusal costs a load of all programs, so what is refused for its kind is refused at once.
void refuse_all(iotrail_bpf& skeleton, bool (*is_of_kind)(const bpf_program*),
                const std::string& reason, Refusals& refusals) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton.obj) if (is_of_kind(program))
      refusals.add(bpf_program__name(program), reason);
}

bool kernel_has_kprobes() {
  return ::access("/sys/bus/event_source/devices/kprobe", F_OK) == 0;
}

void refuse_missing_tracepoints(iotrail_bpf& skeleton, Refusals& refusals) {
  bpf_program* program = nullptr;
  bpf_object__for_each_program(program, skeleton.obj) {
    const std::string_view section = bpf_program__section_name(program);
    if (!section.starts_with(kTracepointPrefix))
      continue;
    const std::string point(section.substr(kTracepointPrefix.size()));
    if (!kernel_has_tracepoint(point))
      refusals.add(bpf_program__name(program), "the kernel has no trace point " + point);
  }
}

// What can be known before the programs are loaded.
void refuse_kinds(iotrail_bpf& skeleton, Refusals& refusals) {
  if (kernel_btf() != nullptr)
    refuse_missing_tracepoints(skeleton, refusals);
  if (!kernel_has_kprobes())
    refuse_all(skeleton, is_kprobe, "the kernel has no kprobes", refusals);
  if (const int code = refusal_of_function_hooks(); code != 0)
    refuse_all(skeleton, hooks_functions, errno_text(code), refusals);
}

} // namespace

int refusal_of_function_hooks() {
  const int function = kernel_btf() == nullptr
                           ? -ENOENT
                           : btf__find_by_name_kind(kernel_btf(), "vfs_read", BTF_KIND_FUNC);
  if (function < 0)
    return -function;
  const bpf_insn program[] = {
      {.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .src_reg = 0, .off = 0, .imm = 0},
      {.code = BPF_JMP | BPF_EXIT, .dst_reg = 0, .src_reg = 0, .off = 0, .imm = 0}};
  LIBBPF_OPTS(bpf_prog_load_opts, options);
  options.expected_attach_type = BPF_TRACE_FENTRY;
  options.attach_btf_id = static_cast<std::uint32_t>(function);
  const Fd loaded(::bpf_prog_load(BPF_PROG_TYPE_TRACING, "iotrail_probe", "Dual BSD/GPL", program,
                                  std::size(program), &options));
  return loaded ? 0 : errno;
}

bool kernel_has_function(const char* name) {
  return kernel_btf() != nullptr && btf__find_by_name_kind(kernel_btf(), name, BTF_KIND_FUNC) > 0;
}

bool kernel_has_tracepoint(const std::string& name) {
  return kernel_btf() != nullptr &&
         btf__find_by_name_kind(kernel_btf(), ("btf_trace_" + name).c_str(), BTF_KIND_TYPEDEF) > 0;
}

Result<std::unique_ptr<BpfObject>> BpfObject::load(const Filter& filter,
                                                   const io_config& configuration,
                                                   std::uint32_t cpu_count, Refusals& refusals) {
  raise_locked_memory();
  for (bool is_first = true;; is_first = false) {
    std::unique_ptr<BpfObject> object(new BpfObject);
    object->skeleton_ = iotrail_bpf__open();
    if (object->skeleton_ == nullptr)
      return std::unexpected(load_error(errno));
    if (is_first)
      refuse_kinds(*object->skeleton_, refusals);
    const std::size_t before = refusals.count();
    const auto programs = chosen_programs(filter, refusals);
    if (auto loaded = object->try_load(programs, configuration, cpu_count, refusals); !loaded)
      return std::unexpected(loaded.error());
    if (refusals.count() == before)
      object->try_attach(programs, refusals);
    if (refusals.count() == before)
      return object;
  }
}

Result<void> BpfObject::try_load(const std::vector<std::string_view>& programs,
                                 const io_config& configuration, std::uint32_t cpu_count,
                                 Refusals& refusals) {
  skeleton_->rodata->io_config = configuration;
  bpf_map__set_max_entries(skeleton_->maps.cpus, cpu_count);
  bpf_map__set_max_entries(skeleton_->maps.slots, cpu_count * configuration.slots_per_cpu);
  for (std::string_view name : programs)
    if (bpf_program* program =
            bpf_object__find_program_by_name(skeleton_->obj, std::string(name).c_str()))
      bpf_program__set_autoload(program, true);
  last_words = {};
  const int result = iotrail_bpf__load(skeleton_);
  if (result == 0)
    return {};
  // A program was refused only if libbpf names it; with no privilege every one would be.
  if (last_words.program.empty() || refusals.reason(last_words.program) != nullptr ||
      (result == -EPERM && last_words.program == programs.front()))
    return std::unexpected(load_error(-result));
  refusals.add(last_words.program, errno_text(-result));
  return {};
}

void BpfObject::try_attach(const std::vector<std::string_view>& programs, Refusals& refusals) {
  for (std::string_view name : programs) {
    bpf_program* program =
        bpf_object__find_program_by_name(skeleton_->obj, std::string(name).c_str());
    IOTRAIL_CHECK(program != nullptr);
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr) {
      refusals.add(std::string(name), errno_text(errno));
      continue;
    }
    links_.push_back(link);
    program_fds_.push_back(bpf_program__fd(program));
  }
}

int BpfObject::map_fd(const char* name) const {
  return bpf_object__find_map_fd_by_name(skeleton_->obj, name);
}

std::uint64_t BpfObject::entries(const char* map) const {
  const int fd = map_fd(map);
  std::uint64_t count = 0;
  io_u64 key = 0;
  for (const io_u64* previous = nullptr; bpf_map_get_next_key(fd, previous, &key) == 0;
       previous = &key)
    ++count;
  return count;
}

std::uint64_t BpfObject::recursion_misses() const {
  std::uint64_t misses = 0;
  for (int fd : program_fds_) {
    bpf_prog_info info{};
    std::uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(fd, &info, &bytes) == 0)
      misses += info.recursion_misses;
  }
  return misses;
}

void BpfObject::detach() {
  for (bpf_link* link : links_)
    bpf_link__destroy(link);
  links_.clear();
  // A program may still run on another CPU: wait for all.
  ::syscall(SYS_membarrier, MEMBARRIER_CMD_GLOBAL, 0, 0);
}

BpfObject::~BpfObject() {
  detach();
  iotrail_bpf__destroy(skeleton_);
}

} // namespace iotrail::capture::kernel
