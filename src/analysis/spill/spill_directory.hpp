// SPDX-License-Identifier: BSD-3-Clause
//
// A directory for data of queries that does not fit into memory. It is new and this user's alone.
// Its owner holds a lock on it, which ends with the process however that ends: the next engine of
// this user removes directories without a lock.
#pragma once

#include <filesystem>
#include <string>

#include "base/fd.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::analysis {

class SpillDirectory {
public:
  // Makes one in `parent`, which `files` removes, after removing those that dead processes left
  // there.
  SpillDirectory(const std::filesystem::path& parent, const store::TemporaryFiles& files);

  // "": it cannot be made. Large queries then fail with a message of the engine.
  const std::string& path() const { return path_; }

private:
  std::string path_;
  Fd lock_;
};

} // namespace iotrail::analysis
