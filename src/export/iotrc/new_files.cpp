// SPDX-License-Identifier: BSD-3-Clause
#include "export/iotrc/new_files.hpp"

#include <filesystem>
#include <system_error>

namespace iotrail::output::iotrc {

std::string NewFiles::add(const std::string& name) {
  return names_.emplace_back(name + ".part", name).first;
}

Result<void> NewFiles::commit() {
  for (std::size_t i = 0; i < names_.size(); ++i) {
    const std::filesystem::path to = directory_.path() / names_[i].second;
    std::error_code error;
    std::filesystem::rename(directory_.path() / names_[i].first, to, error);
    if (!error)
      continue;
    std::error_code ignored;
    while (i-- > 0)
      std::filesystem::remove(directory_.path() / names_[i].second, ignored);
    return fail_errno("cannot write " + to.string(), error.value());
  }
  names_.clear();
  return {};
}

} // namespace iotrail::output::iotrc
