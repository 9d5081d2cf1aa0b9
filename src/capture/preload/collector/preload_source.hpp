// SPDX-License-Identifier: BSD-3-Clause
//
// The source of the app layer: calls into the C library, recorded inside the program by libiotrail-preload.so and
// handed over in shared memory. Needs no privilege. Follows the command and all that it starts, but for programs that
// the dynamic linker does not preload into.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "capture/source.hpp"

namespace iotrail::capture {

std::unique_ptr<Source> make_preload_source();

// Why the app layer will see nothing of this program (a path): statically linked, set-user-ID, 32-bit; a script is
// judged by its interpreter, the dynamic linker by the program that its arguments name. Empty: nothing stands in the way, or
// the file cannot be read.
std::string preload_obstacle(const std::filesystem::path& program,
                             const std::vector<std::string>& arguments = {});

// Where the library is: IOTRAIL_PRELOAD_LIBRARY, or relative to the running program, as installed or as built.
Result<std::filesystem::path> preload_library();

} // namespace iotrail::capture
