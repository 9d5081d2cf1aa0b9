// SPDX-License-Identifier: BSD-3-Clause
//
// The secret of pseudonyms, read from a file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace iotrail::anonymize {

inline constexpr std::size_t kKeyBytesMin = 16;
inline constexpr std::size_t kKeyBytesMax = 4096;

struct Key {
  std::string bytes;
};

// Refuses a file that is no regular one, too short, too long, or open to other users.
Result<Key> read_key(const std::filesystem::path& path);

} // namespace iotrail::anonymize
