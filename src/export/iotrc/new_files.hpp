// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "export/output_directory.hpp"

namespace iotrail::output::iotrc {

// Files that get their names together, when all are whole. Until then each name ends in ".part", so
// that a reader of the tree never takes half a file, also after a crash.
class NewFiles {
public:
  explicit NewFiles(const OutputDirectory& directory) : directory_(directory) {}

  const OutputDirectory& directory() const { return directory_; }
  // The name under which the file is written.
  std::string add(const std::string& name);
  // Another name for the last file.
  void rename_last(std::string name) { names_.back().second = std::move(name); }
  // Replaces files of these names. On failure none of them is left.
  Result<void> commit();

private:
  const OutputDirectory& directory_;
  std::vector<std::pair<std::string, std::string>> names_; // as written, as committed
};

} // namespace iotrail::output::iotrc
