// SPDX-License-Identifier: BSD-3-Clause
#include "watch/log_text.hpp"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "text/printable.hpp"

namespace iotrail::watch {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::string_view kBlanks = " \t\n\r\v\f";
constexpr const char* kGrammar = "Write `add PATH [MAX]` or `remove PATH`.";

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(kBlanks);
  if (begin == text.npos)
    return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) + 1 - begin);
}

// A trailing " 20" is the room for entries.
Result<void> split_most(ControlLine& line) {
  std::string_view path = line.path;
  std::size_t end = path.size();
  while (end > 0 && is_digit(path[end - 1]))
    --end;
  if (end == path.size() || end == 0 || kBlanks.find(path[end - 1]) == kBlanks.npos)
    return {};
  const std::string_view digits = path.substr(end);
  const auto [stopped, problem] =
      std::from_chars(digits.data(), digits.data() + digits.size(), line.most);
  if (problem != std::errc{} || line.most == 0 || line.most > kEntriesMost)
    return fail_usage(fmt::format("add: a log of {} entries", output::printable(digits)),
                      fmt::format("a log has from 1 to {}", kEntriesMost));
  line.path = std::string(trimmed(path.substr(0, end)));
  return {};
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

} // namespace

std::string log_text(const LogCopy& log) {
  std::string text;
  for (const LogEntry& entry : log.entries) {
    const std::uint64_t ns = entry.ts_ns - std::min(entry.ts_ns, log.zero_ns);
    fmt::format_to(std::back_inserter(text), "{}.{:09};{};{};{};{};{};{}\n", ns / kSecondNs,
                   ns % kSecondNs, entry.is_read ? 'R' : 'W', entry.address, entry.bytes,
                   entry.is_bio ? "BLK" : "VFS", one_line(entry.comm), entry.pid);
  }
  return text;
}

std::string state_text(const LogState& state) {
  return fmt::format("{} {}.{:09} {} {}\n", state.is_enabled ? 1 : 0, state.zero_ns / kSecondNs,
                     state.zero_ns % kSecondNs, state.most, state.entries);
}

std::string list_text(std::span<const LogState> states) {
  std::string text;
  for (const LogState& state : states) {
    text += state.name;
    for (const std::string& path : state.paths)
      text += " " + one_line(path);
    text += '\n';
  }
  return text;
}

Result<ControlLine> parse_control(std::string_view line) {
  if (line.size() > kControlBytesMost)
    return fail_usage(fmt::format("a command of {} bytes", line.size()),
                      fmt::format("it has at most {}", kControlBytesMost), kGrammar);
  if (line.find('\0') != line.npos)
    return fail_usage("a command has a zero byte", {}, kGrammar);
  const std::string_view words = trimmed(line);
  const std::size_t end = std::min(words.find_first_of(kBlanks), words.size());
  const std::string_view command = words.substr(0, end);
  if (command != "add" && command != "remove")
    return fail_usage(
        fmt::format("there is no command '{}'", output::printable(command.substr(0, 64))), {},
        kGrammar);
  ControlLine parsed{.is_add = command == "add", .path = std::string(trimmed(words.substr(end)))};
  if (parsed.path.empty())
    return fail_usage(fmt::format("{}: no path", command), {}, kGrammar);
  if (parsed.is_add)
    if (Result<void> split = split_most(parsed); !split)
      return std::unexpected(split.error());
  return parsed;
}

std::optional<LogCommand> parse_log_command(std::string_view line) {
  const std::string_view word = trimmed(line);
  if (word == "start")
    return LogCommand::start;
  if (word == "stop")
    return LogCommand::stop;
  if (word == "reset")
    return LogCommand::reset;
  if (word == "timereset")
    return LogCommand::reset_time;
  return std::nullopt;
}

} // namespace iotrail::watch
