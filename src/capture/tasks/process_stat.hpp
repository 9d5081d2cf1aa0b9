// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "abi.h"

namespace iotrail::capture {

// Data of a process in /proc/PID/stat, including all its threads.
struct ProcessStat {
  char state = 'X'; // of the main thread; X: the process is gone
  std::string name; // of the main thread
  iot_u32 parent = 0;
  iot_u32 threads = 0;
  std::uint64_t start_ns = 0; // monotonic, to a hundredth of a second
  std::uint64_t user_ns = 0;
  std::uint64_t system_ns = 0;
  std::uint64_t block_io_ns = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t virtual_bytes = 0;
};

// nullopt: the text is invalid.
std::optional<ProcessStat> parse_process_stat(std::string_view text);

} // namespace iotrail::capture
