// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string_view>

namespace iotrail::store {

// Tags of a trace with this prefix are the recorder's: facts about the machine, which views show. Users' tags have other names.
inline constexpr std::string_view kRecorderTags = "iotrail.";

} // namespace iotrail::store
