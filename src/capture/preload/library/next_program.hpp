// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// Why the library will not be in a program that is about to be executed: by `path`, or by a name without a slash that
// is searched for in PATH. Scripts are followed to their interpreter, a linker to the program that its arguments name; what is
// not known is no obstacle.
Obstacle obstacle_of(const char* name, const char* const* arguments);

// Counts the program and tells the collector its name.
void tell_of_obstacle(const char* name, Obstacle obstacle);

} // namespace iotrail::capture::preload
