// SPDX-License-Identifier: BSD-3-Clause
//
// The requests that a running watcher takes over its socket, as words, and its answers.
//   add PATH MAX        -> the name of the log
//   remove PATH
//   start|stop|reset|timereset PATH
//   list                -> for each file: name, enabled, time zero, room, entries, number of paths, paths
//   log PATH            -> time zero, then for each entry: time, R or W, VFS or BLK, address, bytes, pid, name
//   status              -> files, recordings, lost, bytes of the trace, failure
// PATH is absolute, or the name of a log.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "watch/control_socket.hpp"
#include "watch/watcher.hpp"

namespace iotrail::watch {

Result<Words> answer_request(Watcher& watcher, const Words& request);

// The same of the running watcher, for another process.
Result<std::string> ask_to_add(const std::string& path, std::size_t most);
Result<void> ask_to(const std::string& command, const std::string& path);
Result<std::vector<LogState>> ask_for_list();
Result<LogCopy> ask_for_log(const std::string& path);
Result<WatchStatus> ask_for_status();

} // namespace iotrail::watch
