// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/result.hpp"

namespace iotrail::output {

inline std::unexpected<Error> fail_output(int code) {
  return fail_errno("cannot write the output", code);
}

// Output text for a file or a string. finish() returns the first failed write (disk full, reader
// gone); later text is dropped, and is_broken() lets a long output stop early.
class Sink {
public:
  explicit Sink(std::FILE* file) : file_(file), is_terminal_(::isatty(::fileno(file)) == 1) {}
  // Appends to `text`, which is complete after finish().
  explicit Sink(std::string& text) : text_(&text) {}

  bool is_terminal() const { return is_terminal_; }

  void put(std::string_view text) {
    buffer_ += text;
    if (buffer_.size() >= kBufferBytes)
      flush();
  }
  void put(char c) { put(std::string_view(&c, 1)); }

  template <class... Args> void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Args>(args)...);
    if (buffer_.size() >= kBufferBytes)
      flush();
  }

  bool is_broken() const { return error_ != 0; }

  // Success if the system has accepted everything, else the error. That includes what was written
  // to the file earlier, by others: a stream drops text that it could not write, and keeps a mark
  // but not the reason.
  Result<void> finish() {
    flush();
    if (file_ != nullptr && error_ == 0 && std::fflush(file_) != 0)
      error_ = errno;
    if (file_ != nullptr && error_ == 0 && std::ferror(file_) != 0)
      return fail("cannot write the output");
    if (error_ != 0)
      return fail_output(error_);
    return {};
  }

private:
  static constexpr std::size_t kBufferBytes = 64U << 10U;

  void flush() {
    if (text_ != nullptr)
      *text_ += buffer_;
    else if (error_ == 0 && std::fwrite(buffer_.data(), 1, buffer_.size(), file_) != buffer_.size())
      error_ = errno;
    buffer_.clear();
  }

  std::FILE* file_ = nullptr; // one of these two
  std::string* text_ = nullptr;
  bool is_terminal_ = false;
  std::string buffer_;
  int error_ = 0;
};

} // namespace iotrail::output
