// SPDX-License-Identifier: BSD-3-Clause
#include "report/explain/op_time.hpp"

#include <algorithm>

#include "base/capped_sum.hpp"

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

std::vector<TimeSum> sums_of(const std::vector<TimeShare>& shares) {
  std::vector<TimeSum> sums;
  for (const TimeShare& share : shares) {
    auto sum = std::ranges::find(sums, share.words, &TimeSum::words);
    if (sum == sums.end())
      sum = sums.insert(sums.end(), TimeSum{.words = share.words});
    sum->ns = capped_sum(sum->ns, share.ns);
    sum->parts.push_back(share);
  }
  std::ranges::stable_sort(sums, std::ranges::greater{}, &TimeSum::ns);
  return sums;
}

Sentence time_sentence(const std::vector<TimeShare>& shares, const Span& whole) {
  Sentence text = sentence("Of {duration_ns}: ", {ns_value("duration_ns", whole.length_ns())});
  if (shares.empty())
    return text.add("nothing to tell");
  bool is_first = true;
  for (const auto& [words, ns, parts] : sums_of(shares)) {
    text.add(
        is_first ? "{part} {ns} ({share}" : ", {part} {ns} ({share}",
        {text_value("part", words), ns_value("ns", ns),
         share_value("share", static_cast<double>(ns) / static_cast<double>(whole.length_ns()))});
    for (const TimeShare& part : parts)
      if (parts.size() > 1 && !part.detail.empty())
        text.add(&part == &parts.front() ? "; {detail} {ns}" : ", {detail} {ns}",
                 {text_value("detail", part.detail), ns_value("ns", part.ns)});
      else if (!part.detail.empty())
        text.add("; {detail}", {text_value("detail", part.detail)});
    text.add(")");
    is_first = false;
  }
  return text;
}

} // namespace iotrail::output
