// SPDX-License-Identifier: BSD-3-Clause
#include "live_recording.hpp"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

namespace iotrail::live {

ScratchDirectory::ScratchDirectory(const std::filesystem::path& below) {
  std::string pattern = below / "iotrail-live-XXXXXX";
  IOTRAIL_CHECK(::mkdtemp(pattern.data()) != nullptr);
  path_ = std::filesystem::canonical(pattern);
}

ScratchDirectory::~ScratchDirectory() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

Result<std::unique_ptr<capture::Recorder>> open_recorder(const std::filesystem::path& trace,
                                                         std::unique_ptr<capture::Source> source,
                                                         capture::SourceOptions options) {
  capture::RecorderOptions recorder_options;
  recorder_options.trace = trace;
  recorder_options.source = std::move(options);
  std::vector<std::unique_ptr<capture::Source>> sources;
  sources.push_back(std::move(source));
  return capture::Recorder::open(std::move(recorder_options), std::move(sources));
}

int wait_for_child(pid_t pid, const std::function<void()>& step) {
  int status = 0;
  while (::waitpid(pid, &status, WNOHANG) == 0) {
    step();
    ::usleep(1000);
  }
  return status;
}

std::uint64_t counter_of(const store::Manifest& manifest, iot_counter counter) {
  const auto found = manifest.counters.find(std::string(schema::find_counter(counter)->name));
  return found == manifest.counters.end() ? 0 : found->second;
}

} // namespace iotrail::live
