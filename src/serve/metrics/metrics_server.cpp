// SPDX-License-Identifier: BSD-3-Clause
#include "serve/metrics/metrics_server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <charconv>
#include <chrono>
#include <cstring>
#include <exception>
#include <optional>
#include <system_error>
#include <vector>

#include "serve/http/request.hpp"
#include "serve/http/response.hpp"
#include "serve/metrics/metrics_text.hpp"

namespace iotrail::serve {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kBacklog = 16;
constexpr std::size_t kConnectionsMost = 16; // more wait in the kernel's queue
constexpr int kStopCheckMs = 100;
constexpr std::chrono::seconds kConnectionTime{5};
constexpr std::chrono::milliseconds kLingerTime{300};

struct Address {
  sockaddr_storage storage{};
  socklen_t size = 0;
  int family = AF_INET;

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

bool is_loopback(std::string_view host) {
  in_addr four{};
  return host == "localhost" || host == "[::1]" ||
         (::inet_pton(AF_INET, std::string(host).c_str(), &four) == 1 &&
          ntohl(four.s_addr) >> 24U == IN_LOOPBACKNET);
}

// "127.0.0.1:9100" is {"127.0.0.1", "9100"}
std::pair<std::string_view, std::string_view> split_port(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string_view::npos || address.ends_with(']'))
    return {address, {}};
  return {address.substr(0, colon), address.substr(colon + 1)};
}

std::optional<in_port_t> port_in(std::string_view text) {
  in_port_t port = 0;
  const char* end = text.data() + text.size();
  const auto [stopped, problem] = std::from_chars(text.data(), end, port);
  if (text.empty() || problem != std::errc{} || stopped != end || port == 0)
    return {};
  return port;
}

Result<Address> parse_address(const std::string& text) {
  const bool has_host = text.contains(':') || text.contains('.') || text == "localhost";
  auto [host, port_text] =
      has_host ? split_port(text) : std::pair<std::string_view, std::string_view>{"", text};
  if (host.empty())
    host = "127.0.0.1";
  if (!is_loopback(host))
    return fail_usage(fmt::format("--metrics {}", text),
                      "iotrail answers this machine only: 127.0.0.1, localhost or [::1]",
                      "`ssh -L` or a proxy brings the port to another machine.");
  const auto port = text.empty() ? std::optional<in_port_t>(0) : port_in(port_text);
  if (!port)
    return fail_usage(fmt::format("--metrics {}", text), "it names no port from 1 to 65535",
                      "Write `--metrics 127.0.0.1:9100`, or `--metrics` alone for a free port.");
  Address address;
  if (host == "[::1]") {
    sockaddr_in6 six{.sin6_family = AF_INET6,
                     .sin6_port = htons(*port),
                     .sin6_flowinfo = 0,
                     .sin6_addr = in6addr_loopback,
                     .sin6_scope_id = 0};
    std::memcpy(&address.storage, &six, address.size = sizeof six);
  } else {
    sockaddr_in four{};
    four.sin_family = AF_INET;
    four.sin_port = htons(*port);
    const std::string name(host == "localhost" ? "127.0.0.1" : host);
    ::inet_pton(AF_INET, name.c_str(), &four.sin_addr);
    std::memcpy(&address.storage, &four, address.size = sizeof four);
  }
  address.family = address.storage.ss_family;
  return address;
}

std::string url_of(const Fd& socket, Address address) {
  ::getsockname(socket.get(), address.get(), &address.size);
  if (address.family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address.storage, sizeof six);
    return fmt::format("http://[::1]:{}/metrics", ntohs(six.sin6_port));
  }
  sockaddr_in four{};
  std::memcpy(&four, &address.storage, sizeof four);
  char name[INET_ADDRSTRLEN] = {};
  ::inet_ntop(AF_INET, &four.sin_addr, name, sizeof name);
  return fmt::format("http://{}:{}/metrics", name, ntohs(four.sin_port));
}

// A page of another site may make its own name lead to this machine (DNS rebinding): the Host
// header then has the other site's name.
Response answer(std::string_view head, const std::function<std::string()>& text) {
  const auto request = parse_head(head);
  if (!request)
    return error_response(request.error().status, request.error().why);
  if (const std::string_view host = request->header("host");
      !host.empty() && !is_loopback(split_port(host).first))
    return error_response(403, "the address is not one of this machine alone");
  if (request->method != "GET" && request->method != "HEAD")
    return {.status = 405,
            .type = std::string(kMetricsType),
            .body = "metrics are only read\n",
            .allowed = "GET, HEAD"};
  if (request->path != std::vector<std::string>{"metrics"})
    return error_response(404, "the only path is /metrics");
  return {.type = std::string(kMetricsType), .body = text()};
}

