// SPDX-License-Identifier: BSD-3-Clause
#include <algorithm>
#include <filesystem>
#include <memory>

#include "cli/messages.hpp"
#include "cli/options/parse_units.hpp"
#include "cli/print_document.hpp"
#include "cli/sessions/watch_session.hpp"
#include "cli/verb.hpp"
#include "render/text/value_text.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"
#include "watch/documents.hpp"
#include "watch/log_text.hpp"
#include "watch/requests.hpp"

namespace iotrail::cli {
namespace {

struct WatchOptions {
  std::vector<std::string> words;
  std::string point;
  std::string most;
  bool json = false;
  bool raw = false;
};

constexpr std::string_view kCommands[] = {"add",   "remove", "list",      "status", "log",
                                          "start", "stop",   "timereset", "reset"};

// As the watcher gets it: absolute, or the name of a log (sda1_131).
std::string path_of(const std::string& word) {
  std::error_code code;
  const bool may_be_log = !word.contains('/') && word.contains('_');
  if (may_be_log && !std::filesystem::exists(word, code))
    return word;
  return std::filesystem::absolute(word, code).lexically_normal().native();
}

Result<std::size_t> parse_most(const std::string& text) {
  const auto most = parse_count("MAX", text);
  if (!most)
    return std::unexpected(most.error());
  if (*most > iotrail::watch::kEntriesMost)
    return fail_usage(fmt::format("{} entries", text),
                      fmt::format("a log has from 1 to {}", iotrail::watch::kEntriesMost));
  return *most;
}

DocumentFormat format_of(const WatchOptions& options) {
  return options.json ? DocumentFormat::json : DocumentFormat::text;
}

Result<int> status_of(const Result<void>& done) {
  return done ? Result<int>(0) : std::unexpected(done.error());
}

Result<int> print_log(const Console& console, const WatchOptions& options,
                      const std::string& path) {
  const auto log = iotrail::watch::ask_for_log(path_of(path));
  if (!log)
    return std::unexpected(log.error());
  if (!options.raw)
    return status_of(
        print_document(console.out, iotrail::watch::make_log(path, *log), format_of(options)));
  output::Sink sink(console.out.file);
  // Not in the log, since programs read that.
  for (const output::Sentence& missing : iotrail::watch::missing_of(*log))
    print_message(console.err, fmt::format("iotrail: {}", output::sentence_text(missing)));
  const std::string text = iotrail::watch::log_text(*log);
  sink.put(sink.is_terminal() ? output::printable_lines(text) : text);
  return status_of(sink.finish());
}

Result<int> print_list(const Console& console, const WatchOptions& options) {
  const auto states = iotrail::watch::ask_for_list();
  if (!states)
    return std::unexpected(states.error());
  return status_of(
      print_document(console.out, iotrail::watch::make_file_list(*states), format_of(options)));
}

Result<int> print_status(const Console& console, const WatchOptions& options) {
  const auto status = iotrail::watch::ask_for_status();
  if (!status)
    return std::unexpected(status.error());
  return status_of(
      print_document(console.out, iotrail::watch::make_status(*status), format_of(options)));
}

Result<int> add_file(const Console& console, const std::vector<std::string>& words) {
  const auto most = parse_most(words.size() > 2 ? words[2] : "");
  if (!most)
    return std::unexpected(most.error());
  const auto name = iotrail::watch::ask_to_add(path_of(words[1]), *most);
  if (!name)
    return std::unexpected(name.error());
  print_if_open(console.err, [&] {
    print_message(console.err, fmt::format("iotrail: watching {} as {}",
                                           output::printable(words[1]), output::printable(*name)));
  });
  return 0;
}

// Of one file, or of all.
Result<int> command_logs(const std::vector<std::string>& words) {
  if (words.size() > 1)
    return status_of(iotrail::watch::ask_to(words[0], path_of(words[1])));
  const auto states = iotrail::watch::ask_for_list();
  if (!states)
    return std::unexpected(states.error());
  for (const iotrail::watch::LogState& state : *states)
    if (const auto done = iotrail::watch::ask_to(words[0], state.name); !done)
      return std::unexpected(done.error());
  return 0;
}

Result<int> command(const Console& console, const WatchOptions& options) {
  const std::vector<std::string>& words = options.words;
  const std::string& verb = words.front();
  const bool needs_path = verb == "add" || verb == "remove" || verb == "log";
  const std::size_t most = verb == "add" ? 3 : verb == "list" || verb == "status" ? 1 : 2;
  if (needs_path && words.size() < 2)
    return fail_usage(fmt::format("watch {}: no path", verb), {},
                      fmt::format("Write `iotrail watch {} PATH`.", verb));
  if (words.size() > most)
    return fail_usage(
        fmt::format("watch {}: too many words, from '{}' on", verb, output::printable(words[most])),
        {}, "A path with blanks is written in quotes.");
  if (!options.point.empty() || !options.most.empty())
    return fail_usage("--mount and --max are for the watcher itself",
                      fmt::format("`{}` is a command for a running one", verb));
  if (verb == "add")
    return add_file(console, words);
  if (verb == "list")
    return print_list(console, options);
  if (verb == "status")
    return print_status(console, options);
  if (verb == "log")
    return print_log(console, options, words[1]);
  if (verb == "remove")
    return status_of(iotrail::watch::ask_to(verb, path_of(words[1])));
  return command_logs(words);
}

Result<int> watch(const Console& console, const WatchOptions& options) {
  if (!options.words.empty() &&
      std::ranges::find(kCommands, options.words.front()) != std::end(kCommands))
    return command(console, options);
  if (options.json || options.raw)
    return fail_usage("--json and --raw are for `list`, `status` and `log`");
  const auto most = parse_most(options.most);
  if (!most)
    return std::unexpected(most.error());
  WatchSession session{.point = options.point, .entries_most = *most};
  for (const std::string& path : options.words)
    session.paths.push_back(path_of(path));
  return serve_watch(console, session);
}

Action declare_watch(CLI::App& app, const Trailing&) {
  auto options = std::make_shared<WatchOptions>();
  app.add_option("words", options->words,
                 "Files to watch; or a command for the running watcher: add PATH [MAX], remove "
                 "PATH, list, status, log PATH, start|stop|reset|timereset [PATH]")
      ->type_name("PATH|COMMAND");
  app.add_option("--mount", options->point,
                 "Empty directory at which the control files of the b-com I/O tracer appear")
      ->type_name("DIR");
  app.add_option("--max", options->most, "Reads and writes to keep of a file; default: 10")
      ->type_name("COUNT");
  app.add_flag("--json", options->json, "With list, status or log: JSON");
  app.add_flag("--raw", options->raw, "With log: lines of the b-com I/O tracer");
  app.footer("Keeps the last reads and writes of each file: calls of all processes, and block "
             "requests, with the process that caused them. The oldest is replaced first. Hard "
             "links share a log, a symbolic link is its target, and a renamed file keeps its log. "
             "The watcher runs until Ctrl-C. One user has one watcher.");
  return [options](const Console& console) { return watch(console, *options); };
}

} // namespace

extern const Verb kVerbWatch = {
    .name = "watch",
    .summary = "Keep the last reads and writes of single files, for everyone's I/O",
    .group = Group::record,
    .rank = 4,
    .declare = declare_watch,
    .examples = "  iotrail watch /srv/db/data.db --max 1000   # in one terminal\n"
                "  iotrail watch log /srv/db/data.db          # in another one\n"
                "  iotrail watch add '/srv/my file' 50\n",
};

} // namespace iotrail::cli
