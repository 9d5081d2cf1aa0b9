// SPDX-License-Identifier: BSD-3-Clause
#include "cli/progress_bar.hpp"

#include <algorithm>
#include <system_error>

#include <fmt/format.h>

namespace iotrail::cli {

namespace {

constexpr std::chrono::milliseconds kInterval{100};
constexpr std::size_t kWidest = 50;

} // namespace

std::string bar_text(double share, std::size_t width) {
  constexpr std::size_t kOthers = 8; // "[]", a blank, "100 %"
  const double part = std::clamp(share, 0.0, 1.0);
  const auto percent = static_cast<unsigned>(part * 100);
  if (width <= kOthers)
    return fmt::format("{:3} %", percent);
  const std::size_t cells = std::min(width, kWidest) - kOthers;
  const auto filled = static_cast<std::size_t>(part * static_cast<double>(cells));
  return fmt::format("[{:{}}] {:3} %", std::string(filled, '#'), cells, percent);
}

ProgressBar::ProgressBar(const Stream& err, std::function<double()> share,
                         std::chrono::nanoseconds delay)
    : err_(err), share_(std::move(share)) {
  if (!err_.is_terminal())
    return;
  try {
    thread_ = std::jthread([this, delay](const std::stop_token& stop) { draw(stop, delay); });
  } catch (const std::system_error&) { // no thread: the work goes without the bar
  }
}

ProgressBar::~ProgressBar() {
  if (!thread_.joinable())
    return;
  thread_.request_stop();
  thread_.join();
  if (columns_ > 0) { // by blanks: not every terminal knows a code for it
    fmt::print(err_.file, "\r{:{}}\r", "", columns_);
    std::fflush(err_.file);
  }
}

void ProgressBar::draw(const std::stop_token& stop, std::chrono::nanoseconds delay) {
  std::unique_lock lock(mutex_);
  std::chrono::nanoseconds next = delay;
  while (!woken_.wait_for(lock, stop, next, [] { return false; }) && !stop.stop_requested()) {
    const std::string text = bar_text(share_(), err_.width() - 1);
    fmt::print(err_.file, "\r{:{}}", text, columns_);
    std::fflush(err_.file);
    columns_ = std::max(columns_, text.size());
    next = kInterval;
  }
}

} // namespace iotrail::cli
