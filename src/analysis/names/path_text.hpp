// SPDX-License-Identifier: BSD-3-Clause
//
// Paths as text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace iotrail::analysis {

// One that the kernel would refuse, which a hostile trace may have, is none.
bool is_whole(std::string_view path);

// Of a path below a directory, itself a whole one, or of a whole one: without ".", ".." and "/" twice. Empty: there is none, or it
// is too long.
std::string joined(std::string_view directory, std::string_view name);

// N of /proc/self/fd/N, by which a file without a name is linked; -1: it is no such path.
std::int32_t descriptor_of(std::string_view path, std::uint32_t pid);

} // namespace iotrail::analysis
