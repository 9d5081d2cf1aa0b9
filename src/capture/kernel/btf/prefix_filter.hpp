// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace iotrail::capture::kernel {

// A Bloom filter with one hash: which of a hundred thousand names may be one of a few, by up to
// four first letters. Letters after the end of a name (NUL) do not count.
class PrefixFilter {
public:
  void add(std::string_view name) { bits_[hash(name)] = true; }
  bool may_have(std::string_view name) const { return bits_[hash(name)]; }

private:
  static std::size_t hash(std::string_view name) {
    std::uint32_t letters = 0;
    for (std::size_t at = 0; at < std::min(name.size(), sizeof letters) && name[at] != '\0'; ++at)
      letters = letters << 8U | static_cast<unsigned char>(name[at]);
    return letters * 2654435761U >> 20U;
  }
  std::array<bool, 4096> bits_{};
};

} // namespace iotrail::capture::kernel
