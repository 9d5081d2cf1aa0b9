// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/features.hpp"

#include <linux/capability.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <fstream>

#include "capture/kernel/load/program_types.hpp"

namespace iotrail::capture {
namespace {

bool has_capability(unsigned number) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2]{};
  if (::syscall(SYS_capget, &header, data) != 0)
    return false;
  return (data[number / 32].effective >> (number % 32) & 1U) != 0;
}

constexpr const char* kNotTried = "not tried: the capabilities are missing";

bool may_trace(unsigned number) {
  return has_capability(number) || has_capability(CAP_SYS_ADMIN);
}

bool may_load() {
  return may_trace(CAP_BPF) && may_trace(CAP_PERFMON);
}

KernelFact capability(const char* name, unsigned number) {
  const bool is_met = may_trace(number);
  return {name, is_met, is_met ? "present" : "missing",
          std::string(is_met ? "" : kPermissionRemedy)};
}

// The active mode is in brackets: "none [integrity] confidentiality". Empty: this system does not
// show it.
std::string lockdown_mode() {
  std::string modes;
  std::getline(std::ifstream("/sys/kernel/security/lockdown") >> std::ws, modes);
  const std::size_t open = modes.find('[');
  const std::size_t close = modes.find(']');
  return open == modes.npos || close == modes.npos ? "" : modes.substr(open + 1, close - open - 1);
}

// Without the capabilities the kernel refuses all programs alike: lockdown is unknown then.
KernelFact function_hooks() {
  constexpr const char* kName = "hooks on functions";
  if (!may_load())
    return {kName, false, kNotTried, std::string(kPermissionRemedy)};
  const int code = kernel::refusal_of_function_hooks();
  if (code == 0)
    return {kName, true, "allowed", ""};
  const std::string mode = lockdown_mode();
  return {kName, false,
          mode.empty() ? errno_text(code) : fmt::format("{}; lockdown: {}", errno_text(code), mode),
          code == EPERM ? "boot without lockdown= and secure boot to let functions be hooked" : ""};
}

KernelFact kprobes() {
  const bool is_met = ::access("/sys/bus/event_source/devices/kprobe", F_OK) == 0;
  return {"kprobes", is_met, is_met ? "present" : "missing",
          is_met ? "" : "needs a kernel with CONFIG_KPROBES"};
}

} // namespace

// Lockdown refuses it like a helper that does not exist (EINVAL).
KernelFact memory_reads() {
  constexpr const char* kName = "reads of its memory";
  if (!may_load())
    return {kName, false, kNotTried, std::string(kPermissionRemedy)};
  const int code = kernel::refusal_of_memory_reads();
  if (code == 0)
    return {kName, true, "allowed", ""};
  const std::string mode = lockdown_mode();
  return {kName, false,
          fmt::format("this kernel lets no program read its memory ({})",
                      mode.empty() || mode == "none" ? errno_text(code) : "lockdown: " + mode),
          "boot with lockdown=integrity, or without lockdown="};
}

std::vector<KernelFact> kernel_facts() {
  const bool has_types = ::access("/sys/kernel/btf/vmlinux", R_OK) == 0;
  const bool has_cast = kernel::kernel_types().has_function("bpf_rdonly_cast");
  return {
      {"BTF", has_types, has_types ? "/sys/kernel/btf/vmlinux" : "missing",
       has_types ? "" : "needs a kernel with CONFIG_DEBUG_INFO_BTF"},
      capability("CAP_BPF", CAP_BPF),
      capability("CAP_PERFMON", CAP_PERFMON),
      memory_reads(),
      function_hooks(),
      kprobes(),
      {"bpf_rdonly_cast", has_cast, has_cast ? "present" : "missing: events cost a little more",
       ""},
  };
}

} // namespace iotrail::capture
