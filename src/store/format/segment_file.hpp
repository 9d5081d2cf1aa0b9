// SPDX-License-Identifier: BSD-3-Clause
//
// The segment file that the recorder writes. It appends a whole block or nothing.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"
#include "store/format/layout.hpp"

namespace iotrail::store {

class SegmentFile {
public:
  static Result<SegmentFile> create(const Fd& directory, const std::filesystem::path& trace,
                                    SegmentKind kind, std::uint32_t number,
                                    const TraceId& trace_id);

  // Both also fail if another process has removed the file or changed its length. A failed append()
  // removes what it has written.
  Result<void> append(ByteSpan block, std::uint32_t rows);
  Result<void> sync(); // to the disk

  std::uint64_t bytes() const { return bytes_; }
  std::uint32_t blocks() const { return blocks_; }
  std::uint64_t rows() const { return rows_; }

private:
  Result<void> write(ByteSpan bytes);
  Result<void> check_untouched() const;

  Fd file_;
  std::string shown_as_;
  std::uint64_t bytes_ = 0;
  std::uint32_t blocks_ = 0;
  std::uint64_t rows_ = 0;
};

} // namespace iotrail::store
