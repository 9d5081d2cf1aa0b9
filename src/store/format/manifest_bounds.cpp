// SPDX-License-Identifier: BSD-3-Clause
#include "store/format/manifest_bounds.hpp"

#include <algorithm>
#include <string>
#include <vector>

namespace iotrail::store {
namespace {

constexpr std::size_t kCommandBytesMax = 2U << 20U; // as much as Linux gives to a program
constexpr std::size_t kListBytesMax = 1U << 20U;    // of any other list
constexpr std::size_t kBytesBeside = 8;             // of a text: quotes, comma, line, indent
constexpr std::string_view kCut = "...";

std::size_t character_bytes(unsigned char c) {
  if (c == '"' || c == '\\')
    return 2;
  return c >= ' ' && c < 0x7f ? 1 : 6; // "\u0001"
}

// The longest beginning of `text` that takes at most so many bytes.
std::string_view beginning(std::string_view text, std::size_t bytes_max) {
  std::size_t bytes = 0;
  const auto end = std::ranges::find_if(text, [&](char c) {
    bytes += character_bytes(static_cast<unsigned char>(c));
    return bytes > bytes_max;
  });
  return {text.begin(), end};
}

void bound(std::vector<std::string>& list, std::size_t bytes_max) {
  std::size_t left = bytes_max - 2 * (kBytesBeside + kCut.size());
  for (auto text = list.begin(); text != list.end(); ++text) {
    const std::size_t bytes = kBytesBeside + json_bytes(*text);
    if (bytes <= left) {
      left -= bytes;
      continue;
    }
    *text = std::string(beginning(*text, left - std::min(left, kBytesBeside))).append(kCut);
    if (text + 1 != list.end()) {
      list.erase(text + 1, list.end());
      list.emplace_back(kCut);
    }
    return;
  }
}

} // namespace

std::size_t json_bytes(std::string_view text) {
  std::size_t bytes = 0;
  for (const char c : text)
    bytes += character_bytes(static_cast<unsigned char>(c));
  return bytes;
}

void bound_lists(Manifest& manifest) {
  bound(manifest.command, kCommandBytesMax);
  for (std::vector<std::string>* list :
       {&manifest.layers, &manifest.filters, &manifest.limits, &manifest.not_followed,
        &manifest.still_running, &manifest.unsupported_file_systems})
    bound(*list, kListBytesMax);
}

} // namespace iotrail::store
