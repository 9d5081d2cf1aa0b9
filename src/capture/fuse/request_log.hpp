// SPDX-License-Identifier: BSD-3-Clause
//
// Turns requests and replies, as they pass the transport, into events. A worker serves one request after another: begin(), then
// the handler, then reply(). Each worker has its own log.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>

#include "capture/fuse/event_queue.hpp"
#include "capture/fuse/io_trace_text.hpp"
#include "capture/fuse/request_reader.hpp"
#include "capture/fuse/tasks_seen.hpp"

namespace iotrail::capture::fuse {

class RequestLog {
public:
  // `text`: lines of IOTraceCollector; nullptr: none.
  RequestLog(const NodeTable& nodes, EventQueue& events, IoTraceText* text)
      : nodes_(nodes), events_(events), text_(text) {}

  // The worker has this request.
  void begin(std::span<const std::byte> bytes);
  // A reply passes. Call `send` in between, which hands it to the kernel: the program continues then, and its files may be
  // forgotten.
  void reply(std::uint64_t unique, int error, std::span<const std::byte> body,
             const std::function<void()>& send);

private:
  struct Pending {
    Request request; // without its names, which are in the paths
    std::uint64_t begin_ns = 0;
    std::uint32_t pid = 0;
    NodeFacts file{};
    NodeFacts to_file{};
    std::string path;
    std::string to_path;
    bool is_to_path_below_root = true;
  };

  void name_files(const Request& request);
  void finish(std::int64_t result, std::uint64_t end_ns);

  const NodeTable& nodes_;
  EventQueue& events_;
  IoTraceText* text_;
  TasksSeen tasks_;
  std::optional<Pending> pending_;
};

} // namespace iotrail::capture::fuse
