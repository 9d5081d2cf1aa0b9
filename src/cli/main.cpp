// SPDX-License-Identifier: BSD-3-Clause
//
// Parses the command line, runs one verb, prints its error if it has one.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <new>
#include <ranges>
#include <sstream>
#include <system_error>

#include "base/nearest_name.hpp"
#include "cli/commands.hpp"
#include "cli/exit.hpp"
#include "cli/help.hpp"
#include "cli/tell.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"

namespace iotrail::cli {
namespace {

int print_error(const Error& error) {
  tell(fmt::format("iotrail: {}", output::printable_lines(error.message())));
  return static_cast<int>(exit_of(error));
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

// In our words where CLI11's do not say what is wrong: "Could not convert: --pid = abc", and the words that no option takes
// from the last to the first.
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

// The command that `ls -l` was meant to be: from its first word on, with what was taken for options of `verb`.
std::vector<std::string> command_from(const std::vector<std::string>& arguments,
                                      const std::string& first) {
  return {std::ranges::find(arguments, first), arguments.end()};
}

// CLI11 tells help, version and mistakes all by exceptions; they end here.
int end_of_parsing(const CLI::App& app, const CLI::ParseError& parse,
                   const std::vector<std::string>& arguments) {
  if (parse.get_exit_code() == 0) {
    std::ostringstream asked_for;
    const int status = app.exit(parse, asked_for);
    fmt::print("{}", asked_for.str());
    return status;
  }
  const auto chosen = app.get_subcommands();
  const std::string verb = chosen.empty() ? "" : chosen.front()->get_name();
  if (verb == "record" || verb == "stat") { // `ls -l`: its options are taken for iotrail's
    const std::vector<std::string> words = chosen.front()->remaining();
    if (!words.empty() && !words.front().starts_with('-'))
      return print_error(
          fail_usage(fmt::format("'{}' is no option of {}", words.front(), verb), {},
                     fmt::format("A command follows after `--`: iotrail {} -- {}", verb,
                                 fmt::join(command_from(arguments, words.front()), " ")))
              .error());
  }
  const std::string help = verb.empty() ? "iotrail --help" : fmt::format("iotrail {} --help", verb);
  std::string hint = chosen.empty() ? std::string() : near_option(*chosen.front());
  hint += fmt::format("{}See `{}`.", hint.empty() ? "" : " ", help);
  const std::vector<std::string> left =
      chosen.empty() ? app.remaining() : chosen.front()->remaining();
  return print_error(fail_usage(parse_problem(parse, left), {}, std::move(hint)).error());
}

// `iotrail recrod`: CLI11 would only say that an argument was not expected.
Result<void> check_verb(const CLI::App& app, const std::vector<std::string>& arguments) {
  if (arguments.empty())
    return fail_usage("no verb given", {},
                      "See `iotrail --help`; to begin: `iotrail record -- COMMAND`.");
  const std::string& verb = arguments.front();
  const bool known =
      std::ranges::any_of(verbs(), [&](const Verb& row) { return row.name == verb; });
  if (known || app.get_option_no_throw(verb) != nullptr)
    return {};
  const bool is_option = verb.starts_with('-');
  std::string hint = is_option ? did_you_mean(verb, long_options(app))
                               : did_you_mean(verb, verbs() | std::views::transform(&Verb::name));
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

int run(std::vector<std::string> arguments) {
  const auto dashes = std::ranges::find(arguments, "--");
  Trailing trailing;
  if (dashes != arguments.end())
    trailing.assign(std::next(dashes), arguments.end());
  arguments.erase(dashes, arguments.end());

  CLI::App app("iotrail follows every I/O from the application's call to the device.", "iotrail");
  app.formatter(help_formatter());
  app.set_version_flag("--version", "iotrail " IOTRAIL_VERSION);
  app.require_subcommand(1);
  app.failure_message(CLI::FailureMessage::simple);
  Action action;
  for (const Verb& verb : verbs()) {
    CLI::App* sub = app.add_subcommand(std::string(verb.name), std::string(verb.summary));
    Action declared = verb.declare(*sub, trailing);
    refuse_empty_values(*sub);
    sub->callback([&action, declared = std::move(declared)] { action = declared; });
  }
  take_help_as_option(arguments);
  if (Result<void> checked = check_verb(app, arguments); !checked)
    return print_error(checked.error());
  try {
    app.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend())); // from the back
  } catch (const CLI::ParseError& parse) {
    return end_of_parsing(app, parse, arguments);
  }
  Result<int> status = action();
  return status ? *status : print_error(status.error());
}

// Verbs print without looking back: that standard output takes no more shows here, at its end or where fmt::print throws.
int run_to_the_end(const std::vector<std::string>& arguments) {
  try {
    const int status = run(arguments);
    if (status != static_cast<int>(Exit::ok))
      return status;
    Result<void> written = output::Sink(stdout).finish();
    return written ? status : print_error(written.error());
  } catch (const std::system_error& refusal) {
    if (std::ferror(stdout) == 0)
      throw;
    return print_error(output::fail_output(refusal.code().value()).error());
  }
}

// Who was started with a standard stream closed would have a file of its own in its place, and print into that.
void open_standard_streams() {
  int fd = 0;
  do
    fd = ::open("/dev/null", O_RDWR); // the lowest that is free
  while (fd >= 0 && fd <= STDERR_FILENO);
  if (fd >= 0)
    ::close(fd);
}

} // namespace
} // namespace iotrail::cli

int main(int argc, char** argv) {
  iotrail::cli::open_standard_streams();
  ::signal(SIGXFSZ, SIG_IGN); // that a file may not grow is an error to be told
  try {
    return iotrail::cli::run_to_the_end({argv + 1, argv + argc});
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "iotrail: out of memory\n  Raise the limit of memory (ulimit -v, the "
                         "control group's), or end other programs.\n");
    return static_cast<int>(iotrail::cli::Exit::failed);
  } catch (const std::exception& bug) {
    std::fprintf(stderr, "iotrail: bug: %s\n", bug.what());
    return static_cast<int>(iotrail::cli::Exit::failed);
  }
}
