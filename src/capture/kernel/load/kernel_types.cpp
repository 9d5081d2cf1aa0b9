// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/load/kernel_types.hpp"

#include <algorithm>

#include "capture/kernel/btf/prefix_filter.hpp"
#include "capture/kernel/load/reasons.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::string_view kTracepointPrefix = "btf_trace_";

bool has_name_to_read(unsigned kind) {
  return kind == BTF_KIND_FUNC || kind == BTF_KIND_TYPEDEF || kind == BTF_KIND_ENUM;
}

} // namespace

KernelTypes::Enumerators KernelTypes::enumerators_of(const BtfData& btf, std::uint32_t id) {
  Enumerators named;
  for (const struct btf_enum& member : btf.parts<struct btf_enum>(id))
    named.emplace_back(btf.string(member.name_off), static_cast<std::uint32_t>(member.val));
  return named;
}

void KernelTypes::scan(const BtfData& btf, std::span<const std::string_view> functions) {
  PrefixFilter letters;
  for (const std::string_view name : functions)
    letters.add(name);
  letters.add(kTracepointPrefix);
  for (const std::string_view name : kReasonTypes)
    letters.add(name);
  const auto parameters_of = [&](std::uint32_t prototype) {
    return static_cast<int>(BTF_INFO_VLEN(btf.type(prototype).info));
  };
  for (std::uint32_t id = btf.first_id(); id < btf.end_id(); ++id) {
    const btf_type type = btf.type(id);
    const unsigned kind = kind_of(type);
    if (!has_name_to_read(kind) || !letters.may_have(btf.strings_from(type.name_off)))
      continue;
    const std::string_view name = btf.string(type.name_off);
    // For a pointer to a function; its first parameter belongs to the tracepoint.
    if (kind == BTF_KIND_TYPEDEF && name.starts_with(kTracepointPrefix))
      tracepoints_.try_emplace(
          std::string(name.substr(kTracepointPrefix.size())),
          Tracepoint{.hooked = {.id = id, .module = ""},
                     .parameters = parameters_of(btf.type(type.type).type) - 1});
    if (kind == BTF_KIND_ENUM && std::ranges::find(kReasonTypes, name) != kReasonTypes.end())
      enumerations_[std::string(name)] = enumerators_of(btf, id);
    if (kind == BTF_KIND_FUNC && std::ranges::find(functions, name) != functions.end())
      functions_.try_emplace(std::string(name),
                             Function{.id = id, .parameters = parameters_of(type.type)});
  }
}

void KernelTypes::scan_module(const KernelBtf::Module& module) {
  const BtfData& btf = module.types;
  for (std::uint32_t id = btf.first_id(); id < btf.end_id(); ++id) {
    const btf_type type = btf.type(id);
    if (kind_of(type) != BTF_KIND_TYPEDEF)
      continue;
    if (const std::string_view name = btf.string(type.name_off);
        name.starts_with(kTracepointPrefix))
      tracepoints_.try_emplace(std::string(name.substr(kTracepointPrefix.size())),
                               Tracepoint{.hooked = {.id = id, .module = module.name}});
  }
}

KernelTypes::KernelTypes(const KernelBtf& btf, std::span<const std::string_view> functions) {
  if (!btf.kernel)
    return;
  are_known_ = true;
  scan(*btf.kernel, functions);
  for (const KernelBtf::Module& module : btf.modules)
    scan_module(module);
}

const KernelTypes::Enumerators& KernelTypes::enumerators(std::string_view name) const {
  static const Enumerators kNone;
  const auto found = enumerations_.find(name);
  return found == enumerations_.end() ? kNone : found->second;
}

bool KernelTypes::has_tracepoint(std::string_view name) const {
  return tracepoints_.contains(name);
}

int KernelTypes::tracepoint_parameters(std::string_view name) const {
  const auto found = tracepoints_.find(name);
  return found == tracepoints_.end() ? -1 : found->second.parameters;
}

HookedType KernelTypes::hooked_tracepoint(std::string_view name) const {
  const auto found = tracepoints_.find(name);
  return found == tracepoints_.end() ? HookedType{} : found->second.hooked;
}

std::uint32_t KernelTypes::function_id(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? 0 : found->second.id;
}

int KernelTypes::parameters(std::string_view name) const {
  const auto found = functions_.find(name);
  return found == functions_.end() ? -1 : found->second.parameters;
}

} // namespace iotrail::capture::kernel
