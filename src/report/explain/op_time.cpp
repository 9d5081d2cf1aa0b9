// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/op_time.hpp"

#include <algorithm>

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

Sentence time_sentence(const std::vector<TimeShare>& shares, const Span& whole) {
  Sentence text = sentence("Of {duration_ns}: ", {ns_value("duration_ns", whole.length_ns())});
  if (shares.empty())
    return text.add("nothing to tell");
  for (const auto& [what, ns] : shares)
    text.add(
        &ns == &shares.front().ns ? "{part} {ns} ({share})" : ", {part} {ns} ({share})",
        {text_value("part", what), ns_value("ns", ns),
         share_value("share", static_cast<double>(ns) / static_cast<double>(whole.length_ns()))});
  return text;
}

} // namespace iotrail::output
