// SPDX-License-Identifier: BSD-3-Clause
//
// A bar on standard error while a long work lasts. It begins only after half a second, and only on
// a terminal. Its end removes it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "base/progress.hpp"
#include "cli/console.hpp"

namespace iotrail::cli {

// "[#####     ]  50 %", `width` columns wide at most.
std::string bar_text(double share, std::size_t width);

class ProgressBar {
public:
  // `share` returns the part that is done, from 0 to 1. Another thread calls it.
  ProgressBar(const Stream& err, std::function<double()> share,
              std::chrono::nanoseconds delay = std::chrono::milliseconds(500));
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;
  ~ProgressBar();

private:
  void draw(const std::stop_token& stop, std::chrono::nanoseconds delay);

  Stream err_;
  std::function<double()> share_;
  std::size_t columns_ = 0; // drawn, at most
  std::mutex mutex_;
  std::condition_variable_any woken_;
  std::jthread thread_; // last: it uses the others
};

// Shows the progress of `work`, which takes so many steps, and returns its result.
template <class Work>
auto with_progress_bar(const Stream& err, Progress& progress, std::uint64_t steps,
                       const Work& work) {
  progress.expect(steps);
  const ProgressBar bar(err, [&] { return progress.share(); });
  return work();
}

} // namespace iotrail::cli
