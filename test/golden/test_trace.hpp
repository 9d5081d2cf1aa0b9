// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <unistd.h>

#include <filesystem>
#include <string>
#include <string_view>

#include "text_trace.hpp"

namespace iotrail::golden {

// A trace made from text in its own directory; the destructor removes both.
class TestTrace {
public:
  explicit TestTrace(std::string_view text) {
    std::string pattern = (std::filesystem::temp_directory_path() / "trace-XXXXXX").string();
    IOTRAIL_CHECK(::mkdtemp(pattern.data()) != nullptr);
    directory_ = pattern;
    const auto written = write_text_trace(text, path());
    if (!written)
      std::fprintf(stderr, "%s\n", written.error().message().c_str());
    IOTRAIL_CHECK(written.has_value());
  }
  TestTrace(const TestTrace&) = delete;
  TestTrace& operator=(const TestTrace&) = delete;
  ~TestTrace() { std::filesystem::remove_all(directory_); }

  std::filesystem::path path() const { return directory_ / "test.iotrail"; }
  const std::filesystem::path& directory() const { return directory_; }

private:
  std::filesystem::path directory_;
};

} // namespace iotrail::golden
