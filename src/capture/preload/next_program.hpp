// SPDX-License-Identifier: BSD-3-Clause
#pragma once

namespace iotrail::capture::preload {

// Looks at a program that is about to be executed, and counts it if the dynamic linker will not preload into it:
// statically linked, 32-bit, set-user-ID. A name to be searched for in PATH is not looked at.
void count_if_not_followed(const char* path);

} // namespace iotrail::capture::preload
