// SPDX-License-Identifier: BSD-3-Clause
#include "render/text/op_time.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "text/units.hpp"

namespace iotrail::output {

std::uint64_t covered_ns(std::vector<Span> spans, const Span& whole) {
  std::ranges::sort(spans, {}, &Span::begin_ns);
  std::uint64_t covered = 0;
  std::uint64_t reached = whole.begin_ns;
  for (const Span& span : spans) {
    const std::uint64_t begin = std::max(span.begin_ns, reached);
    const std::uint64_t end = std::min(span.end_ns, whole.end_ns);
    if (begin >= end)
      continue;
    covered += end - begin;
    reached = end;
  }
  return covered;
}

std::string time_text(const std::vector<TimeShare>& shares, const Span& whole) {
  const auto all_ns = static_cast<double>(whole.length_ns());
  std::string text;
  for (const auto& [what, ns] : shares)
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", what, human_duration(ns),
                        human_share(static_cast<double>(ns) / all_ns));
  return fmt::format("Of {}: {}", human_duration(whole.length_ns()),
                     text.empty() ? "nothing to tell" : text);
}

} // namespace iotrail::output
