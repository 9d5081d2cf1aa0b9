// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// Why the library will not be in a program that is about to be executed. `name` is a path, or a
// name without a slash that is searched in PATH. Follows scripts to their interpreter, and a linker
// to the program in its arguments. Unknown files block nothing.
PreloadBlocker blocker_of(const char* name, const char* const* arguments);

// Counts the program and announces its name to the collector.
void report_blocker(const char* name, PreloadBlocker preload_blocker);

} // namespace iotrail::capture::preload
