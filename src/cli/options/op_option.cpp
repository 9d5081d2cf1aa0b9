// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/op_option.hpp"

#include <fmt/format.h>

namespace iotrail::cli {

Result<void> check_op(std::string_view op) {
  constexpr std::size_t kMostDigits = 20;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() <= kMostDigits &&
           text.find_first_not_of("0123456789") == text.npos;
  };
  const std::string_view name = op.substr(op.starts_with('p') || op.starts_with('f') ? 1 : 0);
  const std::size_t dot = name.find('.');
  const bool is_op = dot == name.npos
                         ? is_number(op)
                         : is_number(name.substr(0, dot)) && is_number(name.substr(dot + 1));
  if (op.empty() || is_op)
    return {};
  return fail_usage(fmt::format("--op: '{}' is no operation", op), {},
                    "An operation is 1.42 or, of the app layer, p1.42, as `script` and `explain` "
                    "print it.");
}

} // namespace iotrail::cli
