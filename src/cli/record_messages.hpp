// SPDX-License-Identifier: BSD-3-Clause
//
// What `record`, `stat` and `snapshot` say on standard error, apart from their summary.
#pragma once

#include <string>
#include <vector>

#include "capture/session/recorder.hpp"
#include "cli/console.hpp"

namespace iotrail::cli {

// Says why the preload library cannot see into a static, setuid or 32-bit program, if it is one.
void warn_of_blocker(const Stream& err, const std::vector<std::string>& command);

// Says that a recording of tasks lacks what loop devices on a selected disk do there for them.
void warn_of_loop_devices(const Stream& err, const capture::Filter& filter, bool has_command);

// `is_endless`: no command will end the recording.
void print_begin(const Stream& err, bool is_endless,
                 const std::vector<capture::UnavailableSource>& refusals);
// What can change an answer, instead of a summary; nothing if there is nothing.
void print_warnings_of(const Stream& err, const store::Manifest& manifest);
void print_failure(const Stream& err, const Error& failure);
void print_disk_wait(const Stream& err); // the trace waits for its disk

} // namespace iotrail::cli
