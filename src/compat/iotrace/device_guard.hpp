// SPDX-License-Identifier: BSD-3-Clause
//
// One iotrace a device. The guard is an abstract socket, so that it ends with its process, however that ends. It covers the
// processes of one network namespace.
#pragma once

#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::compat::iotrace {

class DeviceGuard {
public:
  // `device`: major << 20 | minor. Fails if another process guards it; the error names that process.
  static Result<DeviceGuard> take(std::uint32_t device, const std::string& path);

private:
  explicit DeviceGuard(Fd socket) : socket_(std::move(socket)) {}

  Fd socket_;
};

} // namespace iotrail::compat::iotrace
