// SPDX-License-Identifier: BSD-3-Clause
//
// The directory below which a replay works. No path leads out of it: the kernel refuses symbolic
// links and "..". Paths are those of Plan::paths. Thread-safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::replay {

class Place {
public:
  // A new directory, or an empty one. `is_prepared`: it has what an earlier replay prepared.
  static Result<Place> open(const std::filesystem::path& path, bool is_prepared);

  const std::filesystem::path& path() const { return path_; }
  Result<std::uint64_t> free_bytes() const;

  // As the calls of the same names: the descriptor or 0, else a negative errno.
  int open_file(const std::string& path, std::uint32_t flags) const;
  int unlink(const std::string& path) const; // also an empty directory
  // `replaces`: an existing file `to` is replaced; otherwise -EEXIST.
  int rename(const std::string& from, const std::string& to, bool replaces = true) const;
  int link(const std::string& from, const std::string& to) const;
  int make_directory(const std::string& path) const;
  int look_up(const std::string& path) const;

private:
  Place(std::filesystem::path path, Fd directory)
      : path_(std::move(path)), directory_(std::move(directory)) {}
  Fd open_parent(const std::string& path, std::string& name) const;
  template <class Call>
  int at_both(const std::string& from, const std::string& to, const Call& call) const;

  std::filesystem::path path_;
  Fd directory_;
};

} // namespace iotrail::replay
