// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/btf/module_types.hpp"

#include <bpf/bpf.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace iotrail::capture::kernel {

// 0, or an errno. The kernel lists all types that it was given, also those of programs.
int ModuleTypes::open_all() {
  for (std::uint32_t id = 0; ::bpf_btf_get_next_id(id, &id) == 0;) {
    Fd types(::bpf_btf_get_fd_by_id(id));
    if (!types && errno == ENOENT)
      continue; // gone meanwhile
    if (!types)
      return errno;
    std::array<char, 64> name{}; // a module's has 55 letters at most
    bpf_btf_info info{};
    info.name = reinterpret_cast<std::uint64_t>(name.data());
    info.name_len = name.size();
    std::uint32_t size = sizeof info;
    if (::bpf_obj_get_info_by_fd(types.get(), &info, &size) == 0 && info.kernel_btf)
      modules_.emplace(name.data(), std::move(types));
  }
  return errno == ENOENT ? 0 : errno;
}

int ModuleTypes::descriptor_of(const std::string& module) {
  if (!is_open_)
    error_ = open_all();
  is_open_ = true;
  const auto found = modules_.find(module);
  if (found != modules_.end())
    return found->second.get();
  return error_ != 0 ? -error_ : -ENOENT;
}

} // namespace iotrail::capture::kernel
