// SPDX-License-Identifier: BSD-3-Clause
#include "export/model/fio_mix.hpp"

#include <algorithm>
#include <functional>
#include <numeric>

#include <fmt/format.h>

namespace iotrail::output {

std::vector<unsigned> percentages(const std::vector<std::uint64_t>& counts) {
  std::vector<unsigned> shares(counts.size());
  long double all = 0;
  for (const std::uint64_t count : counts)
    all += static_cast<long double>(count);
  if (all == 0)
    return shares;
  std::vector<std::size_t> by_rest(counts.size());
  std::iota(by_rest.begin(), by_rest.end(), 0);
  const auto exact = [&](std::size_t i) { return static_cast<long double>(counts[i]) * 100 / all; };
  unsigned given = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    shares[i] = static_cast<unsigned>(exact(i));
    given += shares[i];
  }
  std::ranges::stable_sort(by_rest, std::greater<>(),
                           [&](std::size_t i) { return exact(i) - shares[i]; });
  for (std::size_t i = 0; given < 100 && i < by_rest.size(); ++i, ++given)
    ++shares[by_rest[i]];
  return shares;
}

void FioMix::add_transfer(const FioAction& action) {
  in_order_ += action.position == expected_ ? 1 : 0;
  expected_ = action.position + action.bytes;
  ++transfers_;
  bytes_ += action.bytes;
  ++sizes_[action.bytes];
  constexpr long double kLast = kZones - 1;
  const long double place =
      static_cast<long double>(action.position) * kZones / static_cast<long double>(file_bytes_);
  ++zones_[static_cast<std::size_t>(std::min(kLast, place))];
  first_us_ = std::min(first_us_, action.at_us);
  last_us_ = std::max(last_us_, action.until_us);
  while (!in_progress_.empty() && in_progress_.top() <= action.at_us)
    in_progress_.pop();
  in_progress_.push(action.until_us);
  depth_ = std::max(depth_, in_progress_.size());
}

void FioMix::add(const FioAction& action) {
  if (action.kind == FioKind::sync)
    ++syncs_;
  else if (action.kind == FioKind::datasync)
    ++datasyncs_;
  else
    add_transfer(action);
}

// fio takes up to 64 sizes. The rarest are counted as their next larger neighbour.
std::string FioMix::sizes_text() const {
  constexpr std::size_t kMostSizes = 60;
  std::vector<std::uint64_t> most;
  for (const auto& [bytes, count] : sizes_)
    most.push_back(count);
  std::ranges::sort(most, std::greater<>());
  const std::uint64_t least = most.size() > kMostSizes ? most[kMostSizes - 1] : 0;
  std::vector<std::uint64_t> kept;
  std::vector<std::uint64_t> counts;
  std::uint64_t waiting = 0;
  std::uint64_t seen = 0;
  for (const auto& [bytes, count] : sizes_) {
    const bool is_last = ++seen == sizes_.size();
    waiting += count;
    if ((count >= least && kept.size() < kMostSizes) || is_last) {
      kept.push_back(bytes);
      counts.push_back(waiting);
      waiting = 0;
    }
  }
  const std::vector<unsigned> shares = percentages(counts);
  std::string text;
  for (std::size_t i = 0; i < kept.size(); ++i)
    if (shares[i] != 0)
      text += fmt::format("{}{}/{}", text.empty() ? "" : ":", kept[i], shares[i]);
  return text;
}

// The share of operations in each tenth of the file.
std::string FioMix::places_text() const {
  std::string text;
  for (const unsigned share : percentages({zones_.begin(), zones_.end()}))
    text += fmt::format("{}{}/{}", text.empty() ? "" : ":", share, 100 / kZones);
  return text;
}

// Operations a second; 0: unknown.
std::uint64_t FioMix::rate() const {
  const std::uint64_t us = last_us_ - std::min(last_us_, first_us_);
  if (us < 1000)
    return 0;
  const long double all = static_cast<long double>(transfers_) * 1'000'000;
  const long double each = all / static_cast<long double>(us) / static_cast<long double>(depth_);
  return std::max<std::uint64_t>(1, static_cast<std::uint64_t>(each));
}

std::string FioMix::job(const std::string& file) const {
  const bool is_random = in_order_ * 2 < transfers_;
  std::string text =
      fmt::format("filename={}\nfilesize={}\nrw={}{}\nbssplit={}\nbs_unaligned=1\nnumjobs={}"
                  "\nnumber_ios={}\nio_size={}\n",
                  file, file_bytes_, is_random ? "rand" : "", is_read_ ? "read" : "write",
                  sizes_text(), depth_, (transfers_ + depth_ - 1) / depth_, 2 * bytes_);
  if (is_random)
    text += fmt::format("norandommap=1\nrandom_distribution=zoned:{}\n", places_text());
  if (rate() != 0)
    text += fmt::format("rate_iops={}\n", rate());
  if (syncs_ != 0)
    text += fmt::format("fsync={}\n", std::max<std::uint64_t>(1, transfers_ / syncs_));
  if (datasyncs_ != 0)
    text += fmt::format("fdatasync={}\n", std::max<std::uint64_t>(1, transfers_ / datasyncs_));
  return text;
}

} // namespace iotrail::output
