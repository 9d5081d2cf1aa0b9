// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/connection.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <stop_token>
#include <thread>

#include "store/writer/temporary_files.hpp"

namespace iotrail::serve {

namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

class Deadline {
public:
  explicit Deadline(int ms)
      : end_(std::chrono::steady_clock::now() + std::chrono::milliseconds(ms)) {}

  int left_ms() const {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
        end_ - std::chrono::steady_clock::now());
    return static_cast<int>(std::max<std::int64_t>(0, left.count()));
  }

  // False: the time is over.
  bool wait_for(const Fd& socket, short events) const {
    pollfd wanted{.fd = socket.get(), .events = events, .revents = 0};
    int ready = 0;
    do
      ready = ::poll(&wanted, 1, left_ms());
    while (ready < 0 && errno == EINTR);
    return ready > 0;
  }

private:
  std::chrono::steady_clock::time_point end_;
};

// Appends what has come. False: nothing more comes in time.
bool receive_more(const Fd& socket, const Deadline& deadline, std::string& text) {
  char buffer[4096];
  if (!deadline.wait_for(socket, POLLIN))
    return false;
  const ssize_t got = ::recv(socket.get(), buffer, sizeof buffer, MSG_DONTWAIT);
  if (got > 0)
    text.append(buffer, static_cast<std::size_t>(got));
  return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

struct Received {
  Request request;
  std::string body;
};

std::expected<Received, Refusal> receive(const Fd& socket) {
  const Deadline deadline(kReadMs);
  std::string text;
  std::size_t end = std::string::npos;
  while ((end = text.find(kHeadEnd)) == std::string::npos) {
    if (text.size() > kHeadBytesMost)
      return std::unexpected(
          Refusal{431, fmt::format("the head is longer than {} bytes", kHeadBytesMost)});
    if (!receive_more(socket, deadline, text))
      return std::unexpected(Refusal{408, "the request did not come in time"});
  }
  auto request = parse_head(std::string_view(text).substr(0, end));
  if (!request)
    return std::unexpected(request.error());
  std::string body = text.substr(end + kHeadEnd.size());
  while (body.size() < request->body_bytes)
    if (!receive_more(socket, deadline, body))
      return std::unexpected(Refusal{408, "the body did not come in time"});
  body.resize(request->body_bytes);
  return Received{std::move(*request), std::move(body)};
}

void send_all(const Fd& socket, std::string_view text) {
  const Deadline deadline(kWriteMs);
  while (!text.empty()) {
    const ssize_t sent =
        ::send(socket.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0)
      text.remove_prefix(static_cast<std::size_t>(sent));
    else if ((errno != EAGAIN && errno != EINTR) || !deadline.wait_for(socket, POLLOUT))
      return;
  }
}

// A close with unread input would take the answer from the client again.
void close_softly(const Fd& socket) {
  constexpr int kLingerMs = 300;
  constexpr std::size_t kUnreadMost = 1U << 20U;
  ::shutdown(socket.get(), SHUT_WR);
  const Deadline deadline(kLingerMs);
  for (std::size_t dropped = 0; dropped < kUnreadMost;) {
    std::string more;
    if (!receive_more(socket, deadline, more))
      return;
    dropped += more.size();
  }
}

[[noreturn]] void end_process() {
  store::remove_temporary_files();
  ::_exit(0);
}

// Ends this process if the client goes away or the time is over while an answer is made.
class Watch {
public:
  explicit Watch(const Fd& socket)
      : thread_([&socket](const std::stop_token& stop) { look(socket, stop); }) {}

private:
  static void look(const Fd& socket, const std::stop_token& stop) {
    constexpr int kAgainMs = 100;
    const Deadline deadline(kWorkMs + kSlotWaitMs);
    while (!stop.stop_requested()) {
      pollfd gone{.fd = socket.get(), .events = POLLRDHUP, .revents = 0};
      const bool is_gone = ::poll(&gone, 1, kAgainMs) > 0;
      if (stop.stop_requested())
        return;
      if (deadline.left_ms() == 0)
        send_all(socket, to_http(error_response(504, "the answer took too long")));
      if (is_gone || deadline.left_ms() == 0)
        end_process();
    }
  }

  std::jthread thread_;
};

} // namespace

void serve_connection(const Fd& socket, const Site& site, const WorkSlots& slots) {
  const auto received = receive(socket);
  if (!received) {
    send_all(socket, to_http(error_response(received.error().status, received.error().why)));
    close_softly(socket);
    return;
  }
  const bool with_body = received->request.method != "HEAD";
  Response response;
  {
    const Watch watch(socket);
    response = answer(
        site, received->request, received->body, [&] { return slots.take(kSlotWaitMs); },
        [&](const Error& reason) {
          send_all(socket, to_http(error_response(504, reason)));
          end_process();
        });
  }
  send_all(socket, to_http(response, with_body));
  close_softly(socket);
}

} // namespace iotrail::serve
