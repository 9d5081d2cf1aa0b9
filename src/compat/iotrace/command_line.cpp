// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/command_line.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <sstream>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "cli/exit.hpp"
#include "cli/help.hpp"
#include "cli/messages.hpp"
#include "compat/iotrace/answers/answer.hpp"
#include "compat/iotrace/configuration.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"

namespace iotrail::compat::iotrace {
namespace {

struct Chosen {
  const Module* module;
  const Command* command;
};

std::string call_of(const Chosen& chosen) {
  return fmt::format("iotrace {}--{}",
                     chosen.module->name.empty() ? "" : fmt::format("--{} ", chosen.module->name),
                     chosen.command->name);
}

class CommandHelp : public cli::HelpFormatter {
public:
  explicit CommandHelp(const Chosen& chosen) : call_(call_of(chosen)) {}

  std::string make_usage(const CLI::App*, std::string) const override {
    return fmt::format("Usage: {} [OPTION]...\n", call_);
  }

private:
  std::string call_;
};

bool is_named(std::string_view word, char letter, std::string_view name) {
  return (letter != 0 && word == std::string{'-', letter}) ||
         (!name.empty() && word.starts_with("--") && word.substr(2) == name);
}

bool asks_for_help(std::string_view word) {
  return word == "-H" || word == "--help" || word == "-h";
}

const Module* find_module(std::string_view word) {
  const auto found = std::ranges::find_if(
      modules(), [&](const Module& one) { return is_named(word, one.letter, one.name); });
  return found == modules().end() ? nullptr : &*found;
}

const Command* find_command(const Module& module, std::string_view word) {
  const auto found = std::ranges::find_if(module.commands, [&](const Command& one) {
    return is_named(word, one.letter, one.name) || is_named(word, 0, one.old_name);
  });
  return found == module.commands.end() ? nullptr : &*found;
}

// Without a module, only long names are clear.
std::optional<Chosen> find_without_module(std::string_view word) {
  for (const Module& module : modules()) {
    if (module.letter != 0 && !word.starts_with("--"))
      continue;
    if (const Command* command = find_command(module, word))
      return Chosen{&module, command};
  }
  return std::nullopt;
}

std::vector<std::string> names_for(const Module* module) {
  std::vector<std::string> names{"--help"};
  for (const Module& one : modules()) {
    if (module != nullptr && module != &one)
      continue;
    if (module == nullptr && !one.name.empty())
      names.push_back(fmt::format("--{}", one.name));
    for (const Command& command : one.commands)
      names.push_back(fmt::format("--{}", command.name));
  }
  return names;
}

void put_entry(output::Sink& sink, char letter, std::string_view name, std::string_view summary) {
  sink.print("   -{}  --{:<27}  {}\n", letter, name, summary);
}

void put_usage(output::Sink& sink, const Module* module) {
  if (module != nullptr) {
    sink.print("Usage: iotrace --{0} COMMAND [OPTION]...\n       iotrace --{0} COMMAND --help\n\n"
               "Commands:\n",
               module->name);
    for (const Command& command : module->commands)
      put_entry(sink, command.letter, command.name, command.summary);
    return;
  }
  sink.put("Usage: iotrace COMMAND [OPTION]...\n       iotrace MODULE COMMAND [OPTION]...\n"
           "       iotrace [MODULE] COMMAND --help\n\nModules:\n");
  for (const Module& one : modules())
    if (!one.name.empty())
      put_entry(sink, one.letter, one.name, one.summary);
  sink.put("\nCommands:\n");
  put_entry(sink, 'H', "help", "Print this help");
  put_entry(sink, 'V', "version", "Print the version");
  for (const Module& one : modules())
    if (one.name.empty())
      for (const Command& command : one.commands)
        put_entry(sink, command.letter, command.name, command.summary);
  sink.put("\niotrail prints this, in place of Open CAS iotrace; see iotrail(1).\n");
}

std::unexpected<Error> unknown_word(const Module* module, std::string_view word) {
  const std::string help =
      module == nullptr ? "iotrace --help" : fmt::format("iotrace --{} --help", module->name);
  const std::string near = did_you_mean(word, names_for(module));
  return fail_usage(
      fmt::format("unknown {} '{}'", module == nullptr ? "module or command" : "command", word), {},
      fmt::format("{}{}See `{}`.", near, near.empty() ? "" : " ", help));
}

Result<void> run_command(const cli::Console& console, const Chosen& chosen,
                         std::vector<std::string> options) {
  CLI::App app(std::string(chosen.command->summary), call_of(chosen));
  app.formatter(std::make_shared<CommandHelp>(chosen));
  app.set_help_flag("-H,--help", "Print this help");
  app.option_defaults()->group("Options");
  app.failure_message(CLI::FailureMessage::simple);
  const Action action = chosen.command->declare(app);
  std::ranges::reverse(options); // the parser takes them from the back
  try {
    app.parse(options);
  } catch (const CLI::ParseError& parse) {
    std::ostringstream help;
    if (parse.get_exit_code() == 0) {
      app.exit(parse, help);
      output::Sink sink(console.out.file);
      sink.put(help.str());
      return sink.finish();
    }
    std::string what = parse.what();
    if (const std::vector<std::string> left = app.remaining(); !left.empty())
      what = fmt::format("not expected: {}", fmt::join(left, " "));
    return fail_usage(std::move(what), {}, fmt::format("See `{} --help`.", call_of(chosen)));
  }
  return action(console);
}

// Two records, as iotrace prints them: of itself, and of the library that it is built on.
Result<void> print_versions(const cli::Console& console) {
  output::Sink sink(console.out.file);
  for (const char* name : {"iotrace", "octf"})
    sink.put(line_text({{"name", name}, {"version", IOTRAIL_VERSION}, {"program", "iotrail"}}));
  return sink.finish();
}

Result<void> run_words(const cli::Console& console, const std::vector<std::string>& words) {
  output::Sink sink(console.out.file);
  if (words.empty())
    return fail_usage("no command given", {}, "See `iotrace --help`.");
  if (asks_for_help(words.front())) {
    put_usage(sink, nullptr);
    return sink.finish();
  }
  if (words.front() == "-V" || words.front() == "--version")
    return print_versions(console);
  if (const auto chosen = find_without_module(words.front()))
    return run_command(console, *chosen, {std::next(words.begin()), words.end()});
  const Module* module = find_module(words.front());
  if (module == nullptr)
    return unknown_word(nullptr, words.front());
  if (words.size() == 1)
    return fail_usage(fmt::format("--{}: no command given", module->name), {},
                      fmt::format("See `iotrace --{} --help`.", module->name));
  if (asks_for_help(words[1])) {
    put_usage(sink, module);
    return sink.finish();
  }
  const Command* command = find_command(*module, words[1]);
  if (command == nullptr)
    return unknown_word(module, words[1]);
  return run_command(console, {module, command}, {words.begin() + 2, words.end()});
}

} // namespace

CLI::Validator within(std::uint64_t least, std::uint64_t most) {
  return CLI::Validator(
      [least, most](const std::string& text) {
        std::uint64_t number = 0;
        const char* end = text.data() + text.size();
        const auto [at, code] = std::from_chars(text.data(), end, number);
        if (code != std::errc() || at != end || number < least || number > most)
          return fmt::format("'{}' is not a number from {} to {}", text, least, most);
        return std::string();
      },
      "");
}

std::span<const Module> modules() {
  static const Module kModules[] = {
      {0, "", "", tracing_commands()},
      {'M', "trace-management", "List, summarize and remove traces", management_commands()},
      {'P', "trace-parser", "Print events, statistics, histograms", parser_commands()},
      {'C', "trace-config", "The directory of traces", config_commands()},
  };
  return kModules;
}

Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments) {
  Result<void> done = use_repository();
  if (done)
    done = run_words(console, arguments);
  if (done)
    return 0;
  cli::print_message(console.err,
                     fmt::format("iotrace: {}", output::printable_message(done.error())));
  return static_cast<int>(cli::Exit::failed);
}

} // namespace iotrail::compat::iotrace
