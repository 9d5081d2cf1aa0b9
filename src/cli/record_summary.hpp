// SPDX-License-Identifier: BSD-3-Clause
//
// What `record` says on stderr, before and after: which layers it records and why others not, and the account.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "capture/session/recorder.hpp"
#include "cli/console.hpp"

namespace iotrail::cli {

// Says why the preload library cannot see into a static, setuid or 32-bit program, if it is one.
void warn_of_blocker(const Stream& err, const std::vector<std::string>& command);

// `is_endless`: no command will end the recording.
void print_begin(const Stream& err, bool is_endless,
                 const std::vector<capture::UnavailableSource>& refusals);
// Nothing where there are none. `trace`: where more is said of them; empty: nowhere, it is not kept.
void print_losses(const Stream& err, const store::Manifest& manifest,
                  const std::filesystem::path& trace);
// What went wrong with data, and what else was counted; nothing where there is none.
void print_counters(const Stream& err, const store::Manifest& manifest);
void print_failure(const Stream& err, const Error& failure);
void print_disk_wait(const Stream& err); // the trace waits for its disk
// `not_asked_for`: events that only --events would have recorded.
void print_summary(const Stream& err, const store::Manifest& manifest,
                   const std::filesystem::path& trace,
                   std::span<const std::string_view> not_asked_for);

} // namespace iotrail::cli
