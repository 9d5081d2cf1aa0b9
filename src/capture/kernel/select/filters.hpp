// SPDX-License-Identifier: BSD-3-Clause
//
// From the filter of a recording to the data of the BPF programs: configuration before the load,
// maps after it.
#pragma once

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/kernel/load/pid_numbers.hpp"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

void fill_filters(iot_config& config, const Filter& filter);

// As in SourceOptions, in the order of iot_own_file; none: nothing is excluded.
void fill_own_files(iot_config& config, const std::vector<std::filesystem::path>& files);

// The files, devices, cgroups and processes of the filter. Fails if one does not exist.
Result<void> set_filters(BpfObject& object, PidNumbers& numbers, const Filter& filter);

// From now on, or from its next exec on, the single suspended thread `tid` of the kernel's
// numbering is traced with all its children.
Result<void> trace_tree(BpfObject& object, iot_u32 tid, bool from_exec);

// Adds the running children of the named processes. Call it when those processes are already
// traced, so that no child started meanwhile is missed.
Result<std::vector<pid_t>> trace_descendants(BpfObject& object, PidNumbers& numbers,
                                             const std::vector<pid_t>& pids);

} // namespace iotrail::capture::kernel
