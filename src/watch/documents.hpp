// SPDX-License-Identifier: BSD-3-Clause
//
// What a watcher answers, as documents.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/document.hpp"
#include "watch/watcher.hpp"

namespace iotrail::watch {

// What a log may lack.
std::vector<output::Sentence> missing_of(const LogCopy& log);
output::Document make_log(const std::string& path, const LogCopy& log);
output::Document make_file_list(std::span<const LogState> states);
output::Document make_status(const WatchStatus& status);

} // namespace iotrail::watch
