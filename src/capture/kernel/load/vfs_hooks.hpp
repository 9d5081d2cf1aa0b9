// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <vector>

#include "capture/kernel/load/hooks.hpp"

namespace iotrail::capture::kernel {

// Appends the rows of the layer vfs to those of event_hooks().
void add_vfs_hooks(std::vector<EventHooks>& rows);

} // namespace iotrail::capture::kernel
