// SPDX-License-Identifier: BSD-3-Clause
//
// From the filter of a recording to what BPF programs look at: configuration before the load, maps after it.
#pragma once

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/kernel/load/pid_numbers.hpp"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

void fill_filters(iot_config& config, const Filter& filter);

// As SourceOptions has them, in the order of iot_own_file; none: nothing is left out.
void fill_own_files(iot_config& config, const std::vector<std::filesystem::path>& files);

// Files, devices, cgroups and processes that are named. Fails where one does not exist.
Result<void> set_filters(BpfObject& object, PidNumbers& numbers, const Filter& filter);

// From now on the process that the kernel numbers `tid` (a single, suspended thread) is traced, and all that it starts; or from its next exec on.
Result<void> trace_tree(BpfObject& object, iot_u32 tid, bool from_exec);

// Adds what the processes that are named have started and still runs. To be called when those are traced already, so that
// nothing that they start meanwhile is missed.
Result<std::vector<pid_t>> trace_descendants(BpfObject& object, PidNumbers& numbers,
                                             const std::vector<pid_t>& pids);

} // namespace iotrail::capture::kernel
