// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotracer/command_line.hpp"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "cli/messages.hpp"
#include "cli/sessions/watch_session.hpp"
#include "text/printable.hpp"
#include "text/sink.hpp"

namespace iotrail::compat::iotracer {
namespace {

constexpr std::string_view kParameter = "MAX_EVENTS=";
constexpr std::size_t kMost = 1'000'000;
constexpr std::string_view kUsage =
    R"(Usage: iotracer DIR [MAX_EVENTS=N]

Watches files as the b-com I/O tracer does. Its control files appear in DIR, an
empty directory, instead of /proc/iotracer.

  DIR/control               a line for each watched file
                            takes: add PATH [MAX], remove PATH
  DIR/DISK_INODE/log        TIME;R|W;ADDRESS;BYTES;VFS|BLK;NAME;PID
  DIR/DISK_INODE/control    ENABLED TIME_ZERO MAX EVENTS
                            takes: start, stop, reset, timereset

  MAX_EVENTS=N   events to keep of a file, 1 to 1000000; default: 10

Ctrl-C ends, and so does `umount DIR`. docs/compat/iotracer.md says more.
)";

Result<std::size_t> parse_most(std::string_view text) {
  std::size_t most = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), most);
  if (problem != std::errc{} || end != text.data() + text.size() || most == 0 || most > kMost)
    return fail_usage(fmt::format("iotracer: {}{}", kParameter, output::printable(text)),
                      fmt::format("a log has from 1 to {} events", kMost));
  return most;
}

Result<cli::WatchSession> session_of(const std::vector<std::string>& arguments) {
  cli::WatchSession session{.program = "iotracer"};
  for (const std::string& word : arguments) {
    if (word.starts_with(kParameter)) {
      const auto most = parse_most(std::string_view(word).substr(kParameter.size()));
      if (!most)
        return std::unexpected(most.error());
      session.entries_most = *most;
    } else if (word.starts_with('-') || !session.point.empty()) {
      return fail_usage(fmt::format("iotracer: '{}' is not understood", output::printable(word)),
                        {}, "Write `iotracer DIR [MAX_EVENTS=N]`.");
    } else {
      session.point = word;
    }
  }
  if (session.point.empty())
    return fail_usage("iotracer: no directory", {}, "Write `iotracer DIR [MAX_EVENTS=N]`.");
  return session;
}

} // namespace

Result<int> run(const cli::Console& console, const std::vector<std::string>& arguments) {
  for (const std::string& word : arguments)
    if (word == "--help" || word == "-h") {
      output::Sink sink(console.out.file);
      sink.put(kUsage);
      const Result<void> printed = sink.finish();
      return printed ? Result<int>(0) : std::unexpected(printed.error());
    }
  const auto session = session_of(arguments);
  return session ? cli::serve_watch(console, *session) : std::unexpected(session.error());
}

} // namespace iotrail::compat::iotracer
