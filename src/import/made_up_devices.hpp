// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers for devices that a file knows only by name. No disk has the major number 0.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "import/trace_builder.hpp"

namespace iotrail::import {

class MadeUpDevices {
public:
  explicit MadeUpDevices(TraceBuilder& trace) : trace_(trace) {}

  // 0:1 is the first one. Devices beyond 65,536 share a number.
  std::uint32_t number(const std::string& name) {
    constexpr std::size_t kMost = 65536;
    if (const auto found = devices_.find(name); found != devices_.end())
      return found->second;
    if (devices_.size() >= kMost)
      return IOT_DEVICE(0, kMost + 1);
    const auto number = static_cast<std::uint32_t>(IOT_DEVICE(0, devices_.size() + 1));
    devices_.emplace(name, number);
    trace_.name_device(number, name);
    return number;
  }

private:
  TraceBuilder& trace_;
  std::map<std::string, std::uint32_t> devices_;
};

} // namespace iotrail::import
