// SPDX-License-Identifier: BSD-3-Clause
//
// The threads that make requests. A request names a thread; its process and program come from /proc while the thread waits for
// the reply. Each worker has its own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "dictionary_rows.hpp"

namespace iotrail::capture::fuse {

class TasksSeen {
public:
  // The process of a thread; 0: it has ended. Sets *program if the process is new or runs another program. Only if
  // `may_read_memory`: the lock of that memory may be held by a page fault that waits for the reply.
  std::uint32_t process_of(std::uint32_t tid, std::uint64_t now_ns, bool may_read_memory,
                           std::optional<rows::processes>* program);

private:
  struct Seen {
    std::uint32_t pid = 0;
    std::uint64_t start_ns = 0; // of the thread
    std::string comm;
    std::uint64_t checked_ns = 0;
  };
  std::unordered_map<std::uint32_t, Seen> seen_;
};

} // namespace iotrail::capture::fuse
