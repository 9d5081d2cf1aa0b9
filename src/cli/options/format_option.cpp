// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/format_option.hpp"

#include <ranges>
#include <string_view>

#include "base/nearest_name.hpp"

namespace iotrail::cli {

std::string format_names() {
  std::string names;
  for (const output::Format* format : output::formats())
    names += fmt::format("{}{}", names.empty() ? "" : ", ", format->name);
  return names;
}

Result<const output::Format*> parse_format(const std::string& name) {
  if (const output::Format* format = output::find_format(name))
    return format;
  return fail_usage(
      fmt::format("there is no format '{}'", name),
      fmt::format("the formats are {}", format_names()),
      did_you_mean(name, output::formats() | std::views::transform([](const auto* format) {
                           return std::string_view(format->name);
                         })));
}

} // namespace iotrail::cli
