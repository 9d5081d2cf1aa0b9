// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the live tests of all layers: a scratch directory, a recorder of one source, and
// waiting for a child.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "capture/session/recorder.hpp"

namespace iotrail::live {

class ScratchDirectory {
public:
  explicit ScratchDirectory(
      const std::filesystem::path& below = std::filesystem::temp_directory_path());
  ~ScratchDirectory();
  ScratchDirectory(const ScratchDirectory&) = delete;
  ScratchDirectory& operator=(const ScratchDirectory&) = delete;

  std::string operator/(std::string_view name) const { return (path_ / name).string(); }
  const std::filesystem::path& path() const { return path_; }

private:
  std::filesystem::path path_;
};

Result<std::unique_ptr<capture::Recorder>> open_recorder(const std::filesystem::path& trace,
                                                         std::unique_ptr<capture::Source> source,
                                                         capture::SourceOptions options);

// Calls `step` every millisecond until the child has ended. Returns the status of waitpid.
int wait_for_child(pid_t pid, const std::function<void()>& step);

// 0 if the manifest does not have the counter.
std::uint64_t counter_of(const store::Manifest& manifest, iot_counter counter);

} // namespace iotrail::live
