// SPDX-License-Identifier: BSD-3-Clause
#include "watch/requests.hpp"

#include <charconv>
#include <utility>

#include <fmt/format.h>

#include "text/printable.hpp"
#include "watch/log_text.hpp"

namespace iotrail::watch {
namespace {

constexpr std::size_t kEntryWords = 7;
constexpr std::size_t kStatusWords = 5;

template <class T> std::string word(T number) {
  return fmt::format("{}", number);
}

// 0: no number.
std::uint64_t number(const std::string& text) {
  std::uint64_t value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  return problem == std::errc{} ? value : 0;
}

// Reads words one after another; behind the last one they are empty.
class WordReader {
public:
  explicit WordReader(Words words) : words_(std::move(words)) {}
  std::size_t left() const { return words_.size() - at_; }
  std::string text() { return left() == 0 ? std::string() : std::move(words_[at_++]); }
  std::uint64_t value() { return number(text()); }

private:
  Words words_;
  std::size_t at_ = 0;
};

Result<Words> done(const Result<void>& result) {
  return result ? Result<Words>(Words{}) : std::unexpected(result.error());
}

Result<Words> answer_add(Watcher& watcher, const Words& request) {
  const std::uint64_t most = request.size() > 2 ? number(request[2]) : 0;
  auto name = watcher.add(request[1], most);
  return name ? Result<Words>(Words{*name}) : std::unexpected(name.error());
}

Result<Words> answer_list(Watcher& watcher) {
  const auto states = watcher.list(true);
  if (!states)
    return std::unexpected(states.error());
  Words words;
  for (const LogState& state : *states) {
    words.insert(words.end(), {state.name, state.is_enabled ? "1" : "0", word(state.zero_ns),
                               word(state.most), word(state.entries), word(state.paths.size())});
    words.insert(words.end(), state.paths.begin(), state.paths.end());
  }
  return words;
}

Result<Words> answer_log(Watcher& watcher, const std::string& path) {
  const auto log = watcher.log(path);
  if (!log)
    return std::unexpected(log.error());
  Words words{word(log->zero_ns), word(log->lost), log->failure};
  for (const LogEntry& entry : log->entries)
    words.insert(words.end(),
                 {word(entry.ts_ns), entry.is_read ? "R" : "W", entry.is_bio ? "BLK" : "VFS",
                  word(entry.address), word(entry.bytes), word(entry.pid), entry.comm});
  return words;
}

Result<Words> answer_status(Watcher& watcher) {
  const auto status = watcher.status();
  if (!status)
    return std::unexpected(status.error());
  return Words{word(status->files), word(status->recordings), word(status->lost),
               word(status->trace_bytes), status->failure};
}

} // namespace

Result<Words> answer_request(Watcher& watcher, const Words& request) {
  const std::string& verb = request.front();
  if (verb == "list")
    return answer_list(watcher);
  if (verb == "status")
    return answer_status(watcher);
  if (request.size() < 2)
    return fail_usage(fmt::format("{}: no path", output::printable(verb)));
  if (verb == "add")
    return answer_add(watcher, request);
  if (verb == "remove")
    return done(watcher.remove(request[1]));
  if (verb == "log")
    return answer_log(watcher, request[1]);
  if (const auto command = parse_log_command(verb))
    return done(watcher.command(request[1], *command));
  return fail_usage(fmt::format("the watcher knows no request '{}'", output::printable(verb)), {},
                    "It is another version of iotrail.");
}

Result<std::string> ask_to_add(const std::string& path, std::size_t most) {
  auto answer = ask_watcher({"add", path, word(most)});
  if (!answer)
    return std::unexpected(answer.error());
  return WordReader(std::move(*answer)).text();
}

Result<void> ask_to(const std::string& command, const std::string& path) {
  const auto answer = ask_watcher({command, path});
  return answer ? Result<void>() : std::unexpected(answer.error());
}

Result<std::vector<LogState>> ask_for_list() {
  auto answer = ask_watcher({"list"});
  if (!answer)
    return std::unexpected(answer.error());
  WordReader words(std::move(*answer));
  std::vector<LogState> states;
  while (words.left() != 0) {
    LogState state;
    state.name = words.text();
    state.is_enabled = words.value() != 0;
    state.zero_ns = words.value();
    state.most = words.value();
    state.entries = words.value();
    for (std::uint64_t paths = words.value(); paths > 0 && words.left() != 0; --paths)
      state.paths.push_back(words.text());
    states.push_back(std::move(state));
  }
  return states;
}

Result<LogCopy> ask_for_log(const std::string& path) {
  auto answer = ask_watcher({"log", path});
  if (!answer)
    return std::unexpected(answer.error());
  WordReader words(std::move(*answer));
  LogCopy log;
  log.zero_ns = words.value();
  log.lost = words.value();
  log.failure = words.text();
  while (words.left() >= kEntryWords) {
    LogEntry& entry = log.entries.emplace_back();
    entry.ts_ns = words.value();
    entry.is_read = words.text() == "R";
    entry.is_bio = words.text() == "BLK";
    entry.address = words.value();
    entry.bytes = words.value();
    entry.pid = static_cast<std::uint32_t>(words.value());
    entry.comm = words.text();
  }
  return log;
}

Result<WatchStatus> ask_for_status() {
  auto answer = ask_watcher({"status"});
  if (!answer)
    return std::unexpected(answer.error());
  if (answer->size() < kStatusWords)
    return fail("the watcher gave no answer", "it is another version of iotrail");
  WordReader words(std::move(*answer));
  WatchStatus status;
  status.files = words.value();
  status.recordings = words.value();
  status.lost = words.value();
  status.trace_bytes = words.value();
  status.failure = words.text();
  return status;
}

} // namespace iotrail::watch
