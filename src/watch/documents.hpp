// SPDX-License-Identifier: BSD-3-Clause
//
// What a watcher answers, as documents.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "report/document.hpp"
#include "watch/watcher.hpp"

namespace iotrail::watch {

// Nothing: all events are in the log.
std::optional<output::Sentence> lost_of(const LogCopy& log);
output::Document make_log(const std::string& path, const LogCopy& log);
output::Document make_file_list(std::span<const LogState> states);
output::Document make_status(const WatchStatus& status);

} // namespace iotrail::watch
