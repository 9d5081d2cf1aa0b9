// SPDX-License-Identifier: BSD-3-Clause
#include "cli/run.hpp"

#include <algorithm>
#include <cstdio>
#include <iterator>
#include <ranges>
#include <sstream>
#include <system_error>

#include <fmt/ranges.h>

#include "base/nearest_name.hpp"
#include "base/shell_word.hpp"
#include "cli/app.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "store/format/trace_directory.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"

namespace iotrail::cli {
namespace {

using Verbs = std::span<const Verb* const>;

int print_error(const Console& console, const Error& error) {
  print_message(console.err, fmt::format("iotrail: {}", output::printable_message(error)));
  return static_cast<int>(exit_of(error));
}

const Verb* find_verb(Verbs verbs, std::string_view name) {
  const auto found = std::ranges::find(verbs, name, &Verb::name);
  return found == verbs.end() ? nullptr : *found;
}

std::vector<std::string> long_options(const CLI::App& app) {
  std::vector<std::string> options;
  for (const CLI::Option* option : app.get_options())
    for (const std::string& name : option->get_lnames())
      options.push_back("--" + name);
  return options;
}

// "Did you mean '--layers'?" of the first word that is no option of `verb`.
std::string near_option(const CLI::App& verb) {
  const std::vector<std::string> words = verb.remaining();
  const auto word =
      std::ranges::find_if(words, [](const std::string& text) { return text.starts_with("--"); });
  return word == words.end() ? std::string()
                             : did_you_mean(word->substr(0, word->find('=')), long_options(verb));
}

// Rewords CLI11's messages that do not say what is wrong: "Could not convert: --pid = abc", and the words that no option
// takes from the last to the first.
std::string parse_problem(const CLI::ParseError& parse, const std::vector<std::string>& left) {
  constexpr std::string_view kConvert = "Could not convert: ";
  std::string what = parse.what();
  const std::size_t equals = what.find(" = ");
  if (dynamic_cast<const CLI::ExtrasError*>(&parse) != nullptr && !left.empty())
    return fmt::format("not expected: {}", fmt::join(left, " "));
  if (what == "trace is required")
    return "no trace is named; `latest` stands for the last one recorded";
  if (!what.starts_with(kConvert) || equals == what.npos)
    return what;
  return fmt::format("{}: '{}' is no number that it takes",
                     what.substr(kConvert.size(), equals - kConvert.size()),
                     what.substr(equals + 3));
}

// The command that `ls -l` was meant to be, for a shell: from its first word on, with what was taken
// for options of the verb.
std::string command_from(const std::vector<std::string>& arguments, const std::string& first) {
  std::vector<std::string> words;
  std::transform(std::ranges::find(arguments, first), arguments.end(), std::back_inserter(words),
                 shell_word);
  return fmt::format("{}", fmt::join(words, " "));
}

Error error_of_parsing(Verbs verbs, const CLI::App& app, const CLI::ParseError& parse,
                       const std::vector<std::string>& arguments) {
  const auto chosen = app.get_subcommands();
  const CLI::App& asked = chosen.empty() ? app : *chosen.front();
  const std::string name = chosen.empty() ? "" : asked.get_name();
  const std::vector<std::string> left = asked.remaining();
  const Verb* verb = find_verb(verbs, name);
  if (verb != nullptr && verb->takes_command && !left.empty() && !left.front().starts_with('-'))
    return left.front().ends_with(store::kTraceSuffix)
               ? fail_usage(fmt::format("'{}' is no option of {}", left.front(), name), {},
                            fmt::format("-o names the trace: iotrail {} -o {}", name,
                                        shell_word(left.front())))
                     .error()
               : fail_usage(fmt::format("'{}' is no option of {}", left.front(), name), {},
                            fmt::format("A command follows after `--`: iotrail {} -- {}", name,
                                        command_from(arguments, left.front())))
                     .error();
  const std::string help = name.empty() ? "iotrail --help" : fmt::format("iotrail {} --help", name);
  std::string hint = name.empty() ? std::string() : near_option(asked);
  hint += fmt::format("{}See `{}`.", hint.empty() ? "" : " ", help);
  return fail_usage(parse_problem(parse, left), {}, std::move(hint)).error();
}

// `iotrail recrod`: CLI11 would only say that an argument was not expected.
Result<void> check_verb(Verbs verbs, const CLI::App& app,
                        const std::vector<std::string>& arguments) {
  if (arguments.empty())
    return fail_usage("no verb given", {}, "See `iotrail --help`; to begin: `iotrail -- COMMAND`.");
  const std::string& verb = arguments.front();
  if (find_verb(verbs, verb) != nullptr || app.get_option_no_throw(verb) != nullptr)
    return {};
  const bool is_option = verb.starts_with('-');
  std::string hint = is_option ? did_you_mean(verb, long_options(app))
                               : did_you_mean(verb, verbs | std::views::transform(&Verb::name));
  hint += hint.empty() ? "" : " ";
  if (is_option)
    return fail_usage(fmt::format("'{}' is no option of iotrail itself", verb), {},
                      hint + "A verb comes first, its options follow: `iotrail record --help`. See "
                             "`iotrail --help` for the verbs there are.");
  return fail_usage(fmt::format("unknown verb '{}'", verb), {},
                    hint + "See `iotrail --help` for the verbs there are.");
}

// `iotrail help record`, as other programs have it.
void take_help_as_option(std::vector<std::string>& arguments) {
  if (arguments.empty() || arguments.front() != "help")
    return;
  arguments.erase(arguments.begin());
  arguments.resize(std::min<std::size_t>(arguments.size(), 1));
  arguments.emplace_back("--help");
}

// `iotrail -- make`: the verb that does all of it.
void add_default_verb(std::vector<std::string>& arguments) {
  if (!arguments.empty() && arguments.front() == "--")
    arguments.insert(arguments.begin(), "run");
}

bool takes_no_command(Verbs verbs, const std::vector<std::string>& arguments) {
  return !arguments.empty() && std::ranges::any_of(verbs, [&](const Verb* verb) {
    return verb->name == arguments.front() && !verb->takes_command;
  });
}

bool takes_words(Verbs verbs, const std::vector<std::string>& arguments) {
  if (arguments.size() < 2 || arguments[1] == "--help" || arguments[1] == "-h")
    return false;
  const Verb* verb = find_verb(verbs, arguments.front());
  return verb != nullptr && verb->takes_words;
}

// The words behind `--`, which go from `arguments`. For a verb without a command, they are names of
// traces like those before.
Trailing split_trailing(Verbs verbs, std::vector<std::string>& arguments) {
  if (takes_words(verbs, arguments)) {
    Trailing words(std::next(arguments.begin()), arguments.end());
    arguments.resize(1);
    return words;
  }
  if (takes_no_command(verbs, arguments))
    return {};
  const auto dashes = std::ranges::find(arguments, "--");
  Trailing trailing;
  if (dashes != arguments.end())
    trailing.assign(std::next(dashes), arguments.end());
  arguments.erase(dashes, arguments.end());
  return trailing;
}

Result<int> run_verb(Verbs verbs, std::vector<std::string> arguments, const Console& console) {
  add_default_verb(arguments);
  const Trailing trailing = split_trailing(verbs, arguments);
  Action action;
  const std::unique_ptr<CLI::App> app = make_app(verbs, trailing, action);
  take_help_as_option(arguments);
  if (Result<void> checked = check_verb(verbs, *app, arguments); !checked)
    return std::unexpected(checked.error());
  try {
    app->parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); // from the back
  } catch (const CLI::ParseError& parse) { // CLI11 reports help, version and mistakes so
    if (parse.get_exit_code() != 0)
      return std::unexpected(error_of_parsing(verbs, *app, parse, arguments));
    std::ostringstream asked_for;
    const int status = app->exit(parse, asked_for);
    fmt::print(console.out.file, "{}", asked_for.str());
    return status;
  }
  return action(console);
}

} // namespace

int run(std::span<const Verb* const> verbs, std::vector<std::string> arguments,
        const Console& console) {
  // Verbs may print without looking back: a full disk shows here, at the end, or where fmt::print throws.
  try {
    const Result<int> status = run_verb(verbs, std::move(arguments), console);
    if (!status)
      return print_error(console, status.error());
    const Result<void> written = output::Sink(console.out.file).finish();
    return written ? *status : print_error(console, written.error());
  } catch (const std::system_error& refusal) {
    if (std::ferror(console.out.file) == 0)
      throw;
    return print_error(console, output::fail_output(refusal.code().value()).error());
  }
}

} // namespace iotrail::cli
