// SPDX-License-Identifier: BSD-3-Clause
//
// The file of a call that has only a path.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "store/reader/trace_reader.hpp"

namespace iotrail::trail {

class PathFiles {
public:
  explicit PathFiles(const store::TraceReader& trace) : trace_(trace) {}

  // By the key of the path as given. 0: unknown, because it is relative, or several files had it.
  std::uint64_t file(std::uint64_t path);

private:
  void load();

  const store::TraceReader& trace_;
  bool is_loaded_ = false;                               // most traces do not need it
  std::unordered_map<std::string, std::uint64_t> files_; // by absolute path
  std::unordered_map<std::uint64_t, std::string> paths_; // by key of strings
};

} // namespace iotrail::trail
