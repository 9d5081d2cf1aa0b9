// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "export/iotrc/tree.hpp"

namespace iotrail::output::iotrc {

// Local to a file of the tree: "2026-05-01 12:34:56.123456", in UTC.
std::string date_text(std::uint64_t real_ns);
// "20260501_123456_123"
std::string date_name(std::uint64_t real_ns);

// One stream as numbered files, each with the header. Without rows it makes no file.
class PartWriter {
public:
  // `folder` ends in "/<stream>"; names of files begin with `name`.
  PartWriter(const OutputDirectory& directory, const Options& options, std::string folder,
             std::string name, std::string header)
      : directory_(directory), options_(options), folder_(std::move(folder)),
        name_(std::move(name)), header_(std::move(header)) {}

  // A line with its end. `at_ns` of CLOCK_MONOTONIC, `real_ns` the same moment since 1970.
  Result<void> put(std::string_view line, std::uint64_t at_ns, std::uint64_t real_ns);
  Result<void> finish();
  std::uint64_t rows() const { return rows_; }

private:
  bool is_full(std::string_view line, std::uint64_t at_ns) const;
  Result<void> begin(std::uint64_t at_ns, std::uint64_t real_ns);

  const OutputDirectory& directory_;
  const Options& options_;
  std::string folder_;
  std::string name_;
  std::string header_;
  std::unique_ptr<CompressedFile> file_;
  std::uint64_t number_ = 0;
  std::uint64_t rows_ = 0;
  std::uint64_t part_rows_ = 0;
  std::uint64_t part_bytes_ = 0;
  std::uint64_t part_begin_ns_ = 0;
};

} // namespace iotrail::output::iotrc
