// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "capture/request/request.hpp"

namespace iotrail::cli {

// The kinds of snapshots as the user names them: "fs, process, system".
std::string snapshot_kinds();

// Of a name; `option` is named in the error.
Result<iot_u32> parse_snapshot_kind(std::string_view option, std::string_view name);

// Each text is "KIND,...[:PERIOD]", where KIND is fs, fs=PATH, process or system; a file system without a path is taken
// from `root` on.
Result<capture::SnapshotOptions> parse_snapshots(std::string_view option,
                                                 const std::vector<std::string>& texts,
                                                 const std::string& root);

} // namespace iotrail::cli
