// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/bpf_object.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include <algorithm>
#include <array>

#include "base/fd.hpp"
#include "base/open_files.hpp"
#include "base/populated_heap.hpp"
#include "capture/kernel/btf/relocation_types.hpp"
#include "capture/kernel/load/features.hpp"
#include "capture/kernel/load/program_loader.hpp"
#include "capture/kernel/load/program_types.hpp"
#include "capture/kernel/load/reasons.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture::kernel {
namespace {

// Best effort: kernels since 5.11 account maps to the cgroup instead.
void raise_locked_memory() {
  const rlimit all{RLIM_INFINITY, RLIM_INFINITY};
  ::setrlimit(RLIMIT_MEMLOCK, &all);
}

constexpr std::uint64_t kFilesBeside =
    64; // open files of the recorder, beside those of the BPF object

std::uint64_t files_allowed() {
  rlimit files{};
  return ::getrlimit(RLIMIT_NOFILE, &files) == 0 ? files.rlim_cur : RLIM_INFINITY;
}

// Descriptors for each program, its link, and each map.
std::uint64_t files_needed(const bpf_object* object, std::size_t programs) {
  std::uint64_t files = kFilesBeside + 2 * programs;
  for (const bpf_map* map = nullptr; (map = bpf_object__next_map(object, map)) != nullptr;)
    ++files;
  return files;
}

// libbpf reports a refused open as a failure of the operation that needed the file.
bool is_short_of_files(int code, std::uint64_t needed) {
  return code == EMFILE || files_allowed() < needed;
}

Error too_few_files(std::uint64_t needed) {
  return {"the kernel's layers cannot be recorded",
          fmt::format("too many open files (EMFILE): `ulimit -n` allows {}, it takes up to {}",
                      files_allowed(), needed),
          fmt::format("raise the limit: ulimit -n {}", needed), EMFILE};
}

// Such a program runs when the recorder asks it to.
bool hooks_nothing(const bpf_program* program) {
  return section_of(program) == "syscall" || section_of(program).starts_with("iter/");
}

Error load_error(int code) {
  if (!kernel_types().are_known())
    return {"the kernel's layers cannot be recorded",
            "the kernel has no type information (/sys/kernel/btf/vmlinux)",
            "use a kernel built with CONFIG_DEBUG_INFO_BTF", code};
  if (code == EPERM)
    return {"the kernel's layers cannot be recorded", "not permitted",
            std::string(kPermissionRemedy), code};
  return {"loading the BPF programs", errno_text(code),
          "IOTRAIL_BPF_LOG=1 shows the kernel's reasons", code};
}

Error cannot_follow_tasks(const std::string& why) {
  if (const KernelFact reads = memory_reads(); !reads.is_met)
    return {"the kernel's layers cannot be recorded", reads.detail, reads.remedy, EPERM};
  return {"the kernel source cannot follow tasks", why,
          "IOTRAIL_BPF_LOG=1 shows the kernel's reasons"};
}

// 0, or an errno that concerns all programs, not a single refused one. Without privilege each would
// be refused.
int failure_of_all(const std::vector<RefusedProgram>& refused,
                   const std::vector<std::string_view>& programs) {
  for (const RefusedProgram& program : refused)
    if (program.code == EMFILE || program.code == EAGAIN ||
        (program.code == EPERM && program.name == programs.front()))
      return program.code;
  return 0;
}

// The types by which libbpf relocates the programs: those that they name. False: they cannot be
// written (errno).
bool write_relocation_types(const Fd& file, const bpf_object* object, const KernelBtf& kernel) {
  std::uint32_t size = 0;
  const void* raw = btf__raw_data(bpf_object__btf(object), &size);
  const auto programs = BtfData::parse(std::string(static_cast<const char*>(raw), size));
  IOTRAIL_CHECK(programs);
  const std::string types = relocation_types(*programs, kernel);
  std::size_t at = 0;
  while (at < types.size()) {
    const ssize_t written = ::write(file.get(), types.data() + at, types.size() - at);
    if (written < 0)
      return false;
    at += static_cast<std::size_t>(written);
  }
  return true;
}

// A new map of variables is all zero, like the initial values: libbpf would copy megabytes of
// zeros. It has types, so that others (bpftool) can read it. False: no map (errno).
bool make_zero_variables(const bpf_object* object, bpf_map* variables) {
  std::uint32_t size = 0;
  const void* raw = btf__raw_data(bpf_object__btf(object), &size);
  const Fd types(::bpf_btf_load(raw, size, nullptr));
  if (!types)
    return false;
  LIBBPF_OPTS(bpf_map_create_opts, options, .map_flags = bpf_map__map_flags(variables));
  options.btf_fd = static_cast<std::uint32_t>(types.get());
  options.btf_value_type_id = bpf_map__btf_value_type_id(variables);
  const Fd map(::bpf_map_create(bpf_map__type(variables), "iotrail_.bss",
                                bpf_map__key_size(variables), bpf_map__value_size(variables),
                                bpf_map__max_entries(variables), &options));
  return map && bpf_map__reuse_fd(variables, map.get()) == 0;
}

// Adds the settings that follow from the kernel and the choice of hooks.
iot_config complete(iot_config configuration, const Filter& filter, const Refusals& refusals) {
  configuration.has_cast = kernel_types().has_function(kCastFunction);
  fill_reasons(configuration, kernel_types());
  configuration.served_below = served_below(filter, refusals);
  return configuration;
}

} // namespace

