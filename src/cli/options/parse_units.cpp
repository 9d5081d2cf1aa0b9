// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/parse_units.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

namespace iotrail::cli {
namespace {

struct Unit {
  std::string_view name;
  double ns;
};
constexpr Unit kUnits[] = {{"ns", 1},  {"us", 1e3}, {"ms", 1e6},
                           {"s", 1e9}, {"m", 60e9}, {"h", 3600e9}};
constexpr double kMostNs = 1e18; // 30 years

Result<std::uint64_t> parse(std::string_view option, const std::string& text, bool is_moment) {
  if (text.empty())
    return 0;
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  const auto* found = std::ranges::find(kUnits, unit, &Unit::name);
  if (is_moment && error == std::errc{} && number == 0 && unit.empty())
    return 0; // the begin has no unit
  if (error != std::errc{} || found == std::end(kUnits))
    return fail_usage(fmt::format("{} {}: {}", option, text,
                                  error == std::errc{} && unit.empty() ? "the unit is missing"
                                                                       : "this is no time"),
                      "a time is a number and a unit: 100us, 500ms, 10s, 2m, 1h");
  const double ns = number * found->ns;
  const bool is_too_small = is_moment ? !(ns >= 0) : !(ns >= 1);
  if (is_too_small || ns > kMostNs)
    return fail_usage(fmt::format("{} {}: this is no time", option, text),
                      "a time is above 0 and below 30 years");
  return static_cast<std::uint64_t>(std::llround(ns));
}

// A whole number above 0 at the beginning of `text`, which then begins behind it; 0: there is none.
std::uint64_t take_number(std::string_view& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{})
    return 0;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return number;
}

constexpr std::string_view kSizeUnits = "BKMGT";
constexpr unsigned kBitsPerUnit = 10;

// How many bits a number is shifted by its unit: "k", "MB", "GiB"; an empty one is bytes.
std::optional<unsigned> size_shift(std::string_view unit) {
  if (unit.empty())
    return 0;
  const auto place =
      kSizeUnits.find(static_cast<char>(std::toupper(static_cast<unsigned char>(unit.front()))));
  const std::string_view rest = unit.substr(1);
  if (place == kSizeUnits.npos ||
      !(rest.empty() || (place > 0 && (rest == "B" || rest == "iB" || rest == "b" || rest == "i"))))
    return std::nullopt;
  return static_cast<unsigned>(place) * kBitsPerUnit;
}

} // namespace

Result<std::uint64_t> parse_size(std::string_view option, const std::string& text) {
  if (text.empty())
    return 0;
  std::string_view rest = text;
  const std::uint64_t number = take_number(rest);
  const std::optional<unsigned> shift = size_shift(rest);
  if (number == 0 || !shift || number << *shift >> *shift != number)
    return fail_usage(fmt::format("{} {}: this is no size", option, text),
                      "a size is a whole number above 0 and a unit: 65536, 64K, 64M, 2G");
  return number << *shift;
}

Result<std::uint64_t> parse_count(std::string_view option, const std::string& text) {
  if (text.empty())
    return 0;
  std::string_view rest = text;
  const std::uint64_t number = take_number(rest);
  if (number == 0 || !rest.empty())
    return fail_usage(fmt::format("{} {}: this is no count", option, text),
                      "it takes a whole number above 0, as 20");
  return number;
}

Result<std::uint64_t> parse_duration(std::string_view option, const std::string& text) {
  return parse(option, text, false);
}

Result<std::uint64_t> parse_moment(std::string_view option, const std::string& text) {
  return parse(option, text, true);
}

} // namespace iotrail::cli
