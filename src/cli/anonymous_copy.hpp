// SPDX-License-Identifier: BSD-3-Clause
//
// A copy of a trace with pseudonyms, for as long as an export needs it.
#pragma once

#include <memory>
#include <string>

#include "base/result.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::cli {

class AnonymousCopy {
public:
  // `trace` and `key_file` as the user named them. The copy is below TMPDIR, or /tmp.
  static Result<std::unique_ptr<AnonymousCopy>> make(const std::string& trace,
                                                     const std::string& key_file);

  const std::string& path() const { return path_; }

private:
  store::TemporaryFiles files_;
  std::string path_;
};

} // namespace iotrail::cli
