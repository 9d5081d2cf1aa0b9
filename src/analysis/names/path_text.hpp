// SPDX-License-Identifier: BSD-3-Clause
//
// Paths as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iotrail::analysis {

// False also for a path that the kernel would refuse, which a hostile trace may have.
bool is_whole(std::string_view path);

// Absolute path of `name` in an absolute `directory`, or of an absolute `name`, without ".", ".."
// and double slashes. Empty: invalid or too long.
std::string joined(std::string_view directory, std::string_view name);

// N of /proc/self/fd/N, which links a file without a name; -1: another path.
std::int32_t descriptor_of(std::string_view path, std::uint32_t pid);

} // namespace iotrail::analysis
