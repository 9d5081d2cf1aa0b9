// SPDX-License-Identifier: BSD-3-Clause
//
// The requests of one recorded device, to be made again on another.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"

namespace iotrail::replay {

enum class DeviceAction : std::uint8_t { read, write, flush, discard, write_zeroes };
inline constexpr std::size_t kDeviceActions = 5;
std::string_view action_name(DeviceAction action); // "read"

struct DeviceRequest {
  std::uint64_t begin_ns = 0; // its issue, since the first one
  std::uint64_t position = 0; // in bytes
  std::uint32_t bytes = 0;
  DeviceAction action = DeviceAction::read;
  bool is_durable = false; // a write that is safe when it ends (FUA)
};

struct DevicePlan {
  std::string device;                    // its name, "sda"
  std::vector<DeviceRequest> requests{}; // in the order of their issues
  std::uint64_t end_bytes = 0;           // the end of what they touch
  std::uint64_t unit_bytes = 0;          // divides all positions and lengths; 0: there are none
  std::uint64_t duration_ns = 0;
  std::uint64_t most_in_flight = 0;
  bool changes_data = false;
  std::map<std::string, std::uint64_t> left_out{}; // by operation
};

// `device`: "sda"; empty: the only one that has requests. Failed requests are left out.
Result<DevicePlan> read_device_plan(analysis::Engine& engine, const std::string& device);

} // namespace iotrail::replay
