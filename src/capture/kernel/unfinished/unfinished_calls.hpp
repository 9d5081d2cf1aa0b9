// SPDX-License-Identifier: BSD-3-Clause
//
// System calls that are in progress when a recording stops, as records with the result
// IOT_UNFINISHED. Some began before the recording, so that no program saw their begin.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "capture/kernel/collect/late_names.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/kernel/unfinished/call_arguments.hpp"
#include "capture/kernel/unfinished/call_state.hpp"
#include "capture/tasks/tasks.hpp"

namespace iotrail::capture::kernel {

// What was asked for, as far as /proc says it.
struct AskedCall {
  Arguments arguments{};
  std::string path;             // that an argument points to; empty: none, or unknown
  std::optional<OpenFile> file; // of its descriptor
};

// A call that began before its thread was traced.
struct EarlyCall {
  iot_u32 pid = 0;
  iot_u32 tid = 0;
  iot_u64 call = 0; // its description, as in iot_config.calls
  AskedCall asked;
  std::string stack; // as kernel_stack() gives it
  iot_u32 state = 0; // of the value table `task_state`
  std::uint64_t last_run_ns = 0;
};

struct CallsInProgress {
  std::unordered_map<iot_u64, AskedCall> asked; // by operation
  std::vector<EarlyCall> early;
};

// The calls that all traced tasks sleep in, from /proc. Early calls are those of threads of `pids`
// that have been in one call since before they were traced; calls that wait for descriptors (poll
// and the like) are left out, because threads rest in them. None if /proc numbers tasks otherwise than
// the kernel. Call it before detach(): a call that is still in progress afterwards is then the same.
CallsInProgress calls_in_progress(BpfObject& object, const Tasks& tasks,
                                  std::span<const pid_t> pids);

// Appends the records of these calls and of the waits of early ones. `object` has been detached.
void add_unfinished_calls(BpfObject& object, const CallsInProgress& calls, std::uint64_t started_ns,
                          std::uint64_t stopped_ns, LateNames& names,
                          std::vector<RecordSlot>& records);

} // namespace iotrail::capture::kernel
