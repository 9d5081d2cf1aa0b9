// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/limit_options.hpp"

#include "cli/options/parse_units.hpp"

namespace iotrail::cli {

void declare_limits(CLI::App& app, LimitWords& words, const std::string& time_help,
                    const std::string& memory_help) {
  app.add_option("--time-limit", words.time, time_help)->type_name("TIME");
  app.add_option("--memory-limit", words.memory, memory_help)->type_name("SIZE");
}

Result<GivenLimits> parse_limits(const LimitWords& words) {
  const auto time_ns = parse_duration("--time-limit", words.time);
  if (!time_ns)
    return std::unexpected(time_ns.error());
  const auto memory_bytes = parse_size("--memory-limit", words.memory);
  if (!memory_bytes)
    return std::unexpected(memory_bytes.error());
  return GivenLimits{.time_ns = *time_ns, .memory_bytes = *memory_bytes};
}

} // namespace iotrail::cli
