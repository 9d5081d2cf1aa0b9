// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "export/otf2/otf2_handles.hpp"

namespace iotrail::output {

// A span of the time line, with what its event says beyond that. Valid until the next row.
struct Otf2Span {
  std::string_view track;
  std::string_view layer;
  std::string name;
  bool is_asked = false;
  std::uint64_t op = 0;
  std::uint64_t parent_op = 0;
  std::uint64_t pid = 0;
  std::uint64_t tid = 0;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::optional<std::uint64_t> bytes{};
  std::int64_t error = 0;
  std::string path;
  std::string process;
  std::string device_name;
  std::uint64_t device = 0;
  std::uint64_t file = 0;
  std::string_view does;
  std::uint64_t requested = 0;
  std::string_view what; // a change of handles, see otf2_details.hpp
  std::int64_t fd = -1;
  std::int64_t result = 0;
  std::uint64_t flags = 0;
  std::uint64_t argument = 0;
  std::string_view lock;
  std::string_view whence;
  std::int64_t position = 0;
  std::uint64_t first_fd = 0;
  std::uint64_t last_fd = 0;
  std::int64_t read_fd = -1;
  std::int64_t write_fd = -1;
  std::string deleted; // path of a file

  Otf2Descriptor descriptor() const { return {.pid = pid, .fd = fd, .file = file}; }
  Otf2Descriptor descriptor(std::int64_t other) const {
    return {.pid = pid, .fd = other, .file = file};
  }
  bool is_device() const { return track == "device"; }
  bool is_io() const {
    const bool is_flush = does == "flush";
    return (does == "read" || does == "write" || is_flush) &&
           (is_device() || (is_asked && (file != 0 || is_flush)));
  }
};

// The name of its file.
inline std::string path_of(const Otf2Span& span) {
  return span.path.empty() ? fmt::format("file {}", span.file) : span.path;
}

} // namespace iotrail::output
