// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/decode.hpp"

#include <cstring>

#include <fmt/format.h>

#include "schema.hpp"

namespace iotrail::analysis {

namespace {

// Sets of flags whose lowest bits are one choice out of several, not bits of their own.
struct Choice {
  std::string_view table;
  std::uint64_t mask;
};
constexpr Choice kChoices[] = {{"open", 3}, {"block", 255}};

constexpr std::uint64_t choice_mask(std::string_view table) {
  for (const Choice& choice : kChoices)
    if (choice.table == table)
      return choice.mask;
  return 0;
}

std::string_view name_of(std::string_view table, std::uint64_t number) {
  if (number > UINT32_MAX)
    return {};
  const auto small = static_cast<std::uint32_t>(number);
  if (table == "layer")
    return schema::layer_name(small);
  if (table == "counter") {
    const schema::Counter* counter = schema::find_counter(small);
    return counter ? counter->name : std::string_view{};
  }
  return schema::value_name(table, small);
}

void add_word(std::string& text, std::string_view word) {
  if (!text.empty())
    text += '|';
  text += word;
}

// Takes the names of all bits that `table` knows; returns the bits it does not know.
std::uint64_t add_bits(std::string& text, std::string_view table, std::uint64_t bits) {
  for (const schema::Value& value : schema::kValues) {
    if (value.table != table || value.number == 0 || (bits & value.number) != value.number)
      continue;
    add_word(text, value.name);
    bits &= ~static_cast<std::uint64_t>(value.number);
  }
  return bits;
}

std::string_view after_prefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : std::string_view{};
}

} // namespace

std::string value_text(std::string_view table, std::uint64_t number) {
  const std::string_view name = name_of(table, number);
  return name.empty() ? fmt::format("{}", number) : std::string(name);
}

std::string flags_text(std::string_view table, std::uint64_t flags) {
  std::string text;
  const std::uint64_t mask = choice_mask(table);
  if (mask != 0)
    text = value_text(table, flags & mask);
  std::uint64_t rest = add_bits(text, table, flags & ~mask);
  rest = add_bits(text, fmt::format("{}_hint", table), rest);
  if (rest != 0)
    add_word(text, fmt::format("{:#x}", rest));
  return text.empty() ? "0" : text;
}

std::string errno_name(std::int64_t error) {
  if (error >= 0)
    return {};
  const char* name = error >= -INT32_MAX ? strerrorname_np(static_cast<int>(-error)) : nullptr;
  return name ? name : fmt::format("{}", error);
}

std::string device_number_text(std::uint64_t device) {
  return fmt::format("{}:{}", device >> 20U, device & 0xfffffU);
}

std::string_view value_table_of(std::string_view meaning) {
  return after_prefix(meaning, "value_");
}

std::string_view flags_table_of(std::string_view meaning) {
  return after_prefix(meaning, "flags_");
}

} // namespace iotrail::analysis
