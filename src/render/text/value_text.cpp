// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/value_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "report/sample.hpp"
#include "text/printable.hpp"
#include "text/units.hpp"

namespace iotrail::output {

namespace {

// "x 2.43"; a large one has no decimals: "x 25,025,024".
std::string ratio_text(double ratio) {
  constexpr double kWhole = 1000;
  constexpr double kMost = 1e18;
  return ratio < kWhole || !(ratio < kMost)
             ? fmt::format("x {:.2f}", ratio)
             : "x " + human_count(static_cast<std::uint64_t>(ratio + 0.5));
}

// A mean is printed like a count.
std::uint64_t natural_of(const Value& value) {
  if (const auto* real = std::get_if<double>(&value))
    return *real >= 1e19 ? UINT64_MAX
                         : static_cast<std::uint64_t>(std::llround(std::max(0.0, *real)));
  return number_of(value);
}

std::string number_text(Meaning meaning, std::uint64_t number) {
  switch (meaning) {
  case Meaning::bytes:
    return human_bytes(number);
  case Meaning::ns:
  case Meaning::change:
    return human_duration(number);
  default:
    return human_count(number);
  }
}

// Prints the sign of numbers that may be negative.
std::string signed_text(Meaning meaning, std::int64_t number) {
  return number < 0 ? "-" + number_text(meaning, -static_cast<std::uint64_t>(number))
                    : number_text(meaning, static_cast<std::uint64_t>(number));
}

std::int64_t integer_of(const Value& value) {
  const auto* integer = std::get_if<std::int64_t>(&value);
  return integer ? *integer : static_cast<std::int64_t>(number_of(value));
}

std::string count_text(const Value& value, Meaning meaning, std::uint64_t scale_factor) {
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && *integer < 0)
    return signed_text(meaning, *integer);
  const std::uint64_t number = natural_of(value);
  return fmt::format("{}{}", estimate_mark(number, scale_factor),
                     number_text(meaning, scaled(number, scale_factor)));
}

using ValueText = std::string (*)(const Value&, Meaning);

std::string text_with(const Sentence& sentence, ValueText text_of_value) {
  std::string text;
  std::string_view rest = sentence.pattern;
  while (!rest.empty()) {
    const auto open = std::min(rest.find('{'), rest.size());
    text += rest.substr(0, open);
    rest.remove_prefix(open);
    if (rest.empty())
      break;
    const auto close = std::min(rest.find('}'), rest.size());
    const std::string_view name = rest.substr(1, close - 1);
    const auto found = std::ranges::find(sentence.values, name, &NamedValue::name);
    if (found != sentence.values.end())
      text += text_of_value(found->value, found->meaning);
    rest.remove_prefix(std::min(close + 1, rest.size()));
  }
  return text;
}

// In a cell of a table, as short as values of other cells.
std::string remark_text(const Value& value) {
  const auto* sentences = std::get_if<std::vector<Sentence>>(&value);
  if (sentences == nullptr || sentences->empty())
    return {};
  return text_with(sentences->front(), [](const Value& part, Meaning meaning) {
    return meaning == Meaning::share && is_known(part) ? short_share(real_of(part))
                                                       : value_text(part, meaning);
  });
}

} // namespace

std::string_view estimate_mark(std::uint64_t sum, std::uint64_t scale_factor) {
  return scale_factor > 1 && sum != 0 ? "~" : "";
}

std::string value_text(const Value& value, Meaning meaning, std::uint64_t scale_factor) {
  switch (meaning) {
  case Meaning::path:
  case Meaning::command:
  case Meaning::sentence:
  case Meaning::shell:
  case Meaning::id:
  case Meaning::spans:
    return printable(text_of(value));
  case Meaning::remark:
    return remark_text(value);
  case Meaning::text:
  case Meaning::label:
    return std::holds_alternative<std::vector<Sentence>>(value) ? remark_text(value)
                                                                : printable(text_of(value));
  default:
    break;
  }
  if (!is_known(value))
    return std::string(kDash);
  switch (meaning) {
  case Meaning::second:
    return fmt::format("{:.6f}", real_of(value));
  case Meaning::share:
    return human_share(real_of(value));
  case Meaning::ratio:
    return ratio_text(real_of(value));
  case Meaning::date:
    return human_date(integer_of(value));
  case Meaning::change:
    return (integer_of(value) > 0 ? "+" : "") + signed_text(meaning, integer_of(value));
  case Meaning::status:
    return human_status(static_cast<int>(integer_of(value)));
  default:
    return count_text(value, meaning, scale_factor);
  }
}

std::string sentence_text(const Sentence& sentence) {
  return text_with(sentence,
                   [](const Value& value, Meaning meaning) { return value_text(value, meaning); });
}

std::vector<std::string> sentence_texts(const std::vector<Sentence>& sentences) {
  std::vector<std::string> texts;
  for (const Sentence& sentence : sentences)
    texts.push_back(sentence_text(sentence));
  return texts;
}

} // namespace iotrail::output
