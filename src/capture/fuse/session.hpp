// SPDX-License-Identifier: BSD-3-Clause
//
// A mounted directory, served by threads of its own. Requests and replies pass this session's transport, which records them.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "base/result.hpp"
#include "capture/fuse/passthrough.hpp"
#include "capture/fuse/request_log.hpp"
#include "capture/request/request.hpp"

namespace iotrail::capture::fuse {

class Session {
public:
  // Mounts; requests are served after serve(). `events` and `text` outlive the session.
  static Result<std::unique_ptr<Session>> mount(const MountOptions& options, EventQueue& events,
                                                IoTraceText* text);
  // After end(), or without serve().
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  void serve();
  // The mount was removed from outside.
  bool has_ended() const { return has_ended_; }
  // Takes the mount away, serves what has come, and ends the threads. Files that programs have open then fail with ENOTCONN.
  // Returns whether there were none.
  bool end();
  // A thread still waits for the backend: the session must outlive it.
  bool is_stuck() const { return workers_ != 0; }

private:
  Session(const MountOptions& options, Fd backend, EventQueue& events, IoTraceText* text);
  Result<void> open();
  void work();

  bool wait_for_workers(std::chrono::milliseconds patience);

  static ssize_t read_request(int fd, void* buffer, std::size_t size, void* files);
  static ssize_t write_reply(int fd, iovec* parts, int count, void* files);

  MountOptions options_;
  Passthrough files_;
  EventQueue& events_;
  IoTraceText* text_;
  fuse_lowlevel_ops handlers_{};
  fuse_session* session_ = nullptr;
  bool is_mounted_ = false;
  std::atomic<bool> is_stopping_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<unsigned> workers_{0};
  std::vector<std::thread> threads_;
};

} // namespace iotrail::capture::fuse
