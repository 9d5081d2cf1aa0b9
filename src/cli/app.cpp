// SPDX-License-Identifier: BSD-3-Clause
#include "cli/app.hpp"

#include <algorithm>
#include <utility>

#include "cli/help.hpp"

namespace iotrail::cli {
namespace {

const char* heading(Group group) {
  switch (group) {
  case Group::record:
    return "Record";
  case Group::read:
    return "Read a trace";
  case Group::manage:
    return "Manage traces";
  case Group::machine:
    return "Learn what can be recorded";
  }
  return "";
}

// An empty value would count as none: as if the option were not there. Scripts have them by mistake ("$UNSET").
void refuse_empty_values(CLI::App& verb) {
  const CLI::Validator not_empty(
      [](const std::string& text) {
        return text.empty() ? std::string("its value is empty; give one, or leave it out")
                            : std::string();
      },
      "");
  for (CLI::Option* option : verb.get_options())
    if (option->get_items_expected_max() > 0)
      option->check(not_empty);
}

} // namespace

std::unique_ptr<CLI::App> make_app(std::span<const Verb* const> verbs, const Trailing& trailing,
                                   Action& action) {
  auto app = std::make_unique<CLI::App>(
      "iotrail follows every I/O from the application's call to the device.", "iotrail");
  const auto formatter = std::make_shared<HelpFormatter>();
  app->formatter(formatter);
  app->set_version_flag("--version", "iotrail " IOTRAIL_VERSION);
  app->require_subcommand(1);
  app->failure_message(CLI::FailureMessage::simple);
  std::vector<const Verb*> ordered(verbs.begin(), verbs.end());
  std::ranges::sort(ordered, {},
                    [](const Verb* verb) { return std::pair(verb->group, verb->rank); });
  for (const Verb* verb : ordered) {
    CLI::App* sub = app->add_subcommand(std::string(verb->name), std::string(verb->summary));
    sub->group(heading(verb->group));
    formatter->add(sub, verb);
    sub->callback([&action, declared = verb->declare(*sub, trailing)] { action = declared; });
    refuse_empty_values(*sub);
  }
  return app;
}

} // namespace iotrail::cli
