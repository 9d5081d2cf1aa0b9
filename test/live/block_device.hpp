// SPDX-License-Identifier: BSD-3-Clause
//
// Block devices of a test's own, whose every request is known, and I/O at known places of them.
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

// As events write it, of a path below /sys/block or /sys/class/block.
std::uint64_t device_number(const std::filesystem::path& in_sysfs);

std::string text_of(const std::filesystem::path& file);

// The disk of that name that the device mapper has made; empty: there is none.
std::string mapped_device(const std::string& name);

// Whether the module is loaded, or could be.
bool has_module(const std::string& name);

// A loop device over a file.
class LoopDevice {
public:
  LoopDevice(const std::filesystem::path& file, std::uint32_t block_bytes);
  ~LoopDevice();
  LoopDevice(const LoopDevice&) = delete;
  LoopDevice& operator=(const LoopDevice&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: it is there
  std::string path() const { return "/dev/" + name(); }
  std::string name() const { return "loop" + std::to_string(number_); }
  std::filesystem::path sysfs() const { return "/sys/block/" + name(); }
  std::uint64_t device() const { return device_number(sysfs()); }

  // A setting of its queue, as sysfs names it, until the device goes. False: the kernel refuses.
  bool set_queue(const std::string& setting, const std::string& value);

  // Partition 1 of it; false: the kernel makes none.
  bool add_partition(std::uint64_t first_sector, std::uint64_t sectors) const;

private:
  int take_free(const Fd& control, const loop_config& config); // 0, or an errno

  std::string refusal_;
  int number_ = -1;
  int fd_ = -1;
  std::map<std::string, std::string> usual_; // of the settings changed
};

// One direct operation of exactly these blocks, without the file system. 0: done; else an errno.
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
  // One block at each of these, all handed over in one call.
  int write_at_once(const std::vector<std::uint64_t>& blocks);

private:
  char* buffer(std::uint64_t bytes);

  std::uint32_t block_bytes_;
  int fd_;
  std::vector<char> memory_;
};

} // namespace iotrail::live
