// SPDX-License-Identifier: BSD-3-Clause
#include "reference/frozen.hpp"

#include <ranges>
#include <set>

namespace iotrail::output {

namespace {

std::set<std::string> lines_of(std::string_view text) {
  std::set<std::string> lines;
  for (const auto line : std::views::split(text, '\n'))
    if (!line.empty())
      lines.emplace(line.begin(), line.end());
  return lines;
}

std::vector<std::string> missing(const std::set<std::string>& from,
                                 const std::set<std::string>& in) {
  std::vector<std::string> lines;
  for (const std::string& line : from)
    if (!in.contains(line))
      lines.push_back(line);
  return lines;
}

} // namespace

std::vector<std::string> broken_promises(std::string_view frozen, std::string_view current) {
  return missing(lines_of(frozen), lines_of(current));
}

std::vector<std::string> new_promises(std::string_view frozen, std::string_view current) {
  return missing(lines_of(current), lines_of(frozen));
}

} // namespace iotrail::output
