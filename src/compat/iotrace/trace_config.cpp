// SPDX-License-Identifier: BSD-3-Clause
#include <memory>

#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/command_line.hpp"
#include "compat/iotrace/configuration.hpp"
#include "store/format/trace_directory.hpp"

namespace iotrail::compat::iotrace {
namespace {

Result<void> print_repository(const cli::Console& console) {
  return print_answer(console, {{"path", store::repository_path().native()}});
}

Action declare_get(CLI::App&) {
  return print_repository;
}

Action declare_set(CLI::App& app) {
  auto path = std::make_shared<std::string>();
  app.add_option("-p,--path", *path, "An existing directory")->type_name("PATH")->required();
  app.footer(fmt::format("It is kept in {}.", configuration_path().native()));
  return [path](const cli::Console& console) -> Result<void> {
    if (const auto set = set_repository(*path); !set)
      return set;
    if (const auto used = use_repository(); !used)
      return used;
    return print_repository(console);
  };
}

} // namespace

std::span<const Command> config_commands() {
  static constexpr Command kCommands[] = {
      {'G', "get-trace-repository-path", "", "Print the directory of traces", declare_get},
      {'S', "set-trace-repository-path", "", "Set the directory of traces", declare_set},
  };
  return kCommands;
}

} // namespace iotrail::compat::iotrace
