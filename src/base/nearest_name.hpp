// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace iotrail {

// Number of letters to insert, delete, replace, or swap with their neighbour to turn one text into
// the other.
inline std::size_t edits_between(std::string_view from, std::string_view to) {
  std::vector<std::size_t> before_last(to.size() + 1);
  std::vector<std::size_t> last(to.size() + 1);
  std::vector<std::size_t> edits(to.size() + 1);
  for (std::size_t j = 0; j <= to.size(); ++j)
    edits[j] = j;
  for (std::size_t i = 1; i <= from.size(); ++i) {
    before_last.swap(last);
    last.swap(edits);
    edits[0] = i;
    for (std::size_t j = 1; j <= to.size(); ++j) {
      const bool is_same = from[i - 1] == to[j - 1];
      edits[j] = std::min({last[j] + 1, edits[j - 1] + 1, last[j - 1] + (is_same ? 0 : 1)});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        edits[j] = std::min(edits[j], before_last[j - 2] + 1);
    }
  }
  return edits[to.size()];
}

// "Did you mean 'fsync'?" with the name most similar to `text`; empty: none is similar, or `text`
// is too long for a name.
template <class Names> std::string did_you_mean(std::string_view text, const Names& names) {
  constexpr std::size_t kLongest = 64;
  std::size_t fewest = std::max<std::size_t>(1, text.size() / 3) + 1;
  std::string nearest;
  if (text.size() > kLongest)
    return nearest;
  for (const std::string_view name : names)
    if (const std::size_t edits = edits_between(text, name); edits < fewest) {
      fewest = edits;
      nearest = name;
    }
  return nearest.empty() ? nearest : "Did you mean '" + nearest + "'?";
}

} // namespace iotrail
