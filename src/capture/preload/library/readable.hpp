// SPDX-License-Identifier: BSD-3-Clause
//
// Whether the pointers that a program gives to the kernel can be followed. The kernel answers EFAULT
// where an access of the library would end the program. True if the kernel does not say.
#pragma once

namespace iotrail::capture::preload {

bool is_readable(const char* text);         // its first byte
bool are_readable(const char* const* list); // the pointers up to a null, and their first bytes

} // namespace iotrail::capture::preload
