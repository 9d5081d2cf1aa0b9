// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <zstd.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "export/model/gzip.hpp"
#include "export/output_directory.hpp"
#include "text/sink.hpp"

namespace iotrail::output::iotrc {

enum class Compression : std::uint8_t { zstd, gzip, none };

// ".zst", ".gz" or nothing.
std::string_view suffix_of(Compression compression);

// A new file of a directory, compressed while it is written. Without finish() it is incomplete.
class CompressedFile {
public:
  static Result<std::unique_ptr<CompressedFile>>
  create(const OutputDirectory& directory, const std::string& name, Compression compression);
  CompressedFile(const CompressedFile&) = delete;
  CompressedFile& operator=(const CompressedFile&) = delete;
  ~CompressedFile();

  void put(std::string_view bytes);
  bool is_broken() const { return sink_.is_broken() || has_failed_; }
  // An error names the file.
  Result<void> finish();

private:
  CompressedFile(std::string path, OutputDirectory::File file, Compression compression);
  void compress(std::string_view bytes, ZSTD_EndDirective directive);

  std::string path_;
  OutputDirectory::File file_;
  Sink sink_;
  ZSTD_CCtx* zstd_ = nullptr;
  std::unique_ptr<GzipSink> gzip_;
  bool has_failed_ = false;
};

} // namespace iotrail::output::iotrc
