// SPDX-License-Identifier: BSD-3-Clause
//
// The recorder's part in the tables of known files (bpf/track/file_table.bpf.h). While the younger
// table fills, it makes the next empty one. It frees tables beyond the older one: their files are
// forgotten unless they were used meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "capture/kernel/abi/kernel_abi.h"

namespace iotrail::capture::kernel {

class FileTables {
public:
  // `ages` is shared with the programs. It outlives this, like the descriptor of their map of
  // tables. `files`: capacity of a table.
  FileTables(int tables_fd, iot_file_ages& ages, std::uint32_t files)
      : tables_fd_(tables_fd), ages_(&ages), files_(files) {}

  // Makes an empty table if one is needed soon. Returns at once: the kernel waits tens of
  // milliseconds for its programs before it changes a table, so a thread does it. Without memory
  // for a table, the programs count files that find no room.
  void keep_empty_one();

  // Files of a discarded table that are in no younger one.
  std::uint64_t forgotten() const { return forgotten_; }

private:
  void make_empty(iot_u32 age);
  void forget(iot_u32 age);

  int tables_fd_;
  iot_file_ages* ages_;
  std::uint32_t files_;
  std::atomic<std::uint64_t> forgotten_ = 0;
  std::atomic<bool> is_at_work_ = false;
  std::jthread worker_;
};

} // namespace iotrail::capture::kernel
