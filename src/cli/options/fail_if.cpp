// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/fail_if.hpp"

#include <charconv>
#include <cmath>

#include "cli/options/parse_units.hpp"

namespace iotrail::cli {
namespace {

using output::Condition;
using output::Meaning;

constexpr std::string_view kOption = "--fail-if";

std::unexpected<Error> bad_condition(const std::string& text, const std::string& why) {
  return fail_usage(fmt::format("{} '{}': {}", kOption, text, why), {},
                    "A condition is METRIC(NAME) > LIMIT, such as 'p99(fdatasync) > 1.2x' or "
                    "'time > 500ms'. Metrics: " +
                        output::metric_names() + ".");
}

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view kBlanks = " \t";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

// "p99(fdatasync)" or "time"
Result<void> parse_metric(std::string_view text, Condition& condition) {
  const auto open = text.find('(');
  const auto metric = output::metric_of(without_blanks(text.substr(0, open)));
  if (!metric)
    return bad_condition(condition.text, fmt::format("'{}' is no metric", text.substr(0, open)));
  condition.metric = *metric;
  if (open == text.npos)
    return {};
  if (!text.ends_with(')') || *metric == output::Metric::run)
    return bad_condition(condition.text, *metric == output::Metric::run
                                             ? "run has no name: it is the length of recordings"
                                             : "')' is missing");
  condition.group = without_blanks(text.substr(open + 1, text.size() - open - 2));
  return {};
}

// "1.2x"; false: no factor.
bool parse_factor(std::string_view text, double& factor) {
  if (!text.ends_with('x'))
    return false;
  const char* end = text.data() + text.size() - 1;
  const auto [stopped, problem] = std::from_chars(text.data(), end, factor);
  return problem == std::errc{} && stopped == end && std::isfinite(factor) && factor >= 0;
}

Result<void> parse_limit(std::string_view text, Condition& condition) {
  condition.is_ratio = parse_factor(text, condition.limit);
  if (condition.is_ratio)
    return {};
  if (text == "0") {
    condition.limit = 0;
    return {};
  }
  const std::string limit(text);
  const Meaning meaning = output::meaning_of(condition.metric);
  const auto number = meaning == Meaning::bytes   ? parse_size(kOption, limit)
                      : meaning == Meaning::count ? parse_count(kOption, limit)
                                                  : parse_duration(kOption, limit);
  if (!number || text.empty())
    return bad_condition(condition.text,
                         fmt::format("'{}' is no limit such as 1.2x, 500ms, 64M or 20", text));
  condition.limit = static_cast<double>(*number);
  return {};
}

} // namespace

Result<Condition> parse_condition(const std::string& text) {
  Condition condition{.text = text};
  const auto sign = text.find_last_of("<>"); // a name may have one, a limit has none
  if (sign == text.npos)
    return bad_condition(text, "'>' or '<' is missing");
  condition.is_above = text[sign] == '>';
  condition.is_inclusive = text.substr(sign + 1).starts_with('=');
  const std::string_view all(text);
  const Result<void> metric = parse_metric(without_blanks(all.substr(0, sign)), condition);
  if (!metric)
    return std::unexpected(metric.error());
  const Result<void> limit =
      parse_limit(without_blanks(all.substr(sign + 1 + condition.is_inclusive)), condition);
  if (!limit)
    return std::unexpected(limit.error());
  return condition;
}

} // namespace iotrail::cli
