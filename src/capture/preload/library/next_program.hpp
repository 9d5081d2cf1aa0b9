// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// Why the library will not be in a program that is about to be executed. `name` is a path, or a
// name without a slash that is searched in PATH. Follows scripts to their interpreter, and a linker
// to the program in its arguments. Unknown files are no obstacle.
Obstacle obstacle_of(const char* name, const char* const* arguments);

// Counts the program and announces its name to the collector.
void tell_of_obstacle(const char* name, Obstacle obstacle);

} // namespace iotrail::capture::preload
