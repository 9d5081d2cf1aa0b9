// SPDX-License-Identifier: BSD-3-Clause
//
// The source of the app layer: calls into the C library, recorded inside the program by
// libiotrail-preload.so and passed on in shared memory. Needs no privilege. Follows the command and
// all its children, except programs into which the dynamic linker does not preload.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_preload_source();

// Why the app layer cannot see this program (a path): statically linked, set-user-ID, 32-bit. For a
// script its interpreter counts, for the dynamic linker the program in its arguments. Empty: no
// reason, or the file cannot be read.
std::string preload_blocker_text(const std::filesystem::path& program,
                                 const std::vector<std::string>& arguments = {});

// The library's path: IOTRAIL_PRELOAD_LIBRARY, or relative to the running program, as installed or
// as built.
Result<std::filesystem::path> preload_library();

} // namespace iotrail::capture
