// SPDX-License-Identifier: BSD-3-Clause
//
// Why the dynamic linker will not load the preload library into a program. The collector checks the
// command, and the library checks what its program executes. So it uses neither the C++ library nor
// hooked calls.
#pragma once

#include "capture/preload/shared/arena.hpp"

namespace iotrail::capture::preload {

// Checks the program's file. Follows scripts to their interpreter, and the dynamic linker to the
// program in its arguments (ended by a null; null: unknown). An unreadable file blocks nothing.
PreloadBlocker blocker_of_path(const char* path, const char* const* arguments);

// With the library in its environment, the dynamic linker would print an error, or the program
// would not start.
constexpr bool is_harmful(PreloadBlocker preload_blocker) {
  return preload_blocker == PreloadBlocker::unreachable ||
         preload_blocker == PreloadBlocker::other_class ||
         preload_blocker == PreloadBlocker::other_linker ||
         preload_blocker == PreloadBlocker::other_runtime;
}

} // namespace iotrail::capture::preload
