// SPDX-License-Identifier: BSD-3-Clause
//
// Makes the requests of a plan on a block device that nothing else uses.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "replay/device_plan.hpp"

namespace iotrail::replay {

class TargetDevice {
public:
  // Refuses what is no block device, what is mounted or else in use, what is too small, and, unless
  // `may_overwrite`, a plan that changes data. Changes nothing. While the object lives, nothing can
  // mount the device.
  static Result<TargetDevice> open(const std::filesystem::path& path, const DevicePlan& plan,
                                   bool may_overwrite);
  int file() const { return file_.get(); }

private:
  explicit TargetDevice(Fd file) : file_(std::move(file)) {}
  Fd file_;
};

struct ActionOutcome {
  std::uint64_t requests = 0;
  std::uint64_t failed = 0;
  std::uint64_t bytes = 0; // moved, or discarded
};

struct DeviceOutcome {
  static constexpr std::size_t kNamedMost = 5;
  std::array<ActionOutcome, kDeviceActions> actions{};
  std::vector<std::string> failures; // the first ones, as sentences
  std::uint64_t duration_ns = 0;

  std::uint64_t failed() const;
};

// Each request begins at its time, or when one of at most 256 threads is free. `speed`: 2 halves the
// times; 0 leaves them out.
Result<DeviceOutcome> run_on_device(const DevicePlan& plan, const TargetDevice& device,
                                    double speed);

} // namespace iotrail::replay
