// SPDX-License-Identifier: BSD-3-Clause
#include "watch/control_socket.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <optional>

#include "store/format/trace_directory.hpp"
#include "store/reader/repository.hpp"

namespace iotrail::watch {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSocketName = "control";
constexpr const char* kLockName = "lock";
constexpr std::size_t kRequestBytesMost = 64U << 10U;
constexpr std::size_t kAnswerBytesMost = 256U << 20U;
constexpr int kRequestMs = 5000; // for a whole request, which its sender writes at once
constexpr int kPollMs = 50;
constexpr const char* kOk = "ok";
constexpr const char* kFailed = "failed";
constexpr const char* kUsage = "usage";

// A path through the descriptor of the directory is short: an address has 107 bytes.
sockaddr_un address_in(int directory) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string path = fmt::format("/proc/self/fd/{}/{}", directory, kSocketName);
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  return address;
}

const sockaddr* generic(const sockaddr_un& address) {
  return reinterpret_cast<const sockaddr*>(&address);
}

// Each word ends in a zero byte.
bool send_words(int socket, const Words& words) {
  std::string text;
  for (const std::string& word : words) {
    text += word;
    text += '\0';
  }
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t sent = ::send(socket, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (sent <= 0)
      return false;
    rest.remove_prefix(static_cast<std::size_t>(sent));
  }
  return ::shutdown(socket, SHUT_WR) == 0;
}

// All up to the end of what the other side sends. Empty: it is too long, too slow, or no words.
std::optional<Words> receive_words(int socket, std::size_t bytes_most, int milliseconds) {
  std::string text;
  char buffer[16384];
  for (;;) {
    pollfd waiting{socket, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds) <= 0)
      return std::nullopt;
    const ssize_t got = ::recv(socket, buffer, sizeof(buffer), 0);
    if (got < 0 || text.size() + static_cast<std::size_t>(got) > bytes_most)
      return std::nullopt;
    if (got == 0)
      break;
    text.append(buffer, static_cast<std::size_t>(got));
  }
  if (text.empty() || text.back() != '\0')
    return std::nullopt;
  Words words;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\0', begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return words;
}

bool is_allowed(int socket) {
  ucred peer{};
  socklen_t bytes = sizeof peer;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) == 0 &&
         (peer.uid == ::geteuid() || peer.uid == 0);
}

std::unexpected<Error> no_watcher() {
  return fail("no watcher runs", {}, "Start one in another terminal: iotrail watch PATH");
}

std::string holder_of(int lock) {
  char digits[32]{};
  const ssize_t bytes = ::pread(lock, digits, sizeof(digits) - 1, 0);
  pid_t pid = 0;
  if (bytes <= 0 || std::from_chars(digits, digits + bytes, pid).ec != std::errc{})
    return "another process watches already";
  return fmt::format("process {} watches already", pid);
}

// Traces that a killed watcher has left.
void remove_leftovers(const fs::path& directory) {
  std::error_code code;
  for (const auto& entry : fs::directory_iterator(directory, code))
    if (entry.path().extension() == store::kTraceSuffix)
      (void)store::remove_trace(entry.path(), true);
}

} // namespace

fs::path watch_directory() {
  return store::repository_path() / "watch";
}

Result<WatchPlace> WatchPlace::take() {
  const fs::path path = watch_directory();
  const std::string what = "the watcher's directory " + path.native();
  std::error_code code;
  fs::create_directories(path.parent_path(), code);
  if (code)
    return fail_errno(what, code.value());
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    return fail_errno(what);
  Fd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat status{};
  if (!directory || ::fstat(directory.get(), &status) != 0)
    return fail_errno(what);
  if (status.st_uid != ::geteuid() || (status.st_mode & 077U) != 0)
    return fail(what, "other users can use it", fmt::format("chmod 0700 {}", path.native()));
  Fd lock(::openat(directory.get(), kLockName, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  if (!lock)
    return fail_errno(what);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0)
    return fail("cannot watch", holder_of(lock.get()),
                "`iotrail watch add PATH` adds a file to it.");
  const std::string pid = fmt::format("{}\n", ::getpid());
  if (::ftruncate(lock.get(), 0) != 0 ||
      ::pwrite(lock.get(), pid.data(), pid.size(), 0) != std::ssize(pid))
    return fail_errno(what);
  remove_leftovers(path);
  return WatchPlace(path, std::move(directory), std::move(lock));
}

ControlSocket::ControlSocket(Fd listener, Answer answer)
    : listener_(std::move(listener)), answer_(std::move(answer)), thread_([this] { serve(); }) {}

Result<std::unique_ptr<ControlSocket>> ControlSocket::listen(const WatchPlace& place,
                                                             Answer answer) {
  ::unlinkat(place.directory(), kSocketName, 0);
  Fd listener(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const sockaddr_un address = address_in(place.directory());
  if (!listener || ::bind(listener.get(), generic(address), sizeof address) != 0 ||
      ::listen(listener.get(), 16) != 0)
    return fail_errno("the watcher's socket in " + place.path().native());
  return std::unique_ptr<ControlSocket>(new ControlSocket(std::move(listener), std::move(answer)));
}

ControlSocket::~ControlSocket() {
  is_over_ = true;
  thread_.join();
}

void ControlSocket::serve() {
  while (!is_over_) {
    pollfd waiting{listener_.get(), POLLIN, 0};
    if (::poll(&waiting, 1, kPollMs) <= 0)
      continue;
    const Fd peer(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (peer && is_allowed(peer.get()))
      serve_one(peer);
  }
}

void ControlSocket::serve_one(const Fd& peer) {
  // A client that reads nothing does not hold up the others.
  const timeval patience{.tv_sec = kRequestMs / 1000, .tv_usec = 0};
  ::setsockopt(peer.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const auto request = receive_words(peer.get(), kRequestBytesMost, kRequestMs);
  if (!request)
    return;
  const Result<Words> answer = answer_(*request);
  Words words{kOk};
  if (answer)
    std::ranges::copy(*answer, std::back_inserter(words));
  else
    words = {answer.error().kind == Failure::usage ? kUsage : kFailed, answer.error().what,
             answer.error().why, answer.error().hint};
  send_words(peer.get(), words);
}

Result<Words> ask_watcher(const Words& request) {
  const Fd directory(
      ::open(watch_directory().c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!directory)
    return no_watcher();
  const Fd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const sockaddr_un address = address_in(directory.get());
  if (!socket || ::connect(socket.get(), generic(address), sizeof address) != 0)
    return no_watcher();
  std::optional<Words> answer;
  if (send_words(socket.get(), request))
    answer = receive_words(socket.get(), kAnswerBytesMost, -1);
  if (!answer)
    return fail("the watcher gave no answer", "it has ended, or the request is too long");
  const std::string status = answer->front();
  answer->erase(answer->begin());
  if (status == kOk)
    return *answer;
  answer->resize(3);
  return std::unexpected(Error{.what = (*answer)[0],
                               .why = (*answer)[1],
                               .hint = (*answer)[2],
                               .kind = status == kUsage ? Failure::usage : Failure::operation});
}

} // namespace iotrail::watch
