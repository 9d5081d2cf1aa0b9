// SPDX-License-Identifier: BSD-3-Clause
//
// A control group of a test with little memory.
#pragma once

#include <unistd.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>

namespace iotrail::live {

inline bool write_text(const std::filesystem::path& file, const std::string& text) {
  std::ofstream stream(file);
  stream << text << std::flush;
  return stream.good();
}

// A control group with little memory, in the hierarchy of version 2 or of version 1.
class SmallGroup {
public:
  explicit SmallGroup(std::uint64_t bytes) {
    const std::filesystem::path root = "/sys/fs/cgroup";
    const bool is_unified = std::filesystem::exists(root / "cgroup.controllers");
    if (is_unified)
      write_text(root / "cgroup.subtree_control", "+memory");
    directory_ =
        (is_unified ? root : root / "memory") / ("iotrail-test-" + std::to_string(::getpid()));
    std::error_code error;
    std::filesystem::create_directory(directory_, error);
    const char* limit = is_unified ? "memory.max" : "memory.limit_in_bytes";
    if (error || !std::filesystem::exists(directory_ / limit) ||
        !write_text(directory_ / limit, std::to_string(bytes)))
      refusal_ = "no control group of memory can be made here";
  }
  ~SmallGroup() { ::rmdir(directory_.c_str()); }
  SmallGroup(const SmallGroup&) = delete;
  SmallGroup& operator=(const SmallGroup&) = delete;

  const std::string& refusal() const { return refusal_; } // empty: it exists
  bool enter() const { return write_text(directory_ / "cgroup.procs", "0"); }

private:
  std::filesystem::path directory_;
  std::string refusal_;
};

} // namespace iotrail::live
