// SPDX-License-Identifier: BSD-3-Clause
//
// How large a manifest may be. Traced programs choose some of the names in it: a recorder writes as much of them as a
// reader takes.
#pragma once

#include <cstddef>
#include <string_view>

#include "store/format/manifest.hpp"

namespace iotrail::store {

inline constexpr std::size_t kManifestBytesMax = 16U << 20U; // that is read

// Of all tags that a recording begins with, by json_bytes().
inline constexpr std::size_t kTagBytesMax = 4U << 20U;

// Each list of texts ends with "..." where it would be too long.
void bound_lists(Manifest& manifest);

// At most so many bytes stand for `text` in a manifest.
std::size_t json_bytes(std::string_view text);

} // namespace iotrail::store
