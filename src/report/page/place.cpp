// SPDX-License-Identifier: BSD-3-Clause
#include "report/page/place.hpp"

#include <algorithm>

#include "analysis/findings/rule.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kShown = "-- shown: ";
constexpr std::string_view kAnySection = "time";

} // namespace

std::string section_that_shows(std::string_view rule) {
  const auto files = analysis::rule_files();
  const auto file = std::ranges::find(files, rule, &analysis::RuleFile::name);
  if (file == files.end())
    return std::string(kAnySection);
  const auto at = file->text.find(kShown);
  if (at == std::string_view::npos)
    return std::string(kAnySection);
  const std::string_view rest = file->text.substr(at + kShown.size());
  return std::string(rest.substr(0, rest.find('\n')));
}

} // namespace iotrail::output
