// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <string_view>

namespace iotrail::store {

// Tags of a trace with this prefix are the recorder's: facts about the machine, which views show.
inline constexpr std::string_view kRecorderTags = "iotrail.";
inline constexpr std::size_t kRecorderTagsMost = 512;

} // namespace iotrail::store
