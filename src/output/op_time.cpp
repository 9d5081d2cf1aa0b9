// SPDX-License-Identifier: BSD-3-Clause
#include "output/op_time.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "output/units.hpp"

namespace iotrail::output {

namespace {

// The parts of `spans` that lie in one of `masks`.
std::vector<Span> common_parts(const std::vector<Span>& spans, const std::vector<Span>& masks) {
  std::vector<Span> parts;
  for (const Span& span : spans)
    for (const Span& mask : masks) {
      const Span part{std::max(span.begin_ns, mask.begin_ns), std::min(span.end_ns, mask.end_ns)};
      if (part.length_ns() != 0)
        parts.push_back(part);
    }
  return parts;
}

struct Candidate {
  std::string what;
  std::vector<Span> spans;
};

// What devices and journals did is a reason only for the time in which the task waited.
std::vector<Candidate> candidates(const OpTime& time) {
  std::vector<Span> waited;
  for (const Waits& waits : time.waits)
    waited.insert(waited.end(), waits.spans.begin(), waits.spans.end());
  std::vector<Candidate> all;
  const auto add = [&](std::string_view what, const std::vector<Span>& spans) {
    all.push_back({std::string(what), time.are_waits_known ? common_parts(spans, waited) : spans});
  };
  add("the device", time.device);
  add("waiting for the device in its queue", time.queue);
  add("the journal's commit besides", time.journal);
  for (const Waits& waits : time.waits)
    all.push_back({fmt::format("waiting ({})", waits.reason), waits.spans});
  add("its system calls", time.calls);
  add("being submitted", time.submit);
  add("with a worker of the kernel", time.worker);
  add("done, and the program not told yet", time.untold);
  return all;
}

std::string_view rest_of(const OpTime& time) {
  if (time.is_library_known)
    return "the C library itself";
  return time.are_waits_known ? "its task ran" : "everything else, work and waits in the kernel";
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

std::vector<TimeShare> share_time(const OpTime& time, const Span& whole) {
  std::vector<TimeShare> shares;
  std::vector<Span> counted;
  std::uint64_t counted_ns = 0;
  const auto add = [&](std::string_view what, std::uint64_t ns) {
    if (ns != 0)
      shares.push_back({std::string(what), ns});
  };
  for (const Candidate& candidate : candidates(time)) {
    counted.insert(counted.end(), candidate.spans.begin(), candidate.spans.end());
    const std::uint64_t covered = covered_ns(counted, whole);
    add(candidate.what, covered - counted_ns);
    counted_ns = covered;
  }
  add(rest_of(time), whole.length_ns() - counted_ns);
  return shares;
}

std::string time_text(const OpTime& time, const Span& whole) {
  const auto all_ns = static_cast<double>(whole.length_ns());
  std::string text;
  for (const auto& [what, ns] : share_time(time, whole))
    text += fmt::format("{}{} {} ({})", text.empty() ? "" : ", ", what, human_duration(ns),
                        human_share(static_cast<double>(ns) / all_ns));
  return fmt::format("Of {}: {}", human_duration(whole.length_ns()),
                     text.empty() ? "nothing to tell" : text);
}

} // namespace iotrail::output
