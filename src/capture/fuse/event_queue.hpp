// SPDX-License-Identifier: BSD-3-Clause
//
// Events on their way from the workers to the recorder's thread, which alone may write. Bounded: a worker waits for room, and
// with it the calling program. If the recorder takes nothing for a while, events are lost and counted.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <variant>
#include <vector>

#include "abi.h"
#include "capture/fuse/node_table.hpp"
#include "dictionary_rows.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::fuse {

struct QueuedEvent {
  std::variant<iot_fuse_request, iot_fuse_read, iot_fuse_write, iot_fuse_copy, iot_fuse_setattr>
      record;
  NodeFacts file{}; // inode 0: none
  NodeFacts to_file{};
  std::string path; // below the root; empty: none
  std::string to_path;
  bool is_to_path_below_root = true; // else a text of its own
};

class EventQueue {
public:
  // Waits for room for a moment at most.
  void push(QueuedEvent event);
  void push(rows::processes process);
  // From now on no worker waits.
  void close();

  // All that is there now.
  std::vector<QueuedEvent> take_events();
  std::vector<rows::processes> take_processes();
  bool is_empty() const;

  std::uint64_t produced() const { return produced_; }
  std::uint64_t lost() const { return lost_; }

private:
  static constexpr std::size_t kEventsMost = 16'384; // 8 MiB with usual paths
  static constexpr std::chrono::milliseconds kPatience{500};

  mutable std::mutex mutex_;
  std::condition_variable room_;
  std::vector<QueuedEvent> events_;
  std::vector<rows::processes> processes_;
  bool is_closed_ = false;
  bool is_stuck_ = false; // a worker has waited in vain: others do not wait as well
  std::atomic<std::uint64_t> produced_{0};
  std::atomic<std::uint64_t> lost_{0};
};

} // namespace iotrail::capture::fuse