Result<std::unique_ptr<BpfObject>> BpfObject::load(const Filter& filter,
                                                   const iot_config& configuration,
                                                   std::uint32_t cpu_count,
                                                   const std::vector<std::string>& hooks_left_out,
                                                   PrepareMaps prepare, Refusals& refusals) {
  raise_locked_memory();
  raise_open_files();
  const PopulatedHeap heap(10U << 20U); // the kernel's types
  ProgramLoader::register_sections();
  const Fd types(::memfd_create("iotrail_types", MFD_CLOEXEC));
  const std::string types_path = fmt::format("/proc/self/fd/{}", types.get());
  LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types_path.c_str());
  int interruptions = 0;
  for (bool is_first = true;; is_first = false) {
    std::unique_ptr<BpfObject> object(new BpfObject(prepare));
    object->skeleton_ = iotrail_bpf__open_opts(&options);
    if (object->skeleton_ == nullptr)
      return std::unexpected(load_error(errno));
    if (is_first) {
      const KernelBtf kernel = read_kernel_types(object->skeleton_->obj);
      if (!kernel_types().are_known())
        return std::unexpected(load_error(ENOENT));
      if (!write_relocation_types(types, object->skeleton_->obj, kernel))
        return fail_errno("the kernel's layers cannot be recorded: a file in memory");
      refuse_unavailable(object->skeleton_->obj, kernel_types(), refusal_of_function_hooks(),
                         refusals);
    }
    const std::size_t before = refusals.count();
    const auto programs = chosen_programs(filter, refusals);
    const std::uint64_t needed = files_needed(object->skeleton_->obj, programs.size());
    std::vector<RefusedProgram> refused;
    int result =
        object->try_load(programs, complete(configuration, filter, refusals), cpu_count, refused);
    if (result == 0)
      result = failure_of_all(refused, programs);
    if (result == EAGAIN && ++interruptions < kInterruptionsMost)
      continue;
    for (const RefusedProgram& program : refused)
      refusals.add(std::string(program.name), errno_text(program.code));
    const int attached = result != 0 || !refused.empty()
                             ? result
                             : object->try_attach(programs, hooks_left_out, refusals);
    if (attached != 0 && is_short_of_files(attached, needed))
      return std::unexpected(too_few_files(needed));
    if (result != 0)
      return std::unexpected(load_error(result));
    if (const std::string* why = refusal_to_follow_tasks(refusals))
      return std::unexpected(cannot_follow_tasks(*why));
    if (refusals.count() == before)
      return object;
  }
}

// Memory is allocated when an object is loaded, whether used or not.
void BpfObject::size_maps(const std::vector<std::string_view>& programs,
                          const iot_config& configuration, std::uint32_t cpu_count) {
  const auto& maps = skeleton_->maps;
  bpf_map__set_max_entries(maps.slots, cpu_count * configuration.slots_per_cpu);
  prepare_(*skeleton_, configuration, cpu_count);
  bpf_map__set_max_entries(maps.first_files, configuration.files_at_once);
  if (configuration.adopt_pids)
    bpf_map__set_max_entries(maps.adopted_pids, IOT_PID_LIMIT);
  if (configuration.named_paths != 0) {
    bpf_map__set_max_entries(maps.named_paths, configuration.named_paths);
    bpf_map__set_max_entries(maps.named_directories, configuration.named_paths * IOT_NAMED_DEPTH);
  }
  if (!configuration.follows_async)
    bpf_map__set_max_entries(maps.asyncs, 1);
  if (!configuration.follows_connections)
    bpf_map__set_max_entries(maps.connections, 1);
  bpf_map__set_autocreate(maps.listeners, configuration.follows_connections);
  if (std::ranges::find(programs, "memory_swap_queue") == programs.end())
    bpf_map__set_max_entries(maps.swaps, 1);
  if (configuration.in_flight_at_once != 0)
    for (bpf_map* map :
         {maps.bios, maps.requests, maps.flush_bios, maps.flushes, maps.asyncs, maps.commits,
          maps.journals, maps.journal_handles, maps.checkpoints, maps.read_aheads, maps.write_backs,
          maps.taken_places, maps.connections, maps.swaps, maps.sync_waiters, maps.rpcs})
      bpf_map__set_max_entries(map, configuration.in_flight_at_once);
  const bool has_block = std::ranges::any_of(
      programs, [](std::string_view name) { return name.starts_with("block_"); });
  for (bpf_map* map : {maps.bios, maps.requests, maps.failed_requests, maps.nvme_commands,
                       maps.flush_bios, maps.flushes})
    bpf_map__set_autocreate(map, has_block);
}

