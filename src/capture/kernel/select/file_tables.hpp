// SPDX-License-Identifier: BSD-3-Clause
//
// The recorder's part in the tables of known files (bpf/track/file_table.bpf.h): while the younger one fills it makes the empty one that
// follows, and it gives up those older than the older one, whose files are forgotten unless they were used meanwhile.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "capture/kernel/abi/kernel_abi.h"

namespace iotrail::capture::kernel {

class FileTables {
public:
  // `ages` is shared with the programs and outlives this, as the descriptor of their map of tables does. `files`: that a
  // table has room for.
  FileTables(int tables_fd, iot_file_ages& ages, std::uint32_t files)
      : tables_fd_(tables_fd), ages_(&ages), files_(files) {}

  // Sees to it that there is an empty table when one is needed soon. Returns at once: the kernel waits for its programs
  // before it changes a table, tens of milliseconds, so a thread has it done. Where there is no memory for it, files that
  // find no room are counted by the programs.
  void keep_empty_one();

  // Files that were in a table which has been given up, and in no younger one.
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
