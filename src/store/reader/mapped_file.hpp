// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>

#include "base/bytes.hpp"
#include "base/fd.hpp"
#include "base/result.hpp"

namespace iotrail::store {

// A file mapped for reading; an empty file is an empty span.
class MappedFile {
public:
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept
      : bytes_(std::exchange(other.bytes_, {})), bytes_left_out_(other.bytes_left_out_) {}
  MappedFile& operator=(MappedFile&&) = delete;
  ~MappedFile();

  // `shown_as` is the file's name in errors.
  static Result<MappedFile> open(const Fd& directory, const std::string& name,
                                 const std::filesystem::path& shown_as);

  ByteSpan bytes() const { return bytes_; }
  std::uint64_t bytes_left_out() const { return bytes_left_out_; } // of the file, at its end

private:
  ByteSpan bytes_;
  std::uint64_t bytes_left_out_ = 0;
};

} // namespace iotrail::store
