// SPDX-License-Identifier: BSD-3-Clause
#include "cli/sessions/watch_session.hpp"

#include <signal.h>

#include <atomic>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include "capture/fuse/fuse_source.hpp"
#include "capture/session/signals.hpp"
#include "cli/exit.hpp"
#include "cli/messages.hpp"
#include "text/printable.hpp"
#include "watch/control_mount.hpp"
#include "watch/control_socket.hpp"
#include "watch/requests.hpp"
#include "watch/watcher.hpp"

namespace iotrail::cli {
namespace {

void say(const Console& console, const WatchSession& session, const std::string& text) {
  print_if_open(console.err,
                [&] { print_message(console.err, fmt::format("{}: {}", session.program, text)); });
}

void say_begun(const Console& console, const WatchSession& session) {
  std::string text = fmt::format("watching {} {}", session.paths.size(),
                                 session.paths.size() == 1 ? "file" : "files");
  if (!session.point.empty())
    text += ", with control files in " + output::printable(session.point.native());
  say(console, session, text + "; `iotrail watch add PATH` adds one, Ctrl-C ends");
}

// Opens all that a watcher answers through, and adds the first files, beside the thread that drives it.
class Opening {
public:
  Opening(const Console& console, const WatchSession& session, watch::Watcher& watcher,
          const watch::WatchPlace& place)
      : thread_([&] {
          result_ = open(console, session, watcher, place);
          is_done_ = true;
        }) {}
  ~Opening() { thread_.join(); }

  bool is_done() const { return is_done_; }
  const Result<void>& result() const { return result_; } // when it is done
  bool has_ended() const { return is_done_ && mount_ && mount_->has_ended(); }
  // Before the watcher's thread ends: both wait for their last request.
  void close() {
    socket_.reset();
    mount_.reset();
  }

private:
  Result<void> open(const Console& console, const WatchSession& session, watch::Watcher& watcher,
                    const watch::WatchPlace& place) {
    if (const auto added = watcher.add(session.paths, 0); !added)
      return std::unexpected(added.error());
    if (!session.point.empty()) {
      auto mount = watch::ControlMount::mount(session.point, watcher, [&](const Error& error) {
        say(console, session, output::printable_message(error));
      });
      if (!mount)
        return std::unexpected(mount.error());
      mount_ = std::move(*mount);
    }
    auto socket = watch::ControlSocket::listen(
        place, [&watcher](const watch::Words& words) { return answer_request(watcher, words); });
    if (!socket)
      return std::unexpected(socket.error());
    socket_ = std::move(*socket);
    say_begun(console, session);
    return {};
  }

  Result<void> result_;
  std::unique_ptr<watch::ControlMount> mount_;
  std::unique_ptr<watch::ControlSocket> socket_;
  std::atomic<bool> is_done_{false};
  std::thread thread_;
};

// Returns whether a signal ended it.
bool drive(watch::Watcher& watcher, capture::SignalQueue& signals, const Opening& opening) {
  int wait_ms = 0;
  for (;;) {
    const auto signal = signals.wait(wait_ms);
    wait_ms = watcher.step();
    if (signal && signal->number != SIGCHLD)
      return true;
    if ((opening.is_done() && !opening.result()) || opening.has_ended())
      return false;
  }
}

} // namespace

Result<int> serve_watch(const Console& console, const WatchSession& session) {
  const auto place = watch::WatchPlace::take();
  if (!place)
    return std::unexpected(place.error());
  WatchSession with_links = session;
  if (!session.point.empty()) {
    std::error_code code;
    with_links.point = std::filesystem::canonical(session.point, code);
    if (code)
      return fail_errno("mount point " + session.point.native(), code.value());
    if (Result<void> checked = capture::check_mount_point(with_links.point); !checked)
      return std::unexpected(checked.error());
  }
  auto signals = capture::SignalQueue::open(); // before any thread
  if (!signals)
    return std::unexpected(signals.error());
  watch::Watcher watcher(
      place->path(), session.entries_most == 0 ? watch::kDefaultEntries : session.entries_most,
      [&](const std::string& failure) {
        say(console, session, "a recording failed: " + output::printable(failure));
      });
  Opening opening(console, with_links, watcher, *place);
  const bool is_interrupted = drive(watcher, *signals, opening);
  watcher.end(); // requests that wait fail, so that the socket and the mount can end
  while (!opening.is_done())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  opening.close();
  if (!opening.result() && !is_interrupted)
    return std::unexpected(opening.result().error());
  return static_cast<int>(Exit::ok);
}

} // namespace iotrail::cli
