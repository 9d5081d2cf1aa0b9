// SPDX-License-Identifier: BSD-3-Clause
//
// The recorded calls on files that can be made again, in the order of their begin.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "analysis/engine/engine.hpp"
#include "base/result.hpp"

namespace iotrail::replay {

enum class Kind : std::uint8_t {
  open,
  close,
  read,
  write,
  sync,
  datasync,
  truncate,
  allocate,
  look_up,
  unlink,
  rename,
  link,
  make_directory
};
inline constexpr std::size_t kKinds = static_cast<std::size_t>(Kind::make_directory) + 1;
std::string_view kind_name(Kind kind);

struct Action {
  std::uint64_t begin_ns = 0; // since the first action
  std::uint64_t end_ns = 0;
  std::uint64_t position = 0; // of the bytes moved, or of the range of `allocate`
  std::uint64_t bytes = 0;    // moved; the new length of `truncate`, the length of `allocate`
  std::uint32_t pid = 0;
  std::uint32_t tid = 0;
  std::uint32_t file = 0; // key of files; 0: the call names only a path
  std::uint32_t path = 0; // in Plan::paths; at that time. `rename`, `link`: the existing name
  std::uint32_t to_path = 0;
  std::uint32_t flags = 0; // of `open`, or the mode of `allocate`
  std::int32_t error = 0;  // 0, or the negative errno that the call returned
  Kind kind = Kind::open;
  bool is_directory = false; // the file is one
};

struct Plan {
  std::vector<Action> actions;
  // Below "/", without it, "." and "..": "home/x/shop.db"; "" is "/". No two are equal.
  std::vector<std::string> paths;
  // Calls that are not made again, by reason.
  std::map<std::string, std::uint64_t> left_out;
};

inline constexpr std::size_t kActionsMost = 8U << 20U; // 72 bytes each

// Fails if the trace has more actions, or none.
Result<Plan> read_plan(analysis::Engine& engine);

// An absolute path as in Plan::paths.
std::string path_below_root(std::string_view absolute);

} // namespace iotrail::replay
