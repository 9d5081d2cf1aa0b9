// SPDX-License-Identifier: BSD-3-Clause
#include "serve/answers/child.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>

#include "base/fd.hpp"
#include "store/writer/temporary_files.hpp"

namespace iotrail::serve {

namespace {

constexpr char kText = 'T';
constexpr char kError = 'E';

[[noreturn]] void send_and_end(const Fd& pipe, char kind, std::string_view text) {
  ::signal(SIGPIPE, SIG_IGN);
  std::string message = kind + std::string(text);
  for (std::string_view rest = message; !rest.empty();) {
    const ssize_t written = ::write(pipe.get(), rest.data(), rest.size());
    if (written < 0 && errno != EINTR)
      break;
    rest.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
  }
  store::remove_temporary_files();
  ::_exit(0);
}

[[noreturn]] void run_child(const Make& make, const Fd& pipe, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent)
    ::_exit(0);
  const Result<std::string> made =
      make([&](const Error& reason) { send_and_end(pipe, kError, reason.message()); });
  send_and_end(pipe, made ? kText : kError, made ? *made : made.error().message());
}

// What the child sends, up to `bytes_most`. False: it did not end in time.
bool receive(const Fd& pipe, int limit_ms, std::size_t bytes_most, std::string& text) {
  using Clock = std::chrono::steady_clock;
  const auto end = Clock::now() + std::chrono::milliseconds(limit_ms);
  char buffer[65536];
  while (text.size() <= bytes_most) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now());
    pollfd wanted{.fd = pipe.get(), .events = POLLIN, .revents = 0};
    const int ready = left.count() <= 0 ? 0 : ::poll(&wanted, 1, static_cast<int>(left.count()));
    if (ready == 0)
      return false;
    const ssize_t got = ready < 0 ? -1 : ::read(pipe.get(), buffer, sizeof buffer);
    if (got == 0)
      return true;
    if (got > 0)
      text.append(buffer, static_cast<std::size_t>(got));
    else if (errno != EINTR)
      return true;
  }
  return true;
}

std::string shortened(std::string text, std::size_t bytes_most) {
  if (text.size() <= bytes_most)
    return text;
  const auto line_end = text.rfind('\n', bytes_most);
  text.resize(line_end == std::string::npos ? bytes_most : line_end);
  return text + "\ntruncated: true\n";
}

} // namespace

Result<std::string> made_by_child(const Make& make, int limit_ms, std::size_t bytes_most) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0)
    return fail_errno("cannot make a pipe");
  const Fd reading(ends[0]);
  Fd writing(ends[1]);
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0)
    run_child(make, writing, parent);
  if (child < 0)
    return fail_errno("cannot start a process for the answer");
  writing.reset();
  std::string message;
  const bool is_in_time = receive(reading, limit_ms, bytes_most + 1, message);
  const bool is_whole = is_in_time && message.size() <= bytes_most + 1;
  if (!is_whole)
    ::kill(child, SIGKILL);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!is_in_time)
    return fail("there is no answer", fmt::format("it took longer than {} s", limit_ms / 1000),
                "--time-limit sets this limit.");
  if (message.empty())
    return fail("there is no answer",
                WIFSIGNALED(status)
                    ? fmt::format("its process was ended by signal {}", WTERMSIG(status))
                    : "its process ended without one");
  std::string text = message.substr(1);
  if (message.front() == kError)
    return fail(std::move(text));
  return shortened(std::move(text), bytes_most);
}

} // namespace iotrail::serve
