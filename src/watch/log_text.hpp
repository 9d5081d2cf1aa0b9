// SPDX-License-Identifier: BSD-3-Clause
//
// The lines of the b-com I/O tracer: the log of a file, its state, the list of files, and the commands for them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "watch/watcher.hpp"

namespace iotrail::watch {

// "61633.318652058;R;1879048192;16384;VFS;ATA-0;14272\n" for each entry. The time counts from `zero_ns`. Line ends in a
// name become blanks.
std::string log_text(const LogCopy& log);

// "1 5141.203451234 10 0\n": enabled, time zero, room for entries, entries.
std::string state_text(const LogState& state);

// "sda1_131 /srv/a /srv/b\n" for each file.
std::string list_text(std::span<const LogState> states);

// A line that a program wrote to the control file of all logs: "add PATH [MAX]", "remove PATH". The path may have blanks.
struct ControlLine {
  bool is_add = false;
  std::string path;
  std::size_t most = 0; // 0: not given
};
inline constexpr std::size_t kControlBytesMost = 4096 + 19;
Result<ControlLine> parse_control(std::string_view line);

// "start", "stop", "reset", "timereset"; blanks around it do not count.
std::optional<LogCommand> parse_log_command(std::string_view line);

} // namespace iotrail::watch
