// SPDX-License-Identifier: BSD-3-Clause
//
// What each system call of this machine is to the recorder: the tables that BPF looks a number up in.
#pragma once

#include "capture/kernel/abi/kernel_abi.h"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

// Fills `calls` and `compat_calls` of the configuration with every call of schema/syscalls.def; those whose event the
// filter wants carry IOT_CALL_RECORDED.
void fill_calls(iot_config& config, const Filter& filter);

} // namespace iotrail::capture::kernel