// 0, or an errno: then no program is loaded. EAGAIN: a signal interrupted the kernel.
int BpfObject::try_load(const std::vector<std::string_view>& programs,
                        const iot_config& configuration, std::uint32_t cpu_count,
                        std::vector<RefusedProgram>& refused) {
  skeleton_->rodata->iot_config = configuration;
  size_maps(programs, configuration, cpu_count);
  for (std::string_view name : programs)
    if (bpf_program* program =
            bpf_object__find_program_by_name(skeleton_->obj, std::string(name).c_str()))
      bpf_program__set_autoload(program, true);
  if (!make_zero_variables(skeleton_->obj, skeleton_->maps.bss))
    return errno;
  return ProgramLoader().load(skeleton_, refused);
}

// 0, or EMFILE. Another program that cannot be attached is refused.
int BpfObject::try_attach(const std::vector<std::string_view>& programs,
                          const std::vector<std::string>& hooks_left_out, Refusals& refusals) {
  for (std::string_view name : programs) {
    bpf_program* program =
        bpf_object__find_program_by_name(skeleton_->obj, std::string(name).c_str());
    IOTRAIL_CHECK(program != nullptr);
    if (hooks_nothing(program))
      continue;
    const std::string_view section = section_of(program);
    if (std::ranges::find(hooks_left_out, section.substr(section.find('/') + 1)) !=
        hooks_left_out.end())
      continue;
    bpf_link* link = bpf_program__attach(program);
    if (link == nullptr && errno == EMFILE)
      return EMFILE;
    if (link == nullptr) {
      refusals.add(std::string(name), errno_text(errno));
      continue;
    }
    attached_.push_back({link, bpf_program__fd(program), !function_of(program).empty()});
  }
  return 0;
}

int BpfObject::map_fd(const char* name) const {
  return bpf_object__find_map_fd_by_name(skeleton_->obj, name);
}

bool BpfObject::ask(const char* name, std::span<std::byte> question) const {
  const bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, name);
  const int fd = program == nullptr ? -1 : bpf_program__fd(program);
  if (fd < 0)
    return false;
  LIBBPF_OPTS(bpf_test_run_opts, options);
  options.ctx_in = question.data();
  options.ctx_size_in = static_cast<std::uint32_t>(question.size());
  return bpf_prog_test_run_opts(fd, &options) == 0;
}

std::vector<std::byte> BpfObject::list(const char* name) const {
  std::vector<std::byte> listed;
  const bpf_program* program = bpf_object__find_program_by_name(skeleton_->obj, name);
  bpf_link* link = program == nullptr || bpf_program__fd(program) < 0
                       ? nullptr
                       : bpf_program__attach_iter(program, nullptr);
  if (link == nullptr)
    return listed;
  const Fd objects(bpf_iter_create(bpf_link__fd(link)));
  std::array<std::byte, 4096> part{};
  for (ssize_t bytes = 0; (bytes = ::read(objects.get(), part.data(), part.size())) > 0;)
    listed.insert(listed.end(), part.begin(), part.begin() + bytes);
  bpf_link__destroy(link);
  return listed;
}

std::uint64_t BpfObject::recursion_misses() const {
  std::uint64_t misses = recursion_misses_;
  for (const Attached& attached : attached_) {
    bpf_prog_info info{};
    std::uint32_t bytes = sizeof(info);
    if (bpf_obj_get_info_by_fd(attached.program_fd, &info, &bytes) == 0)
      misses += info.recursion_misses;
  }
  return misses;
}

BpfObject::~BpfObject() {
  detach();
  if (letting_go_.joinable())
    letting_go_.join();
  iotrail_bpf__destroy(skeleton_);
}

} // namespace iotrail::capture::kernel
