// SPDX-License-Identifier: BSD-3-Clause
//
// The loaded BPF programs: those that this kernel accepts. A refused program does not prevent the
// others.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/load/program_loader.hpp"

struct iotrail_bpf;
struct bpf_link;
struct bpf_program;

namespace iotrail::capture::kernel {

// Sizes the maps that later stages read, before the object is loaded.
using PrepareMaps = void (*)(iotrail_bpf& skeleton, const iot_config& configuration,
                             std::uint32_t cpu_count);

class BpfObject {
public:
  // Loads and attaches the hooks for the filter, by `configuration`, and completes that with the
  // choice of hooks. Hooks that the kernel's types show to be missing are not tried. Hooks that are
  // refused go to `refusals`, and the next alternative is loaded. Programs on `hooks_left_out`
  // (functions, tracepoints) are loaded but do not run. A load that a signal interrupts is
  // repeated. Fails if hooks cannot be tried at all (no privilege, no BTF, no memory for the maps),
  // or tasks cannot be followed.
  static Result<std::unique_ptr<BpfObject>>
  load(const Filter& filter, const iot_config& configuration, std::uint32_t cpu_count,
       const std::vector<std::string>& hooks_left_out, PrepareMaps prepare, Refusals& refusals);
  ~BpfObject();

  iotrail_bpf& skeleton() { return *skeleton_; }
  int map_fd(const char* name) const; // negative: the map was not needed

  // Runs a program without a hook (section "syscall"), with `question` as its argument and answer.
  // False: it was not loaded, or the kernel does not run it.
  bool ask(const char* program, std::span<std::byte> question) const;

  // The output of a program that the kernel runs for each of its objects (section "iter/...").
  // Empty: it was not loaded.
  std::vector<std::byte> list(const char* program) const;

  // When it returns, no new event is recorded; wait_for_programs() waits for programs that still
  // run. Hooks on functions may stay attached, idle, for about a second: the kernel takes tens of
  // milliseconds to remove each, and another process waits for that.
  void detach();
  // The time of this (CLOCK_MONOTONIC); 0: not yet.
  std::uint64_t silenced_ns() const { return silenced_ns_; }
  // Returns when no program runs any more that ran at the call: some 10 to 20 ms.
  static void wait_for_programs();

  // Total over all programs: how often the kernel skipped one because it already ran. Exact after
  // detach().
  std::uint64_t recursion_misses() const;

private:
  struct Attached {
    bpf_link* link;
    int program_fd;
    bool is_slow; // to let go
  };

  explicit BpfObject(PrepareMaps prepare) : prepare_(prepare) {}
  int try_load(const std::vector<std::string_view>& programs, const iot_config& configuration,
               std::uint32_t cpu_count, std::vector<RefusedProgram>& refused);
  void size_maps(const std::vector<std::string_view>& programs, const iot_config& configuration,
                 std::uint32_t cpu_count);
  int try_attach(const std::vector<std::string_view>& programs,
                 const std::vector<std::string>& hooks_left_out, Refusals& refusals);
  void silence();
  std::vector<bpf_link*> take_links(bool slow_ones);
  void let_go_meanwhile();
  void leave_links_to_child();

  PrepareMaps prepare_;
  iotrail_bpf* skeleton_ = nullptr;
  std::vector<Attached> attached_;
  std::thread letting_go_;
  std::uint64_t silenced_ns_ = 0;
  std::uint64_t recursion_misses_ = 0; // of programs with removed links
};

} // namespace iotrail::capture::kernel
