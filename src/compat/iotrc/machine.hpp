// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace iotrail::compat::iotrc {

// What decides which streams a machine can afford.
struct Resources {
  unsigned cores = 0; // logical
  std::uint64_t memory_bytes = 0;
  std::uint64_t available_bytes = 0;
  std::uint64_t link_mbps = 0; // of the fastest network interface; 0: unknown
};
Resources resources_of_machine();

struct StreamChoice {
  bool cache = false;
  bool network = false;
};
// Streams that cost more are added on large machines. What the user asked for stays.
StreamChoice choose_streams(const Resources& resources, StreamChoice asked);

// 16 hexadecimal digits, which identify the machine and do not name it.
Result<std::string> machine_id();

} // namespace iotrail::compat::iotrc
