// SPDX-License-Identifier: BSD-3-Clause
//
// The tree of a recording that runs: a thread of its own reads the trace again and again, and writes
// the parts that are due. The recorder does not wait for it.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>

#include "base/result.hpp"
#include "export/iotrc/tree.hpp"

namespace iotrail::compat::iotrc {

class LiveTree {
public:
  // `directory` exists. `on_trouble` gets, from the thread, the error of the first pass that fails:
  // later passes write the same rows.
  LiveTree(output::iotrc::Options options, std::filesystem::path directory,
           std::filesystem::path trace, std::function<void(const Error&)> on_trouble);

  // When the recording has begun. Without a thread, finish() writes all.
  void start();
  // When the trace is closed: writes the rest.
  Result<output::iotrc::Written> finish();

private:
  void run(const std::stop_token& stop);
  Result<void> pass();

  output::iotrc::Tree tree_;
  std::filesystem::path directory_;
  std::filesystem::path trace_;
  std::function<void(const Error&)> on_trouble_;
  std::jthread thread_; // the only user of the tree while it runs
};

} // namespace iotrail::compat::iotrc
