// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/mounts.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "capture/kernel/block_device.hpp"

namespace iotrail::capture::kernel {
namespace {

// Blanks and their like are written as a backslash and three octal digits.
std::string unescaped(const std::string& text) {
  constexpr std::size_t kDigits = 3;
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\' && at + kDigits < text.size()) {
      plain += static_cast<char>(std::stoi(text.substr(at + 1, kDigits), nullptr, 8));
      at += kDigits;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

io_u32 parse_device(const std::string& text) {
  unsigned major = 0;
  unsigned minor = 0;
  char colon = 0;
  std::istringstream(text) >> major >> colon >> minor;
  return device_number(major, minor);
}

} // namespace

// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::vector<Mount> read_mounts(std::istream& mountinfo) {
  std::vector<Mount> mounts;
  for (std::string line; std::getline(mountinfo, line);) {
    std::istringstream words(line);
    Mount mount;
    std::string parent;
    std::string device;
    words >> mount.id >> parent >> device >> mount.root >> mount.point;
    for (std::string word; words >> word && word != "-";) {
    }
    std::string type;
    words >> type >> mount.source;
    mount.device = parse_device(device);
    for (std::string* text : {&mount.root, &mount.point, &mount.source})
      *text = unescaped(*text);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<Mount> read_mounts() {
  std::ifstream mountinfo("/proc/self/mountinfo");
  return read_mounts(mountinfo);
}

io_u32 file_system_of(const std::string& path) {
  struct statx status{};
  if (::statx(AT_FDCWD, path.c_str(), 0, STATX_MNT_ID, &status) != 0)
    return 0;
  if (status.stx_mask & STATX_MNT_ID) {
    const std::vector<Mount> mounts = read_mounts();
    const auto mount = std::ranges::find(mounts, status.stx_mnt_id, &Mount::id);
    if (mount != mounts.end())
      return mount->device;
  }
  return device_number(status.stx_dev_major, status.stx_dev_minor);
}

} // namespace iotrail::capture::kernel
