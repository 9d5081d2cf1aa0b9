// SPDX-License-Identifier: BSD-3-Clause
#include "watch/file_log.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace iotrail::watch {

void FileLog::start(std::uint64_t now_ns) {
  if (!std::exchange(is_enabled_, true))
    spans_.push_back({now_ns, UINT64_MAX});
}

void FileLog::stop(std::uint64_t now_ns) {
  if (!std::exchange(is_enabled_, false))
    return;
  spans_.back().until_ns = now_ns;
  if (spans_.back().from_ns >= now_ns)
    spans_.pop_back();
}

void FileLog::reset(std::uint64_t now_ns) {
  kept_.clear();
  current_.clear();
  spans_.clear();
  if (is_enabled_)
    spans_.push_back({now_ns, UINT64_MAX});
}

bool FileLog::covers(std::uint64_t ts_ns) const {
  return std::ranges::any_of(
      spans_, [&](const Span& span) { return span.from_ns <= ts_ns && ts_ns < span.until_ns; });
}

void FileLog::add(LogEntry entry) {
  if (!covers(entry.ts_ns))
    return;
  current_.push_back(std::move(entry));
  if (current_.size() > most_)
    current_.pop_front();
}

void FileLog::keep(std::uint64_t until_ns) {
  std::ranges::move(current_, std::back_inserter(kept_));
  current_.clear();
  while (kept_.size() > most_)
    kept_.pop_front();
  std::erase_if(spans_, [&](const Span& span) { return span.until_ns <= until_ns; });
}

std::vector<LogEntry> FileLog::all() const {
  std::vector<LogEntry> all(kept_.begin(), kept_.end());
  std::ranges::copy(current_, std::back_inserter(all));
  all.erase(all.begin(), all.end() - static_cast<std::ptrdiff_t>(entries()));
  return all;
}

} // namespace iotrail::watch
