// SPDX-License-Identifier: BSD-3-Clause
#include "report/document.hpp"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include "base/shell_word.hpp"

namespace iotrail::output {

namespace {

constexpr std::string_view kMeaningNames[] = {
    "text",   "path",   "command", "sentence", "shell", "id",     "count", "bytes",  "ns",
    "change", "second", "share",   "ratio",    "date",  "status", "spans", "remark", "label"};
static_assert(std::size(kMeaningNames) == static_cast<std::size_t>(Meaning::label) + 1);

struct PlainText {
  std::string operator()(std::monostate) const { return {}; }
  std::string operator()(bool is_true) const { return is_true ? "true" : "false"; }
  std::string operator()(const std::string& text) const { return text; }
  std::string operator()(const JsonText& json) const { return json.text; }
  std::string operator()(const Spans&) const { return {}; }
  std::string operator()(const std::vector<Sentence>&) const { return {}; }
  std::string operator()(auto number) const { return fmt::format("{}", number); }
};

// Replaces {from} by {to} in `pattern`.
void rename(std::string& pattern, const std::string& from, const std::string& to) {
  const std::string mark = "{" + from + "}";
  for (auto at = pattern.find(mark); at != pattern.npos; at = pattern.find(mark, at + to.size()))
    pattern.replace(at + 1, from.size(), to);
}

} // namespace

std::string_view meaning_name(Meaning meaning) {
  return kMeaningNames[static_cast<std::size_t>(meaning)];
}

std::uint64_t number_of(const Value& value) {
  if (const auto* natural = std::get_if<std::uint64_t>(&value))
    return *natural;
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<std::uint64_t>(std::max<std::int64_t>(0, *integer));
  return 0;
}

double real_of(const Value& value) {
  if (const auto* natural = std::get_if<std::uint64_t>(&value))
    return static_cast<double>(*natural);
  if (const auto* integer = std::get_if<std::int64_t>(&value))
    return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&value))
    return *real;
  return 0;
}

std::string text_of(const Value& value) {
  return std::visit(PlainText{}, value);
}

Sentence& Sentence::add(std::string_view more, std::vector<NamedValue> named) {
  std::string appended(more);
  for (NamedValue& value : named) {
    const std::string name = value.name;
    for (int number = 2; std::ranges::find(values, value.name, &NamedValue::name) != values.end();
         ++number)
      value.name = fmt::format("{}_{}", name, number);
    if (value.name != name)
      rename(appended, name, value.name);
    values.push_back(std::move(value));
  }
  pattern += appended;
  return *this;
}

Sentence sentence(std::string_view pattern, std::vector<NamedValue> named) {
  Sentence made;
  made.add(pattern, std::move(named));
  return made;
}

Sentence only(NamedValue value) {
  const std::string pattern = "{" + value.name + "}";
  return sentence(pattern, {std::move(value)});
}

Sentence command_on(std::string_view pattern, const std::string& trace) {
  return only({"command", fmt::format(fmt::runtime(pattern), shell_word(trace)), Meaning::shell});
}

} // namespace iotrail::output
