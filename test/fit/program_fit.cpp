// SPDX-License-Identifier: BSD-3-Clause
//
// Checks by types whether the BPF programs fit a kernel that does not run. It loads the programs of
// that kernel, with and without hooks on functions. They must read only fields that the kernel has,
// and only arguments that the hook has.
//   program_fit OBJECT BTF-DIRECTORY
// BTF-DIRECTORY is like /sys/kernel/btf. Needs the right to load BPF programs, but runs none. Exit
// status: 0 if they fit, else 1.
#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "capture/kernel/btf/libbpf_log.hpp"
#include "capture/kernel/btf/relocation_types.hpp"
#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/load/program_job.hpp"
#include "capture/kernel/load/program_types.hpp"
#include "program_paths.hpp"

namespace iotrail::fit {
namespace {

namespace kernel = capture::kernel;

std::map<std::string, std::vector<bpf_insn>> fitted; // programs, by name

// libbpf calls this after relocating a program. It then loads a program that does nothing and needs
// nothing of this kernel.
int keep_program(bpf_program* program, bpf_prog_load_opts* options, long) {
  const bpf_insn* begin = bpf_program__insns(program);
  fitted[bpf_program__name(program)].assign(begin, begin + bpf_program__insn_cnt(program));
  auto idle = kernel::kIdleProgram;
  *options = bpf_prog_load_opts{};
  options->sz = sizeof *options;
  return bpf_program__set_insns(program, idle.data(), idle.size());
}

void register_sections() {
  for (const kernel::ProgramSection& section : kernel::kProgramSections) {
    LIBBPF_OPTS(libbpf_prog_handler_opts, options);
    options.prog_prepare_load_fn = keep_program;
    libbpf_register_prog_handler(section.pattern, BPF_PROG_TYPE_SOCKET_FILTER, bpf_attach_type{},
                                 &options);
  }
}

// libbpf's messages about relocations without a match in the kernel's types.
std::set<std::string> unfitted;

// libbpf first prints the relocation, then that it has no match.
int listen(libbpf_print_level, const char* format, va_list arguments) {
  static std::string relocation;
  char line[1024];
  std::vsnprintf(line, sizeof line, format, arguments);
  const std::string_view text = line;
  if (text.contains("relo #") && text.contains(": <"))
    relocation = text;
  if (text.contains("w/ invalid insn"))
    unfitted.insert(relocation);
  if (kernel::shows_libbpf_log())
    std::fputs(line, stderr);
  return 0;
}

// A file in memory with the types for libbpf's relocations.
Fd types_file(const bpf_object* object, const kernel::KernelBtf& btf) {
  std::uint32_t size = 0;
  const void* raw = btf__raw_data(bpf_object__btf(object), &size);
  const auto programs = kernel::BtfData::parse(std::string(static_cast<const char*>(raw), size));
  if (!programs)
    return {};
  const std::string types = kernel::relocation_types(*programs, btf);
  Fd file(::memfd_create("types", MFD_CLOEXEC));
  return ::write(file.get(), types.data(), types.size()) == static_cast<ssize_t>(types.size())
             ? std::move(file)
             : Fd();
}

struct Closed {
  void operator()(bpf_object* object) const { bpf_object__close(object); }
};
using Object = std::unique_ptr<bpf_object, Closed>;

// Relocates these programs to the types in a file, without maps. False: libbpf fails (errno).
bool fit(const char* path, const std::string& types,
         const std::vector<std::string_view>& programs) {
  LIBBPF_OPTS(bpf_object_open_opts, options, .btf_custom_path = types.c_str());
  const Object object(bpf_object__open_file(path, &options));
  if (!object)
    return false;
  for (bpf_program* program = nullptr; (program = bpf_object__next_program(object.get(), program));)
    bpf_program__set_autoload(program, std::ranges::find(programs, bpf_program__name(program)) !=
                                           programs.end());
  for (bpf_map* map = nullptr; (map = bpf_object__next_map(object.get(), map));)
    bpf_map__set_autocreate(map, false);
  return bpf_object__load(object.get()) == 0;
}

// Number of argument words that a program on the hook may read; empty: the types of modules do not
// say.
std::optional<std::size_t> words(std::string_view section, const kernel::KernelTypes& types) {
  const std::string_view hook = section.substr(section.find('/') + 1);
  const bool is_tracepoint = section.starts_with("tp_btf/");
  const bool has_result = section.starts_with("fexit/");
  const int parameters = is_tracepoint ? types.tracepoint_parameters(hook) : types.parameters(hook);
  if (parameters < 0 || (!is_tracepoint && !has_result && !section.starts_with("fentry/")))
    return std::nullopt;
  return static_cast<std::size_t>(parameters) + (has_result ? 1 : 0);
}

// Prints the program's faults and returns their number.
int check(const std::string& name, std::string_view section, const kernel::KernelTypes& types) {
  const Paths paths = follow_paths(fitted.at(name));
  int faults = 0;
  for (const std::size_t at : paths.poisoned) {
    fmt::print("{} ({}): instruction {} reads what this kernel does not have\n", name, section, at);
    ++faults;
  }
  const auto most = words(section, types);
  for (const auto& [at, word] : paths.arguments)
    if (most && word >= *most) {
      fmt::print("{} ({}): instruction {} reads argument {}, there are {}\n", name, section, at,
                 word + 1, *most);
      ++faults;
    }
  return faults;
}

// Checks all programs that iotrail would load there. `refusal_of_functions`: errno of hooks on
// functions, 0 if allowed.
int check_all(const char* path, const kernel::KernelBtf& btf, int refusal_of_functions) {
  const Object object(bpf_object__open_file(path, nullptr));
  if (!object)
    return 1;
  const kernel::KernelTypes types = kernel::types_for(object.get(), btf);
  kernel::Refusals refusals;
  kernel::refuse_unavailable(object.get(), types, refusal_of_functions, refusals);
  const auto programs = kernel::chosen_programs({}, refusals);
  const Fd file = types_file(object.get(), btf);
  fitted.clear();
  unfitted.clear();
  if (!file || !fit(path, fmt::format("/proc/self/fd/{}", file.get()), programs)) {
    fmt::print("libbpf cannot fit the programs: {}\n", errno_text(errno));
    return 1;
  }
  int faults = 0;
  for (const auto& [name, instructions] : fitted)
    faults += check(
        name, kernel::section_of(bpf_object__find_program_by_name(object.get(), name.c_str())),
        types);
  if (faults != 0)
    for (const std::string& relocation : unfitted)
      fmt::print("  {}", relocation);
  fmt::print("{} programs{}: {} faults, {} relocations that this kernel has nothing for\n",
             fitted.size(), refusal_of_functions == 0 ? "" : ", without hooks on functions", faults,
             unfitted.size());
  return faults;
}

} // namespace
} // namespace iotrail::fit

int main(int argc, char** argv) {
  using namespace iotrail;
  if (argc != 3) {
    fmt::print(stderr, "usage: program_fit OBJECT BTF-DIRECTORY\n");
    return 2;
  }
  const auto btf = capture::kernel::KernelBtf::read(argv[2]);
  if (!btf.kernel) {
    fmt::print(stderr, "program_fit: no types in {}/vmlinux\n", argv[2]);
    return 2;
  }
  fit::register_sections();
  libbpf_set_print(fit::listen);
  const int faults = fit::check_all(argv[1], btf, 0) + fit::check_all(argv[1], btf, EPERM);
  return faults == 0 ? 0 : 1;
}
