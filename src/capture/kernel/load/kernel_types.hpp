// SPDX-License-Identifier: BSD-3-Clause
//
// Functions and tracepoints in the running kernel's type information (BTF), read before anything is
// loaded.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "capture/kernel/btf/btf_data.hpp"

namespace iotrail::capture::kernel {

// The target of a program that hooks a function or a tracepoint: a type, by its number.
struct HookedType {
  std::uint32_t id = 0; // 0: none
  std::string module;   // module of the type; empty: the kernel itself
};

class KernelTypes {
public:
  // Selects these functions of the kernel, the enumerations of reasons.hpp, and all tracepoints,
  // also those of modules.
  explicit KernelTypes(const KernelBtf& btf, std::span<const std::string_view> functions);

  // False: the kernel has no type information, or none that is readable; then nothing is known.
  bool are_known() const { return are_known_; }

  bool has_tracepoint(std::string_view name) const; // "block_rq_issue"
  bool has_function(std::string_view name) const { return function_id(name) != 0; }
  int tracepoint_parameters(std::string_view name) const; // -1: none, or it is in a module
  HookedType hooked_tracepoint(std::string_view name) const;
  // In the numbering of BTF; 0: no such function.
  std::uint32_t function_id(std::string_view name) const;
  // Number of its parameters; -1: no such function.
  int parameters(std::string_view name) const;

  // The names and numbers of an enumeration that was read; empty: the kernel does not have it.
  using Enumerators = std::vector<std::pair<std::string, std::uint32_t>>;
  const Enumerators& enumerators(std::string_view name) const;

private:
  struct Function {
    std::uint32_t id = 0;
    int parameters = -1;
  };

  struct Tracepoint {
    HookedType hooked;
    int parameters = -1; // not known
  };

  static Enumerators enumerators_of(const BtfData& btf, std::uint32_t id);
  void scan(const BtfData& btf, std::span<const std::string_view> functions);
  void scan_module(const KernelBtf::Module& module);

  std::map<std::string, Enumerators, std::less<>> enumerations_;
  bool are_known_ = false;
  std::map<std::string, Function, std::less<>> functions_;
  std::map<std::string, Tracepoint, std::less<>> tracepoints_;
};

} // namespace iotrail::capture::kernel
