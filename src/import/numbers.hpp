// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers in the text of other programs. Empty: the text is no such number, or too large a one.
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace iotrail::import {

template <class Number = std::uint64_t>
std::optional<Number> to_number(std::string_view text, int base = 10) {
  Number number{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number, base);
  if (error != std::errc() || end != text.data() + text.size() || text.empty())
    return std::nullopt;
  return number;
}

// A number as in C: decimal, or hexadecimal behind 0x, or octal behind 0.
inline std::optional<std::uint64_t> to_c_number(std::string_view text) {
  if (text.starts_with("0x") || text.starts_with("0X"))
    return to_number(text.substr(2), 16);
  if (text.size() > 1 && text.starts_with('0'))
    return to_number(text.substr(1), 8);
  if (text.starts_with('-')) {
    const auto number = to_number<std::int64_t>(text);
    return number ? std::optional(static_cast<std::uint64_t>(*number)) : std::nullopt;
  }
  return to_number(text);
}

// A decimal number of units with `unit_ns` nanoseconds each, exact to the nanosecond: "1.25" of
// seconds is 1,250,000,000. `unit_ns` is a power of ten.
inline std::optional<std::uint64_t> to_ns(std::string_view text,
                                          std::uint64_t unit_ns = 1'000'000'000) {
  const std::size_t point = text.find('.');
  const auto whole = to_number(text.substr(0, point));
  if (!whole || *whole > INT64_MAX / unit_ns)
    return std::nullopt;
  std::uint64_t ns = *whole * unit_ns;
  std::uint64_t digit_ns = unit_ns;
  if (point != std::string_view::npos)
    for (const char c : text.substr(point + 1)) {
      if (c < '0' || c > '9')
        return std::nullopt;
      digit_ns /= 10;
      ns += static_cast<std::uint64_t>(c - '0') * digit_ns;
    }
  return ns;
}

// "YYYY-MM-DD HH:MM:SS[.fraction]" of UTC, as nanoseconds since 1970. A T may stand for the blank.
inline std::optional<std::uint64_t> to_date_ns(std::string_view text) {
  if (text.size() < 19 || text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':')
    return std::nullopt;
  const auto part = [&](std::size_t begin, std::size_t size) {
    return to_number<unsigned>(text.substr(begin, size));
  };
  const auto year = part(0, 4);
  const auto month = part(5, 2);
  const auto day = part(8, 2);
  const auto hour = part(11, 2);
  const auto minute = part(14, 2);
  const auto second_ns = to_ns(text.substr(17));
  if (!year || !month || !day || !hour || !minute || !second_ns || *year < 1970 || *month < 1 ||
      *month > 12 || *day < 1 || *day > 31 || *hour > 23 || *minute > 59)
    return std::nullopt;
  // Days since 1970 in the Gregorian calendar, with years that begin in March.
  const unsigned y = *year - (*month <= 2 ? 1 : 0);
  const unsigned m = *month > 2 ? *month - 3 : *month + 9;
  const std::uint64_t days =
      std::uint64_t{y} * 365 + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + *day - 1 - 719468;
  return ((days * 24 + *hour) * 60 + *minute) * 60 * 1'000'000'000 + *second_ns;
}

// The parts of a line between separators; a part may be empty. At most `most` parts: the last one
// has the rest.
inline std::vector<std::string_view> split(std::string_view line, char separator,
                                           std::size_t most = 256) {
  std::vector<std::string_view> parts;
  while (parts.size() + 1 < most) {
    const std::size_t end = line.find(separator);
    if (end == std::string_view::npos)
      break;
    parts.push_back(line.substr(0, end));
    line.remove_prefix(end + 1);
  }
  parts.push_back(line);
  return parts;
}

inline std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// The next word of `line`, which loses it and the blanks before it.
inline std::string_view take_word(std::string_view& line) {
  line = line.substr(std::min(line.find_first_not_of(" \t"), line.size()));
  const std::size_t end = std::min(line.find_first_of(" \t"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// The last word of `line`, which loses it: before it, a program's name may have blanks.
inline std::string_view take_last_word(std::string_view& line) {
  line = trimmed(line);
  const std::size_t blank = line.find_last_of(" \t");
  const std::string_view word = line.substr(blank == std::string_view::npos ? 0 : blank + 1);
  line.remove_suffix(word.size());
  return word;
}

} // namespace iotrail::import
