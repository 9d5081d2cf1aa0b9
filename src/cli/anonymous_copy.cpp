// SPDX-License-Identifier: BSD-3-Clause
#include "cli/anonymous_copy.hpp"

#include <cstdlib>
#include <filesystem>

#include "anonymize/anonymize.hpp"
#include "cli/open_trace.hpp"

namespace iotrail::cli {

Result<std::unique_ptr<AnonymousCopy>> AnonymousCopy::make(const std::string& trace,
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
  if (auto made = anonymize::anonymize_trace(**original, anonymize::Pseudonyms(*key), copy->path_);
      !made)
    return std::unexpected(made.error());
  return copy;
}

} // namespace iotrail::cli
