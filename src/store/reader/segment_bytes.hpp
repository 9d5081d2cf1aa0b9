// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>

#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::store {

// The bytes of a segment's file, copied piece by piece. A trace can be cut while it is read: memory that maps the file
// would then end the reader by SIGBUS.
class SegmentBytes {
public:
  // `shown_as` is the file's name in errors.
  static Result<SegmentBytes> open(const Fd& directory, const std::string& name,
                                   const std::filesystem::path& shown_as);

  std::uint64_t size() const { return size_; } // when it was opened, without bytes_left_out()
  std::uint64_t bytes_left_out() const { return bytes_left_out_; } // at the file's end

  // Fills `into` from `offset` on. Returns the number of bytes, which is smaller where the file ends or cannot be read.
  // Safe from several threads.
  std::size_t read(std::uint64_t offset, std::span<std::byte> into) const;

private:
  Fd file_;
  std::uint64_t size_ = 0;
  std::uint64_t bytes_left_out_ = 0;
};

} // namespace iotrail::store
