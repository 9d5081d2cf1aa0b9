// SPDX-License-Identifier: BSD-3-Clause
#include "serve/http/server.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "serve/http/connection.hpp"

namespace iotrail::serve {

namespace {

constexpr std::size_t kConnectionsMost = 64; // more wait in the kernel's queue
constexpr int kWorkSlots = 4;
constexpr int kBacklog = 64;

Result<std::string> random_token() {
  unsigned char bytes[16];
  if (::getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
    return fail_errno("cannot get random numbers for the address");
  std::string token;
  for (const unsigned char byte : bytes)
    token += fmt::format("{:02x}", byte);
  return token;
}

sockaddr* plain(sockaddr_in& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

Result<Fd> listen_on(int port) {
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket)
    return fail_errno("cannot make a socket");
  const int yes = 1;
  ::setsockopt(socket.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<in_port_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::bind(socket.get(), plain(address), sizeof address) != 0 ||
      ::listen(socket.get(), kBacklog) != 0)
    return fail_errno(fmt::format("cannot listen on 127.0.0.1:{}", port), errno,
                      "Without --port, iotrail takes a free one.");
  return socket;
}

int port_of(const Fd& socket) {
  sockaddr_in address{};
  socklen_t size = sizeof address;
  ::getsockname(socket.get(), plain(address), &size);
  return ntohs(address.sin_port);
}

sigset_t awaited_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&signals, signal);
  return signals;
}

// The signals of a process are blocked while an object lives.
class BlockedSignals {
public:
  BlockedSignals() {
    const sigset_t signals = awaited_signals();
    ::sigprocmask(SIG_BLOCK, &signals, &before_);
  }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;
  ~BlockedSignals() { ::sigprocmask(SIG_SETMASK, &before_, nullptr); }

private:
  sigset_t before_{};
};

void unblock_signals() {
  const sigset_t signals = awaited_signals();
  ::sigprocmask(SIG_UNBLOCK, &signals, nullptr);
}

} // namespace

Result<Server> Server::open(Traces traces, const Limits& limits, int port) {
  auto token = random_token();
  if (!token)
    return std::unexpected(token.error());
  auto listener = listen_on(port);
  if (!listener)
    return std::unexpected(listener.error());
  auto slots = WorkSlots::open(kWorkSlots);
  if (!slots)
    return std::unexpected(slots.error());
  Site site{std::move(traces), std::move(*token), port_of(*listener), limits};
  return Server(std::move(site), std::move(*listener), std::move(*slots));
}

std::string Server::address() const {
  return fmt::format("http://127.0.0.1:{}/{}/", site_.port, site_.token);
}

void Server::accept_one() {
  const Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
  if (!socket) {
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      ::poll(nullptr, 0, 50); // rather than asking for what is not there at full speed
    return;
  }
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child > 0)
    children_.insert(child);
  if (child != 0)
    return; // after a failed fork, the client finds its connection closed
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  unblock_signals();
  listener_.reset();
  if (::getppid() == parent)
    serve_connection(socket, site_, slots_);
  ::_exit(0);
}

void Server::reap() {
  std::erase_if(children_, [](pid_t child) { return ::waitpid(child, nullptr, WNOHANG) != 0; });
}

void Server::end_children() {
  constexpr int kTries = 40;
  constexpr int kAgainMs = 50;
  for (const pid_t child : children_)
    ::kill(child, SIGTERM);
  for (int i = 0; i < kTries && !children_.empty(); ++i) {
    reap();
    if (!children_.empty())
      ::poll(nullptr, 0, kAgainMs);
  }
  for (const pid_t child : children_)
    ::kill(child, SIGKILL);
  for (const pid_t child : children_)
    ::waitpid(child, nullptr, 0);
  children_.clear();
}

Result<void> Server::run() {
  const BlockedSignals blocked;
  const sigset_t signals = awaited_signals();
  const Fd signal_file(::signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signal_file)
    return fail_errno("cannot wait for signals");
  for (;;) {
    const bool has_room = children_.size() < kConnectionsMost;
    pollfd files[] = {{.fd = signal_file.get(), .events = POLLIN, .revents = 0},
                      {.fd = listener_.get(), .events = POLLIN, .revents = 0}};
    if (::poll(files, has_room ? 2 : 1, -1) < 0 && errno != EINTR)
      return fail_errno("cannot wait for connections");
    signalfd_siginfo info{};
    bool is_over = false;
    while (::read(signal_file.get(), &info, sizeof info) == sizeof info)
      is_over = is_over || info.ssi_signo != SIGCHLD;
    reap();
    if (is_over) {
      end_children();
      return {};
    }
    if (has_room && (files[1].revents & POLLIN) != 0)
      accept_one();
  }
}

} // namespace iotrail::serve
