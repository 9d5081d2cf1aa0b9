// SPDX-License-Identifier: BSD-3-Clause
//
// Why the dynamic linker will not load the preload library into a program. Judged by the collector of the command, and by the
// library of what its program executes: without the C++ library and calls that are hooked.
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// By the program's file; scripts are followed to their interpreter, and the dynamic linker, which a program may be started
// by, to what its arguments name (ended by a null; null: not known). What cannot be read is no obstacle.
Obstacle obstacle_of_path(const char* path, const char* const* arguments);

// The dynamic linker would complain on the program's stderr, or the program not even start, if it were told of the library.
constexpr bool is_harmful(Obstacle obstacle) {
  return obstacle == Obstacle::unreachable || obstacle == Obstacle::other_class ||
         obstacle == Obstacle::other_linker || obstacle == Obstacle::other_runtime;
}

} // namespace iotrail::capture::preload
