// SPDX-License-Identifier: BSD-3-Clause
//
// Commands for a running watcher, over a socket in a directory that only its user can enter. A message is a list of words.
// One watcher a directory: it holds a lock there, which ends with its process.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::watch {

using Words = std::vector<std::string>;

// Below the repository of traces.
std::filesystem::path watch_directory();

// The place of the only watcher, with what a killed one has left there removed.
class WatchPlace {
public:
  // Makes the directory. Fails if a watcher runs there; the error names its process.
  static Result<WatchPlace> take();
  const std::filesystem::path& path() const { return path_; }
  int directory() const { return directory_.get(); }

private:
  WatchPlace(std::filesystem::path path, Fd directory, Fd lock)
      : path_(std::move(path)), directory_(std::move(directory)), lock_(std::move(lock)) {}

  std::filesystem::path path_;
  Fd directory_;
  Fd lock_;
};

// Answers requests, one at a time, by a thread of its own.
class ControlSocket {
public:
  using Answer = std::function<Result<Words>(const Words& request)>;

  static Result<std::unique_ptr<ControlSocket>> listen(const WatchPlace& place, Answer answer);
  ~ControlSocket(); // waits for the request that it answers

private:
  ControlSocket(Fd listener, Answer answer);
  void serve();
  void serve_one(const Fd& peer);

  Fd listener_;
  Answer answer_;
  std::atomic<bool> is_over_{false};
  std::thread thread_;
};

// Sends a request to the running watcher, and waits for its answer. Fails if none runs.
Result<Words> ask_watcher(const Words& request);

} // namespace iotrail::watch
