// SPDX-License-Identifier: BSD-3-Clause
//
// Reads the events of watched files from the trace of a recording: the rows of the view file_log.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>

#include "base/result.hpp"
#include "watch/file_log.hpp"
#include "watch/watched_file.hpp"

namespace iotrail::watch {

// A process that has bytes of a file in the page cache which are not on the disk yet.
struct Writer {
  std::uint32_t pid = 0;
  std::string comm;
};

// Of each file, the process with the most such bytes.
using Writers = std::map<FileKey, Writer>;

// Calls `take` for each event of these files from `since_ns` on, in the order of time. Bytes that were dirty before the
// recording belong to `writers`. `take` may drop the event.
Result<void> read_events(const std::filesystem::path& trace, std::span<const WatchedFile> files,
                         std::uint64_t since_ns, std::uint64_t until_ns, const Writers& writers,
                         const std::function<void(const FileKey&, LogEntry)>& take);

// At the end of the recording.
Result<Writers> read_writers(const std::filesystem::path& trace,
                             std::span<const WatchedFile> files);

} // namespace iotrail::watch
