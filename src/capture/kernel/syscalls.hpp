// SPDX-License-Identifier: BSD-3-Clause
//
// Which native system calls are recorded as which event: the tables that BPF looks a number up in.
#pragma once

#include "capture/kernel/kernel_abi.h"
#include "capture/source.hpp"

namespace iotrail::capture::kernel {

// Fills `calls` and `compat_calls` of the configuration for the events that the filter wants.
void fill_calls(io_config& config, const Filter& filter);

} // namespace iotrail::capture::kernel
