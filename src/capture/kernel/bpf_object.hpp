// SPDX-License-Identifier: BSD-3-Clause
//
// The BPF programs, loaded: whatever of them this kernel accepts. One program that it refuses never costs another.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/kernel/hooks.hpp"
#include "capture/kernel/kernel_abi.h"

struct iotrail_bpf;
struct bpf_link;

namespace iotrail::capture::kernel {

class BpfObject {
public:
  // Loads and attaches what serves the filter, by `configuration`. What is refused goes to `refusals`, and the next
  // alternative is tried. Fails where not even that can be told: no privilege, no BTF, no memory for the maps.
  static Result<std::unique_ptr<BpfObject>> load(const Filter& filter,
                                                 const io_config& configuration,
                                                 std::uint32_t cpu_count, Refusals& refusals);
  ~BpfObject();

  iotrail_bpf& skeleton() { return *skeleton_; }
  int map_fd(const char* name) const;

  // In a hash whose keys are 64-bit numbers; exact once detached.
  std::uint64_t entries(const char* map) const;

  // Returns when no program runs any more.
  void detach();

  // Of all programs: how often the kernel skipped one because it ran already.
  std::uint64_t recursion_misses() const;

private:
  BpfObject() = default;
  Result<void> try_load(const std::vector<std::string_view>& programs,
                        const io_config& configuration, std::uint32_t cpu_count,
                        Refusals& refusals);
  void try_attach(const std::vector<std::string_view>& programs, Refusals& refusals);

  iotrail_bpf* skeleton_ = nullptr;
  std::vector<bpf_link*> links_;
  std::vector<int> program_fds_;
};

// Whether the running kernel's BTF has it.
bool kernel_has_function(const char* name);
bool kernel_has_tracepoint(const std::string& name);

// 0, or the errno with which the kernel refuses to hook a function: told by a program that does nothing.
int refusal_of_function_hooks();

} // namespace iotrail::capture::kernel
