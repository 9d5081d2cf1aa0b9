// SPDX-License-Identifier: BSD-3-Clause
//
// Makes a trace of files of other programs.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "import/import_format.hpp"
#include "store/format/manifest.hpp"

namespace iotrail::import {

struct ImportRequest {
  std::vector<std::string> files; // a directory stands for the files in it; "-" for standard input
  const ImportFormat* format = nullptr; // nullptr: the content says it
  std::filesystem::path trace;          // new
};

struct ImportOutcome {
  const ImportFormat* format = nullptr;
  store::Manifest manifest;
  std::size_t files = 0;
  std::vector<std::string> other_files; // in directories, of another format
  std::uint64_t malformed = 0;
  std::vector<std::string> malformed_named; // the first ones, "file:7: why"
  std::map<std::string, std::uint64_t> left_out;
};

// If it fails, it leaves no trace behind. It also fails if no record at all could be read.
Result<ImportOutcome> import_trace(const ImportRequest& request,
                                   std::span<const ImportFormat* const> formats);

} // namespace iotrail::import
