// SPDX-License-Identifier: BSD-3-Clause
//
// Whether a process can be the owner of a place. A place says which thread owns it, and every
// traced program can write there: none may record calls in the name of a process that is not
// traced.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <unordered_map>
#include <vector>

#include "abi.h"

namespace iotrail::capture::preload {

class OwnerCheck {
public:
  // A traced process starts with one of the variables, "NAME=VALUE", maps the file `arena`, or
  // descends from this process. One that cannot be looked at is not older than `since_ns`
  // (monotonic).
  OwnerCheck(std::vector<std::string> variables, const std::filesystem::path& arena,
             std::uint64_t since_ns)
      : variables_(std::move(variables)), arena_name_(arena.filename()), since_ns_(since_ns) {}

  // False: `pid` runs, and is certainly not traced. A process that has ended cannot be asked.
  bool may_own(iot_u32 pid, std::uint64_t now_ns);

private:
  bool is_traced(iot_u32 pid) const;
  bool maps_arena(iot_u32 pid) const;

  std::vector<std::string> variables_;
  std::string arena_name_; // secret
  std::uint64_t since_ns_;
  std::unordered_map<iot_u32, std::uint64_t> until_ns_; // of processes found to be traced
};

} // namespace iotrail::capture::preload
