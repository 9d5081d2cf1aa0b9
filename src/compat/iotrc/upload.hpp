// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.hpp"

namespace iotrail::compat::iotrc {

// Copies the files of a finished tree into a directory, below the same names. Files that are there
// with their size already are skipped, so that a second call completes a first one that failed. A
// file appears when it is whole. Returns the number of copied files.
Result<std::uint64_t> upload_tree(const std::filesystem::path& directory,
                                  const std::filesystem::path& session,
                                  const std::filesystem::path& to);

} // namespace iotrail::compat::iotrc
