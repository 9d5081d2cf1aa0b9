// SPDX-License-Identifier: BSD-3-Clause
//
// A copy of a trace with pseudonyms, for as long as an export needs it.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>

#include "anonymize/anonymize.hpp"
#include "base/result.hpp"
#include "cli/open_trace.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::cli {

class AnonymousCopy {
public:
  // `trace` and `key_file` as the user named them. The copy is below TMPDIR, or /tmp.
  static Result<std::unique_ptr<AnonymousCopy>> make(const std::string& trace,
                                                     const std::string& key_file) {
    const auto key = anonymize::read_key(key_file);
    if (!key)
      return std::unexpected(key.error());
    const auto original = open_trace(trace);
    if (!original)
      return std::unexpected(original.error());
    auto copy = std::make_unique<AnonymousCopy>();
    std::error_code none;
    const std::filesystem::path parent = std::filesystem::temp_directory_path(none);
    std::string folder = (none ? "/tmp" : parent) / "iotrail-XXXXXX";
    if (!copy->files_.make_tree(
            [&] { return std::filesystem::path(::mkdtemp(folder.data()) ? folder : ""); }))
      return fail_errno(fmt::format("cannot make a directory in {}", parent.native()), errno,
                        "TMPDIR names another place.");
    copy->path_ = folder + "/anonymous.iotrail";
    if (auto made =
            anonymize::anonymize_trace(**original, anonymize::Pseudonyms(*key), copy->path_);
        !made)
      return std::unexpected(made.error());
    return copy;
  }

  const std::string& path() const { return path_; }

private:
  store::TemporaryFiles files_;
  std::string path_;
};

} // namespace iotrail::cli
