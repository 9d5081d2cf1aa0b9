// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/findings/rule.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include "base/nearest_name.hpp"

namespace iotrail::analysis {

namespace {

std::string_view trimmed(std::string_view text) {
  const auto begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos)
    return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

// Splits off what precedes `separator`; all of the text if there is none.
std::string_view take_until(std::string_view& text, std::string_view separator) {
  const auto end = std::min(text.find(separator), text.size());
  const std::string_view taken = text.substr(0, end);
  text.remove_prefix(std::min(end + separator.size(), text.size()));
  return trimmed(taken);
}

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value) ||
      value < 0)
    return std::nullopt;
  return value;
}

std::optional<FindingSeverity> severity_of(std::string_view name) {
  for (const auto severity :
       {FindingSeverity::critical, FindingSeverity::warning, FindingSeverity::note})
    if (severity_name(severity) == name)
      return severity;
  return std::nullopt;
}

// "calls = 1000; fewer calls are no finding"
bool add_rule_limit(std::string_view text, Rule& rule) {
  RuleLimit limit{.name = std::string(take_until(text, "=")), .meaning = {}};
  const auto value = number_of(take_until(text, ";"));
  limit.meaning = trimmed(text);
  limit.value = value.value_or(0);
  const bool is_whole = value && !limit.name.empty() && !limit.meaning.empty();
  rule.limits.push_back(std::move(limit));
  return is_whole;
}

void add_needs(std::string_view text, Rule& rule) {
  while (!text.empty())
    rule.needs.emplace_back(take_until(text, ","));
}

// "calls >= $calls" or "calls"
bool add_rule_rows(std::string_view text, Rule& rule) {
  RuleRows rows{std::string(take_until(text, ">= $")), {}};
  rows.limit = trimmed(text);
  const bool is_whole =
      !rows.of.empty() && (rows.limit.empty() || find_limit(rule, rows.limit) != nullptr);
  rule.rows.push_back(std::move(rows));
  return is_whole;
}

bool set_fact(std::string_view fact, std::string_view value, Rule& rule) {
  if (value.empty())
    return false;
  if (fact == "id")
    rule.id = value;
  else if (fact == "title")
    rule.title = value;
  else if (fact == "shown") // the page's (report/page/place.hpp)
    return true;
  else if (fact == "merges")
    rule.merges = value;
  else if (fact == "sentence")
    rule.sentence = value;
  else if (fact == "advice")
    rule.advice = value;
  else if (fact == "needs")
    add_needs(value, rule);
  else if (fact == "limit")
    return add_rule_limit(value, rule);
  else if (fact == "rows")
    return add_rule_rows(value, rule);
  else if (const auto severity = severity_of(value); fact == "severity" && severity)
    rule.severity = *severity;
  else
    return false;
  return true;
}

// The facts of the comment lines at the head, one string each, continued lines joined.
std::vector<std::string> facts_of(std::string_view& text) {
  constexpr std::string_view kContinued = "--   ";
  std::vector<std::string> facts;
  while (text.starts_with("--")) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.starts_with(kContinued) && !facts.empty())
      facts.back() += " " + std::string(trimmed(line.substr(kContinued.size())));
    else
      facts.emplace_back(trimmed(line.substr(2)));
  }
  return facts;
}

bool is_of_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// A DOUBLE, so that a product with a number of a forged trace cannot overflow.
std::string literal(double value) {
  return fmt::format("CAST({} AS DOUBLE)", value);
}

std::vector<std::string> limit_names() {
  std::vector<std::string> names;
  for (const Rule& rule : finding_rules())
    for (const RuleLimit& limit : rule.limits)
      names.push_back(rule.id + "." + limit.name);
  return names;
}

} // namespace

std::string_view severity_name(FindingSeverity severity) {
  switch (severity) {
  case FindingSeverity::critical:
    return "critical";
  case FindingSeverity::warning:
    return "warning";
  case FindingSeverity::note:
    return "note";
  }
  return "";
}

Result<Rule> parse_rule(const RuleFile& file) {
  const std::string what = fmt::format("findings/{}.sql", file.name);
  Rule rule;
  rule.name = file.name;
  std::string_view text = file.text;
  for (const std::string& line : facts_of(text)) {
    std::string_view value = line;
    const std::string_view fact = take_until(value, ":");
    if (!set_fact(fact, trimmed(value), rule))
      return fail(what, fmt::format("its line '{}' is no fact of a rule", line));
  }
  rule.sql = text;
  if (rule.id.empty() || rule.title.empty() || rule.sentence.empty() || rule.advice.empty() ||
      rule.needs.empty() || rule.sql.empty())
    return fail(what, "it lacks its id, title, needs, sentence, advice or SELECT");
  return rule;
}

std::span<const Rule> finding_rules() {
  static const std::vector<Rule> rules = [] {
    std::vector<Rule> parsed;
    for (const RuleFile& file : rule_files()) {
      auto rule = parse_rule(file);
      IOTRAIL_CHECK(rule.has_value());
      parsed.push_back(std::move(*rule));
    }
    std::ranges::sort(parsed, {}, &Rule::id);
    return parsed;
  }();
  return rules;
}

Result<void> add_limit(std::string_view text, Limits& limits) {
  const std::string what = fmt::format("--limit {}", text);
  const std::string name(take_until(text, "="));
  const auto value = number_of(text);
  const auto names = limit_names();
  if (std::ranges::find(names, name) == names.end()) {
    const std::string nearest = did_you_mean(name, names);
    return fail_usage(what, "no rule has such a limit",
                      nearest.empty() ? "`iotrail query TRACE \"FROM finding_limits\"` lists them."
                                      : nearest);
  }
  if (!value)
    return fail_usage(what, "its value must be a number from 0 on", "For example F01.calls=500.");
  limits[name] = *value;
  return {};
}

const RuleLimit* find_limit(const Rule& rule, std::string_view name) {
  const auto found = std::ranges::find(rule.limits, name, &RuleLimit::name);
  return found == rule.limits.end() ? nullptr : &*found;
}

double limit_value(const Rule& rule, const RuleLimit& limit, const Limits& limits) {
  const auto found = limits.find(rule.id + "." + limit.name);
  return found == limits.end() ? limit.value : found->second;
}

std::string rule_view_sql(const Rule& rule, const Limits& limits) {
  return fmt::format("CREATE VIEW finding_{} AS\n{}", rule.name, rule_sql(rule, limits));
}

std::string rule_sql(const Rule& rule, const Limits& limits) {
  std::string sql;
  const std::string_view text = rule.sql;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '$') {
      sql += text[at++];
      continue;
    }
    std::size_t end = at + 1;
    while (end < text.size() && is_of_name(text[end]))
      ++end;
    const RuleLimit* limit = find_limit(rule, text.substr(at + 1, end - at - 1));
    IOTRAIL_CHECK(limit != nullptr);
    sql += literal(limit_value(rule, *limit, limits));
    at = end;
  }
  return sql;
}

} // namespace iotrail::analysis
