// SPDX-License-Identifier: BSD-3-Clause
//
// From the options of --start-tracing to a recording.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "capture/request/request.hpp"

namespace iotrail::compat::iotrace {

inline constexpr std::uint64_t kEndlessSeconds = 4'294'967'295;

struct TracingOptions {
  std::vector<std::string> devices;
  std::uint64_t seconds = kEndlessSeconds;
  std::uint64_t size_mib = 1000;
  std::uint64_t buffer_mib = 100; // of all rings together
  std::vector<std::string> tags;  // NAME=VALUE
  std::string label;              // of the older versions: the tag `label`
};

struct Disk {
  std::uint32_t device = 0; // major << 20 | minor
  std::string path;         // of the whole disk
  std::string named;        // as the user named it: a partition perhaps
};

// The whole disks of the devices, each once. Fails for a path that is no block device.
Result<std::vector<Disk>> disks_of(const std::vector<std::string>& devices);

// Blanks around names and values do not count.
Result<std::map<std::string, std::string>> tags_of(const TracingOptions& options);

Result<capture::RecordingRequest> request_of(const TracingOptions& options,
                                             const std::vector<Disk>& disks);

} // namespace iotrail::compat::iotrace
