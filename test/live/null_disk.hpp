// SPDX-License-Identifier: BSD-3-Clause
//
// A disk that the kernel emulates, with its blocks in memory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "block_device.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {

// It can do more than a loop device. `parameters` go to the module null_blk.
class NullDisk {
public:
  explicit NullDisk(const std::string& parameters) {
    if (!is_emulated())
      refusal_ = "no such disk can be made, but in an emulated machine";
    else if (std::filesystem::exists(sysfs()) ||
             std::system(
                 ("modprobe -q null_blk nr_devices=1 memory_backed=1 " + parameters).c_str()) != 0)
      refusal_ = "there is no null_blk";
  }
  ~NullDisk() {
    if (refusal_.empty())
      (void)!std::system("modprobe -r null_blk");
  }
  NullDisk(const NullDisk&) = delete;
  NullDisk& operator=(const NullDisk&) = delete;

  const std::string& refusal() const { return refusal_; }
  static std::string path() { return "/dev/nullb0"; }
  static std::filesystem::path sysfs() { return "/sys/block/nullb0"; }
  static std::uint64_t device() { return device_number(sysfs()); }

private:
  std::string refusal_;
};

#define MAKE_NULL_DISK(name, parameters)                                                           \
  const NullDisk name(parameters);                                                                 \
  if (!name.refusal().empty())                                                                     \
  GTEST_SKIP() << name.refusal()

} // namespace iotrail::live