std::string answer_text(std::string_view head, const std::function<std::string()>& text) {
  const bool has_body = !head.starts_with("HEAD ");
  try {
    return to_http(answer(head, text), has_body);
  } catch (const std::exception&) { // no memory, for instance
    return to_http(error_response(503, "the answer cannot be made now"), has_body);
  }
}

// Reads a head, writes an answer, then waits a moment for the client to close: a close with unread
// input would take the answer from it again.
class MetricsConnection {
public:
  explicit MetricsConnection(Fd socket)
      : socket_(std::move(socket)), deadline_(Clock::now() + kConnectionTime) {}

  pollfd wanted() const {
    return {.fd = socket_.get(),
            .events = static_cast<short>(left_.empty() ? POLLIN : POLLOUT),
            .revents = 0};
  }
  bool is_over() const { return is_over_ || Clock::now() >= deadline_; }

  void proceed(const std::function<std::string()>& text) {
    if (left_.empty())
      receive(text);
    if (!left_.empty())
      send();
  }

private:
  void receive(const std::function<std::string()>& text) {
    char buffer[4096];
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
      is_over_ = true;
    if (got <= 0 || is_answered_)
      return;
    head_.append(buffer, static_cast<std::size_t>(got));
    const std::size_t end = head_.find("\r\n\r\n");
    if (end == std::string::npos && head_.size() <= kHeadBytesMost)
      return;
    is_answered_ = true;
    left_ = end == std::string::npos ? to_http(error_response(431, "the head is too long"))
                                     : answer_text(std::string_view(head_).substr(0, end), text);
    head_.clear();
  }

  void send() {
    const ssize_t sent =
        ::send(socket_.get(), left_.data(), left_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR)
      is_over_ = true;
    if (sent > 0)
      left_.erase(0, static_cast<std::size_t>(sent));
    if (!left_.empty() || is_over_)
      return;
    ::shutdown(socket_.get(), SHUT_WR);
    deadline_ = Clock::now() + kLingerTime;
  }

  Fd socket_;
  Clock::time_point deadline_;
  std::string head_;
  std::string left_; // of the answer
  bool is_answered_ = false;
  bool is_over_ = false;
};

void serve_once(std::vector<MetricsConnection>& connections, const Fd& listener,
                const std::function<std::string()>& text) {
  std::vector<pollfd> files;
  for (const MetricsConnection& connection : connections)
    files.push_back(connection.wanted());
  const bool has_room = connections.size() < kConnectionsMost;
  files.push_back({.fd = has_room ? listener.get() : -1, .events = POLLIN, .revents = 0});
  ::poll(files.data(), files.size(), kStopCheckMs);
  for (std::size_t i = 0; i < connections.size(); ++i)
    if (files[i].revents != 0)
      connections[i].proceed(text);
  std::erase_if(connections, &MetricsConnection::is_over);
  if (files.back().revents == 0)
    return;
  Fd socket(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (socket)
    connections.emplace_back(std::move(socket));
  else if (errno != EAGAIN && errno != ECONNABORTED)
    std::this_thread::sleep_for(std::chrono::milliseconds(kStopCheckMs)); // no descriptors left
}

// An exception that left the thread would end the recording.
void serve_until(const std::stop_token& stop, const Fd& listener,
                 const std::function<std::string()>& text) {
  if (::getpriority(PRIO_PROCESS, 0) < 0) // of this thread: the recorder has a higher one
    ::setpriority(PRIO_PROCESS, 0, 0);
  std::vector<MetricsConnection> connections;
  while (!stop.stop_requested()) {
    try {
      serve_once(connections, listener, text);
    } catch (const std::exception&) {
      connections.clear();
      std::this_thread::sleep_for(std::chrono::milliseconds(kStopCheckMs));
    }
  }
}

} // namespace

Result<std::unique_ptr<MetricsServer>> MetricsServer::listen(const std::string& address) {
  const auto parsed = parse_address(address);
  if (!parsed)
    return std::unexpected(parsed.error());
  Fd socket(::socket(parsed->family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return fail_errno("cannot make a socket for --metrics");
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket.get(), parsed->get(), parsed->size) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return fail_errno(fmt::format("cannot listen on {} for --metrics", address), errno,
                      "`--metrics` without an address takes a free port.");
  std::string url = url_of(socket, *parsed);
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::move(socket), std::move(url)));
}

Result<void> MetricsServer::start(std::function<std::string()> text) {
  try {
    thread_ = std::jthread([this, text = std::move(text)](const std::stop_token& stop) {
      serve_until(stop, listener_, text);
    });
  } catch (const std::system_error& refusal) {
    return fail_errno("cannot start a thread for --metrics", refusal.code().value());
  }
  return {};
}

} // namespace iotrail::serve
