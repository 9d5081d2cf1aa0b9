// SPDX-License-Identifier: BSD-3-Clause
//
// Small files of /proc and /sys. Others wrote their contents: each read has a limit, and no number
// is trusted.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/fd.hpp"

namespace iotrail::capture::snapshot {

inline constexpr std::size_t kProcTextMost = 64U << 10U; // the length limit of a string in a trace
inline constexpr std::uint64_t kKibibyte = 1024;         // the unit of sizes in both

// The first `most` bytes of a file below `directory`. False: unreadable, with errno.
inline bool read_text(int directory, const char* name, std::string& text,
                      std::size_t most = kProcTextMost) {
  constexpr std::size_t kPiece = 4096;
  text.clear();
  const Fd file(::openat(directory, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file)
    return false;
  while (text.size() < most) {
    const std::size_t before = text.size();
    text.resize(before + std::min(kPiece, most - before));
    const ssize_t bytes = ::read(file.get(), text.data() + before, text.size() - before);
    text.resize(before + static_cast<std::size_t>(bytes > 0 ? bytes : 0));
    if (bytes <= 0)
      return bytes == 0 || before > 0;
  }
  return true;
}

// The first line of a file, by path; empty: none.
inline std::string read_line(const std::string& path) {
  std::string text;
  (void)read_text(AT_FDCWD, path.c_str(), text);
  text.resize(std::min(text.size(), text.find('\n')));
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

// The target of a link below `directory`; empty: unreadable, with errno.
inline std::string read_link(int directory, const char* name) {
  std::string target(4096, '\0');
  const ssize_t bytes = ::readlinkat(directory, name, target.data(), target.size());
  target.resize(static_cast<std::size_t>(bytes > 0 ? bytes : 0));
  return target;
}

// The number at the begin of a text, after blanks; 0: none, or too large.
inline std::uint64_t leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  return end.ec == std::errc{} ? number : 0;
}

inline std::uint64_t read_number(const std::string& path) {
  return leading_number(read_line(path));
}

// The text after `key` at the begin of a line: for "Uid:", " 7 7 7 7". Empty: no such line.
inline std::string_view line_value(std::string_view text, std::string_view key) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    if (line.starts_with(key))
      return line.substr(key.size());
    text.remove_prefix(std::min(line.size() + 1, text.size()));
  }
  return {};
}

} // namespace iotrail::capture::snapshot
