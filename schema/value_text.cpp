// SPDX-License-Identifier: BSD-3-Clause
#include "value_text.hpp"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

namespace iotrail::schema {

namespace {

// The name of the row with that id, in the file that the meaning says.
std::string_view row_name(Meaning meaning, std::uint64_t id) {
  const auto small = static_cast<std::uint32_t>(std::min(id, std::uint64_t{UINT32_MAX}));
  if (meaning == Meaning::value_layer)
    return layer_name(small);
  if (meaning == Meaning::value_counter) {
    const Counter* counter = find_counter(small);
    return counter ? counter->name : std::string_view{};
  }
  const Event* event =
      small <= UINT16_MAX ? find_event(static_cast<std::uint16_t>(small)) : nullptr;
  return event ? event->name : std::string_view{};
}

std::string name_or_number(std::string_view name, std::uint64_t number) {
  return name.empty() ? fmt::format("{}", number) : std::string(name);
}

void add_word(std::string& text, std::string_view word) {
  if (!text.empty())
    text += '|';
  text += word;
}

// Takes the names of all bits that `table` knows; returns the bits it does not know.
std::uint64_t add_bits(std::string& text, std::string_view table, std::uint64_t bits) {
  for (const Value& value : kValues) {
    if (value.table != table || value.number == 0 || (bits & value.number) != value.number)
      continue;
    add_word(text, value.name);
    bits &= ~static_cast<std::uint64_t>(value.number);
  }
  return bits;
}

std::string device_text(std::uint64_t device) {
  return fmt::format("{}:{}", device >> IOT_MINOR_BITS, device & ((1U << IOT_MINOR_BITS) - 1));
}

std::string result_text(std::int64_t result) {
  return result < 0 ? errno_name(result) : fmt::format("{}", result);
}

} // namespace

Wording wording(Meaning meaning) {
  if (info(meaning).kind != MeaningKind::number)
    return is_flag_set(meaning) ? Wording::flags : Wording::value;
  if (is_result(meaning))
    return Wording::result;
  switch (meaning) {
  case Meaning::device:
    return Wording::device;
  case Meaning::mode:
    return Wording::mode;
  case Meaning::address:
  case Meaning::bio:
  case Meaning::request:
    return Wording::handle;
  default:
    return Wording::number;
  }
}

bool has_value(Meaning meaning, Type type, std::uint64_t number) {
  if (!may_lack_value(meaning))
    return true;
  if (meaning == Meaning::sector)
    return number != UINT64_MAX;
  const bool is_minus_one = info(type).size_bytes == sizeof(std::uint32_t)
                                ? static_cast<std::uint32_t>(number) == UINT32_MAX
                                : number == UINT64_MAX;
  return !info(type).is_signed || !is_minus_one;
}

std::string number_text(Meaning meaning, std::uint64_t number) {
  switch (wording(meaning)) {
  case Wording::value:
    return info(meaning).kind == MeaningKind::row
               ? name_or_number(row_name(meaning, number), number)
               : value_text(value_table(meaning), number);
  case Wording::flags:
    return flags_text(value_table(meaning), number);
  case Wording::device:
    return device_text(number);
  case Wording::mode:
    return fmt::format("{:#o}", number);
  case Wording::handle:
    return fmt::format("{:#x}", number);
  case Wording::result:
    return result_text(static_cast<std::int64_t>(number));
  case Wording::number:
    break;
  }
  return fmt::format("{}", number);
}

std::string value_text(std::string_view table, std::uint64_t number) {
  const bool is_small = number <= UINT32_MAX;
  return name_or_number(is_small ? value_name(table, static_cast<std::uint32_t>(number)) : "",
                        number);
}

std::string choice_text(std::string_view table, std::uint64_t flags) {
  const std::uint64_t mask = choice_mask(table);
  return mask == 0 ? "" : value_text(table, flags & mask);
}

std::string flags_text(std::string_view table, std::uint64_t flags) {
  std::string text = choice_text(table, flags);
  const std::uint64_t rest =
      add_bits(text, bits_table(table), flags & ~std::uint64_t{choice_mask(table)});
  if (rest != 0)
    add_word(text, fmt::format("{:#x}", rest));
  return text.empty() ? "0" : text;
}

std::string_view bits_table(std::string_view table) {
  const auto* choice = std::ranges::find(kChoices, table, &Choice::table);
  return choice == std::end(kChoices) ? table : choice->bits;
}

std::string op_text(std::uint64_t op) {
  const std::uint64_t maker = op >> IOT_OP_MAKER_SHIFT;
  const std::uint64_t number = op & ((1ULL << IOT_OP_MAKER_SHIFT) - 1);
  if (maker == IOT_OP_FUSE)
    return fmt::format("f0.{}", number);
  const bool is_preload = (maker & IOT_OP_PRELOAD) != 0;
  return fmt::format("{}{}.{}", is_preload ? "p" : "", maker & ~IOT_OP_PRELOAD, number);
}

std::string errno_name(std::int64_t error) {
  if (error >= 0)
    return {};
  if (error == IOT_UNFINISHED)
    return "unfinished";
  const char* name = error >= -INT32_MAX ? strerrorname_np(static_cast<int>(-error)) : nullptr;
  return name ? name : fmt::format("{}", error);
}

} // namespace iotrail::schema
