// SPDX-License-Identifier: BSD-3-Clause
//
// --time-limit and --memory-limit of verbs that answer queries.
#pragma once

#include <cstdint>
#include <string>

#include <CLI/CLI.hpp>

#include "base/result.hpp"

namespace iotrail::cli {

struct LimitWords { // as given; "": not given
  std::string time;
  std::string memory;
};

struct GivenLimits { // 0: not given
  std::uint64_t time_ns = 0;
  std::uint64_t memory_bytes = 0;
};

// The texts say what ends at the limits, and the defaults.
void declare_limits(CLI::App& app, LimitWords& words, const std::string& time_help,
                    const std::string& memory_help);
Result<GivenLimits> parse_limits(const LimitWords& words);

} // namespace iotrail::cli
