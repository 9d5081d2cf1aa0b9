// SPDX-License-Identifier: BSD-3-Clause
//
// What `record` says on stderr, before and after: which layers it records and why others not, and the account.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "capture/session.hpp"

namespace iotrail::cli {

// Says why the preload library cannot see into a static, setuid or 32-bit program, if it is one.
void warn_of_obstacle(const std::string& command);

void print_begin(const store::Manifest& manifest, const std::vector<capture::Refusal>& refusals);
void print_losses(const capture::SessionSummary& summary,
                  const std::filesystem::path& trace); // nothing: none
void print_summary(const capture::SessionSummary& summary, const std::filesystem::path& trace);

} // namespace iotrail::cli
