// SPDX-License-Identifier: BSD-3-Clause
#include "output/op_time.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "output/units.hpp"

namespace iotrail::output {

namespace {

std::vector<Span> joined(std::vector<Span> spans, const std::vector<Span>& more) {
  spans.insert(spans.end(), more.begin(), more.end());
  return spans;
}

} // namespace

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

TimeShares share_time(const OpTime& time, const Span& whole) {
  const std::vector<Span> below = joined(time.device, time.queue);
  const std::uint64_t device_ns = covered_ns(time.device, whole);
  const std::uint64_t below_ns = covered_ns(below, whole);
  const std::uint64_t all_ns = covered_ns(joined(below, time.journal), whole);
  return {device_ns, below_ns - device_ns, all_ns - below_ns, whole.length_ns() - all_ns};
}

std::string time_text(const OpTime& time, const Span& whole) {
  const TimeShares shares = share_time(time, whole);
  const std::uint64_t all_ns = whole.length_ns();
  std::string text;
  const auto add = [&](std::string_view what, std::uint64_t ns) {
    if (ns != 0)
      text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", what, human_duration(ns),
                          human_share(static_cast<double>(ns) / static_cast<double>(all_ns)));
  };
  add("the device", shares.device_ns);
  add("waiting for the device in its queue", shares.queue_ns);
  add("the journal's commit besides", shares.journal_ns);
  add("everything else, work and waits in the kernel", shares.rest_ns);
  return fmt::format("Of {}: {}", human_duration(all_ns), text.empty() ? "nothing to tell" : text);
}

} // namespace iotrail::output
