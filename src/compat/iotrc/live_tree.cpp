// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrc/live_tree.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <system_error>

#include "analysis/engine/engine.hpp"
#include "base/clock.hpp"

namespace iotrail::compat::iotrc {
namespace {

constexpr std::uint64_t kPassNs = 2'000'000'000; // between two looks at the trace, at least
// Passes take at most this part of a processor. A pass gets longer with the trace: names of files
// come from all of it.
constexpr std::uint64_t kOneIn = 20;
// The recorder writes a row to the disk at most a second after its event, unless the disk is busy.
constexpr std::uint64_t kLagNs = 3'000'000'000;
constexpr std::uint64_t kMemoryBytes = 512U << 20U;
constexpr int kNice = 5; // the recorder has a better priority

} // namespace

LiveTree::LiveTree(output::iotrc::Options options, std::filesystem::path directory,
                   std::filesystem::path trace, std::function<void(const Error&)> on_trouble)
    : tree_(std::move(options)), directory_(std::move(directory)), trace_(std::move(trace)),
      on_trouble_(std::move(on_trouble)) {}

void LiveTree::start() {
  try {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  } catch (const std::system_error&) { // the tree comes at the end
  }
}

void LiveTree::run(const std::stop_token& stop) {
  ::setpriority(PRIO_PROCESS, static_cast<id_t>(::gettid()), kNice);
  std::mutex mutex;
  std::condition_variable_any wake;
  bool has_failed = false;
  for (std::uint64_t wait_ns = kPassNs;;) {
    {
      std::unique_lock lock(mutex);
      if (wake.wait_for(lock, stop, std::chrono::nanoseconds(wait_ns),
                        [&] { return stop.stop_requested(); }) ||
          stop.stop_requested())
        return;
    }
    const std::uint64_t begin_ns = monotonic_ns();
    if (const auto done = pass(); !done && !has_failed) {
      has_failed = true;
      on_trouble_(done.error());
    }
    wait_ns = std::max(kPassNs, (monotonic_ns() - begin_ns) * kOneIn);
  }
}

Result<void> LiveTree::pass() {
  const std::uint64_t until_ns = monotonic_ns() - kLagNs;
  const auto engine = analysis::Engine::open(trace_, {.threads = 1, .memory_bytes = kMemoryBytes});
  if (!engine)
    return std::unexpected(engine.error());
  const std::uint64_t opened_ns = monotonic_ns();
  const output::OutputDirectory directory(directory_);
  const auto written = tree_.advance({.engine = **engine}, directory, opened_ns, until_ns);
  if (!written)
    return std::unexpected(written.error());
  if (*written)
    directory.keep();
  return {};
}

Result<output::iotrc::Written> LiveTree::finish() {
  if (thread_.joinable()) {
    thread_.request_stop();
    thread_.join();
  }
  const auto engine = analysis::Engine::open(trace_);
  if (!engine)
    return std::unexpected(engine.error());
  const output::OutputDirectory directory(directory_);
  auto written = tree_.finish({.engine = **engine}, directory);
  if (written)
    directory.keep();
  return written;
}

} // namespace iotrail::compat::iotrc
