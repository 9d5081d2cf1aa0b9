// SPDX-License-Identifier: BSD-3-Clause
//
// Brings a finished tree to another place: a directory, a server below a prefix of addresses, or
// addresses that a file lists. What is there already is skipped, so that a second call completes a
// first one that failed.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"

namespace iotrail::compat::iotrc {

struct UploadTarget {
  std::string where{};     // a directory or a prefix; "": none
  std::string urls_file{}; // with an address for each file, in the order of their names; "": none
  unsigned retries = 6;

  bool is_none() const { return where.empty() && urls_file.empty(); }
};

// Whether a new tree can be made there.
Result<void> check_directory(std::string_view what, const std::filesystem::path& path);

// Whether an upload can begin, before the work for it.
Result<void> check_upload(const UploadTarget& target);

// Sends the files of directory/session. Returns the number of files that were not there yet. A file
// in a directory appears when it is whole. The names of files that servers have are kept in
// directory/session.uploaded.
Result<std::uint64_t> upload_tree(const std::filesystem::path& directory,
                                  const std::filesystem::path& session, const UploadTarget& target);

} // namespace iotrail::compat::iotrc
