// SPDX-License-Identifier: BSD-3-Clause
#include "capture/selection/mounts.hpp"

#include <fstream>
#include <sstream>
#include <string_view>

namespace iotrail::capture {
namespace {

constexpr std::size_t kDigits = 3;

bool is_octal(std::string_view digits) {
  return digits.size() == kDigits && digits.find_first_not_of("01234567") == digits.npos;
}

// mountinfo escapes blanks and similar characters as a backslash and three octal digits.
std::string unescaped(std::string_view text) {
  std::string plain;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const std::string_view digits = text.substr(at + 1, kDigits);
    if (text[at] == '\\' && is_octal(digits)) {
      plain += static_cast<char>(std::stoi(std::string(digits), nullptr, 8));
      at += kDigits;
    } else {
      plain += text[at];
    }
  }
  return plain;
}

} // namespace

// 36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue
std::vector<Mount> read_mounts(std::istream& mountinfo) {
  std::vector<Mount> mounts;
  for (std::string line; std::getline(mountinfo, line);) {
    std::istringstream words(line);
    Mount mount;
    unsigned major = 0;
    unsigned minor = 0;
    char colon = 0;
    words >> mount.id >> mount.parent >> major >> colon >> minor;
    mount.device = IOT_DEVICE(major, minor);
    words >> mount.root >> mount.point >> mount.options;
    for (std::string word; words >> word && word != "-";) {
    }
    words >> mount.type >> mount.source >> mount.file_system_options;
    for (std::string* text : {&mount.root, &mount.point, &mount.type, &mount.source, &mount.options,
                              &mount.file_system_options})
      *text = unescaped(*text);
    mounts.push_back(std::move(mount));
  }
  return mounts;
}

std::vector<Mount> read_mounts() {
  std::ifstream mountinfo("/proc/self/mountinfo");
  return read_mounts(mountinfo);
}

} // namespace iotrail::capture
