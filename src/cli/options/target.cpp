// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/target.hpp"

#include <filesystem>

#include "capture/session/command.hpp"
#include "cli/options/operation_options.hpp"

namespace iotrail::cli {

void declare_target(CLI::App& app, Target& target) {
  declare_events(app, target.events);
  declare_filter(app, target.things);
  declare_operations(app, target.things.wanted, target.things.excluded);
}

Result<capture::Filter> make_filter(const Target& target, const Trailing& command,
                                    std::string_view verb) {
  capture::Filter filter;
  const bool has_command = !command.empty();
  if (Result<void> selected = select_things(target.things, has_command, verb, filter); !selected)
    return std::unexpected(selected.error());
  if (has_command)
    if (const auto file = capture::find_command(command.front()); !file)
      return std::unexpected(file.error());
  if (Result<void> selected = select_events(target.events, has_command, filter); !selected)
    return std::unexpected(selected.error());
  return filter;
}

std::vector<std::string> filters_text(const Target& target) {
  std::vector<std::string> words = filters_text(target.things);
  const auto add = [&](std::string_view option, const std::vector<std::string>& values) {
    for (const std::string& value : values)
      words.push_back(fmt::format("{} {}", option, value));
  };
  add("--operations", target.things.wanted.operations);
  add("--exclude-operations", target.things.excluded.operations);
  add("--events", target.events.events);
  add("--exclude-layers", target.events.excluded_layers);
  add("--exclude-events", target.events.excluded_events);
  return words;
}

std::string trace_name(const Target& target, const Trailing& command) {
  return command.empty() ? name_of_target(target.things)
                         : std::filesystem::path(command.front()).filename().native();
}

} // namespace iotrail::cli
