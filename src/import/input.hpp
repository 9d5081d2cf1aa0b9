// SPDX-License-Identifier: BSD-3-Clause
//
// A file to import: plain, or compressed by gzip or zstd. It is read once, from its begin to its
// end, with bounded memory. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace iotrail::import {

class Input {
public:
  static constexpr std::size_t kHeadBytes = 32U << 10U;
  static constexpr std::size_t kLineBytesMax = 256U << 10U; // a longer line is cut

  // "-" is standard input.
  static Result<Input> open(const std::string& path);
  Input(Input&&) noexcept;
  Input& operator=(Input&&) noexcept;
  ~Input();

  const std::string& path() const;
  // The first bytes of the content, up to kHeadBytes; valid before any is consumed.
  std::string_view head() const;

  // The next `size` bytes without consuming them, fewer at the end of the file. Valid until the next
  // call.
  std::string_view peek(std::size_t size);
  void skip(std::size_t bytes); // at most what peek() returned

  // The next line without its end. It is valid until the next call. Empty optional: the end.
  std::optional<std::string_view> next_line();
  bool was_cut() const; // the last line was longer than kLineBytesMax

  std::uint64_t line() const; // number of the last line, from 1; 0: no line was read
  // "file:7" for text, "file at byte 96" otherwise.
  std::string place() const;

  // Why reading ended before the end of the file; nullptr: it did not.
  const Error* failure() const;

private:
  struct Impl;
  explicit Input(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Fails if one of them could not be read to its end.
Result<void> check_inputs(std::span<const Input> inputs);

// Calls `each` with the lines of all inputs, always one with the earliest time first. A line without
// a time follows the line before it. Fails if an input cannot be read.
using LineTime = std::optional<std::uint64_t> (*)(std::string_view line);
Result<void> for_each_line(std::span<Input> inputs, LineTime time_of,
                           const std::function<void(Input&, std::string_view)>& each);

} // namespace iotrail::import
