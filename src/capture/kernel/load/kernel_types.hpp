// SPDX-License-Identifier: BSD-3-Clause
//
// What the running kernel's own type information (BTF) says of functions and tracepoints, before anything is loaded.
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

// What the kernel is told with a program that hooks a function or a tracepoint: a type, by its number.
struct HookedType {
  std::uint32_t id = 0; // 0: there is none
  std::string module;   // whose type it is; empty: the kernel's own
};

class KernelTypes {
public:
  // What is said of these functions of the kernel, of the enumerations of reasons.hpp, and of all tracepoints, those of
  // modules too.
  explicit KernelTypes(const KernelBtf& btf, std::span<const std::string_view> functions);

  // False: the kernel has no type information, or none that can be read; then nothing is known.
  bool are_known() const { return are_known_; }

  bool has_tracepoint(std::string_view name) const; // "block_rq_issue"
  bool has_function(std::string_view name) const { return function_id(name) != 0; }
  int tracepoint_parameters(std::string_view name) const; // -1: there is none, or a module has it
  HookedType hooked_tracepoint(std::string_view name) const;
  // As BTF numbers it; 0: there is no such function.
  std::uint32_t function_id(std::string_view name) const;
  // Number of its parameters; -1: there is no such function.
  int parameters(std::string_view name) const;

  // Of an enumeration that is read: what it names, and the numbers; empty: the kernel has none.
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
