// SPDX-License-Identifier: BSD-3-Clause
//
// The treatment of each system call of this machine: the tables in which BPF looks up its number.
#pragma once

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

// Fills `calls` and `compat_calls` of the configuration with every call of schema/syscalls.def.
// Calls with a wanted event carry IOT_CALL_RECORDED.
void fill_calls(iot_config& config, const Filter& filter);

} // namespace iotrail::capture::kernel
