// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>

namespace iotrail::store {

// Tags of a trace with this prefix are the recorder's: facts about the machine, which views show.
inline constexpr std::string_view kRecorderTags = "iotrail.";
inline constexpr std::size_t kRecorderTagsMost = 512;

// Without the recorder's.
inline std::map<std::string, std::string> user_tags(std::map<std::string, std::string> tags) {
  std::erase_if(tags, [](const auto& tag) { return tag.first.starts_with(kRecorderTags); });
  return tags;
}

} // namespace iotrail::store
