// SPDX-License-Identifier: BSD-3-Clause
//
// Block devices of a test, where each request is known, and I/O at known positions of them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "live_recording.hpp"

struct loop_config;

namespace iotrail::live {

// As in events, for a path below /sys/block or /sys/class/block.
std::uint64_t device_number(const std::filesystem::path& in_sysfs);

std::string text_of(const std::filesystem::path& file);

// The device mapper's disk with this name; empty: there is none.
std::string mapped_device(const std::string& name);

// Whether the module is loaded; loads it if possible.
bool has_module(const std::string& name);

// A loop device over a file.
class LoopDevice {
public:
  LoopDevice(const std::filesystem::path& file, std::uint32_t block_bytes);
  ~LoopDevice();
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: the device exists
  std::string path() const { return "/dev/" + name(); }
  std::string name() const { return "loop" + std::to_string(number_); }
  std::filesystem::path sysfs() const { return "/sys/block/" + name(); }
  std::uint64_t device() const { return device_number(sysfs()); }

  // Changes a setting of its queue, by its name in sysfs, until the device is removed. False: the
  // kernel refuses.
  bool set_queue(const std::string& setting, const std::string& value);

  // Adds partition 1. False: the kernel refuses.
  bool add_partition(std::uint64_t first_sector, std::uint64_t sectors) const;

private:
  int take_free(const Fd& control, const loop_config& config); // 0, or an errno

  std::string refusal_;
  int number_ = -1;
  int fd_ = -1;
  std::map<std::string, std::string> usual_; // earlier values of the changed settings
};

// Direct operations on exactly these blocks, without a file system. 0 on success, else an errno.
class DirectDevice {
public:
  DirectDevice(const std::string& path, std::uint32_t block_bytes);
  ~DirectDevice();
  DirectDevice(const DirectDevice&) = delete;
  DirectDevice& operator=(const DirectDevice&) = delete;

  int fd() const { return fd_; }
  int write(std::uint64_t first_block, std::uint64_t blocks, int flags = 0);
  int read(std::uint64_t first_block, std::uint64_t blocks);
  int discard(std::uint64_t first_block, std::uint64_t blocks) const;
  // Submits one block at each of these positions in one call.
  int write_at_once(const std::vector<std::uint64_t>& blocks);

private:
  char* buffer(std::uint64_t bytes);

  std::uint32_t block_bytes_;
  int fd_;
  std::vector<char> memory_;
};

} // namespace iotrail::live
