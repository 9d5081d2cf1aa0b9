// SPDX-License-Identifier: BSD-3-Clause
#include "serve/client/http_upload.hpp"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <thread>

#include <fmt/format.h>

#include "base/fd.hpp"
#include "serve/http/request.hpp"
#include "text/printable.hpp"

namespace iotrail::serve {
namespace {

constexpr int kFileNumber = 3; // of the file, in curl
constexpr std::size_t kMessageBytesMost = 2000;
constexpr std::size_t kStatusBytes = 3; // "200"

bool is_installed(const char* program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "/usr/bin:/bin" : path;
  while (!rest.empty()) {
    const std::string_view directory = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(directory.size() + 1, rest.size()));
    if (::access(fmt::format("{}/{}", directory, program).c_str(), X_OK) == 0)
      return true;
  }
  return false;
}

// A file in memory with this text, read from its begin.
Fd file_of(std::string_view text) {
  Fd file(::memfd_create("iotrail", MFD_CLOEXEC));
  if (!file || ::write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()))
    return {};
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

// How long curl waits in all between its attempts. Never 0: that would be no limit for an answer
// that asks for a wait of its own.
std::uint64_t retry_seconds(unsigned retries) {
  constexpr std::uint64_t kCurlWaitMost = 600;
  std::uint64_t sum = 0;
  std::uint64_t wait = 1;
  for (unsigned i = 0; i < retries; ++i) {
    sum += wait;
    wait = std::min(wait * 2, kCurlWaitMost);
  }
  return std::max<std::uint64_t>(sum, 1);
}

// Hosts that no proxy is used for: the user's, and this machine.
std::string direct_hosts() {
  constexpr const char* kThisMachine = "127.0.0.1,localhost,::1";
  const char* lower = std::getenv("no_proxy");
  const char* value = lower != nullptr ? lower : std::getenv("NO_PROXY");
  const std::string_view hosts = value == nullptr ? "" : value;
  if (hosts == "*") // curl knows it alone only
    return "*";
  if (hosts.empty() || hosts.find_first_of("\"\\\r\n") != hosts.npos)
    return kThisMachine;
  return fmt::format("{},{}", kThisMachine, hosts);
}

// check_http_url() has refused quotes and backslashes.
std::string curl_config(const HttpUpload& upload, unsigned retries) {
  const std::string file = fmt::format("/proc/self/fd/{}", kFileNumber);
  return fmt::format("url = \"{}\"\n"
                     "{} = \"{}{}\"\n"
                     "header = \"Content-Type: {}\"\n"
                     "header = \"Expect:\"\n"
                     "output = \"/dev/null\"\n"
                     "write-out = \"%{{http_code}}\"\n"
                     "noproxy = \"{}\"\n"
                     "proto = \"=http,https\"\n"
                     "retry = {}\nretry-max-time = {}\n"
                     "retry-connrefused\n"
                     "globoff\nfail\nsilent\nshow-error\n"
                     "connect-timeout = 30\nspeed-limit = 1\nspeed-time = 60\n",
                     upload.url, upload.is_post ? "data-binary" : "upload-file",
                     upload.is_post ? "@" : "", file, upload.type, direct_hosts(), retries,
                     retry_seconds(retries));
}

// The end of a file in memory.
std::string last_bytes(const Fd& file, std::size_t most) {
  const off_t end = std::max<off_t>(::lseek(file.get(), 0, SEEK_END), 0);
  const off_t size = std::min(end, static_cast<off_t>(most));
  std::string bytes(static_cast<std::size_t>(size), '\0');
  const ssize_t got = ::pread(file.get(), bytes.data(), bytes.size(), end - size);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  return bytes;
}

// The last line that curl wrote: it names the reason.
std::string reason_in(const Fd& messages, int status) {
  const std::string bytes = last_bytes(messages, kMessageBytesMost);
  std::string_view text(bytes);
  while (text.ends_with('\n'))
    text.remove_suffix(1);
  text.remove_prefix(text.rfind('\n') + 1);
  if (text.starts_with("curl: "))
    text.remove_prefix(6);
  if (WIFSIGNALED(status))
    return fmt::format("curl was ended by signal {}", WTERMSIG(status));
  return text.empty() ? fmt::format("curl failed with status {}", WEXITSTATUS(status))
                      : output::printable(text);
}

// curl itself tries again after refused connections and some answers, but not after these: the
// connection ended before the answer came.
bool is_broken_connection(int status) {
  constexpr int kPartial = 18, kEmptyReply = 52, kSendError = 55, kReceiveError = 56;
  const int code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  return code == kPartial || code == kEmptyReply || code == kSendError || code == kReceiveError;
}

bool is_asked_to_end() {
  sigset_t pending;
  sigemptyset(&pending);
  ::sigpending(&pending);
  return sigismember(&pending, SIGINT) == 1 || sigismember(&pending, SIGTERM) == 1;
}

// Returns early if a signal that iotrail holds back asks for it.
void wait_after(unsigned attempt) {
  constexpr unsigned kDoublingsMost = 5;
  constexpr std::chrono::milliseconds kStep{100};
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::seconds(1U << std::min(attempt, kDoublingsMost));
  while (std::chrono::steady_clock::now() < end && !is_asked_to_end())
    std::this_thread::sleep_for(kStep);
}

// Ctrl-C ends curl, also where iotrail holds signals back.
class CurlAttributes {
public:
  CurlAttributes() {
    posix_spawnattr_init(&attributes_);
    sigset_t none;
    sigemptyset(&none);
    posix_spawnattr_setsigmask(&attributes_, &none);
    posix_spawnattr_setflags(&attributes_, POSIX_SPAWN_SETSIGMASK);
  }
  CurlAttributes(const CurlAttributes&) = delete;
  CurlAttributes& operator=(const CurlAttributes&) = delete;
  ~CurlAttributes() { posix_spawnattr_destroy(&attributes_); }
  const posix_spawnattr_t* get() const { return &attributes_; }

private:
  posix_spawnattr_t attributes_{};
};

// `answer` gets the status that the server answered with.
Result<int> run_curl(const Fd& config, const Fd& file, const Fd& answer, const Fd& messages) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, config.get(), STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, answer.get(), STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&actions, messages.get(), STDERR_FILENO);
  posix_spawn_file_actions_adddup2(&actions, file.get(), kFileNumber);
  std::string words[] = {"curl", "--disable", "--config", "-"}; // --disable: no ~/.curlrc
  char* arguments[] = {words[0].data(), words[1].data(), words[2].data(), words[3].data(), nullptr};
  pid_t child = 0;
  const CurlAttributes attributes;
  const int code = ::posix_spawnp(&child, "curl", &actions, attributes.get(), arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (code != 0)
    return fail_errno("cannot start curl", code);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR)
    continue;
  return status;
}

// curl itself fails only from 400 on: a redirect has stored nothing.
Result<void> check_answer(const std::string& what, std::string_view status) {
  if (status.starts_with('2'))
    return {};
  return fail(what, fmt::format("the server answered {}", output::printable(status)));
}

} // namespace

bool is_http_url(std::string_view text) {
  return text.starts_with("http://") || text.starts_with("https://");
}

Result<void> check_http_url(const std::string& option, const std::string& url) {
  const bool is_plain = std::ranges::all_of(
      url, [](char c) { return c > ' ' && c < '\x7f' && c != '"' && c != '\\'; });
  const std::string_view host = std::string_view(url).substr(std::min(url.find("//"), url.size()));
  if (!is_http_url(url) || !is_plain || host.size() < 3 || host[2] == '/')
    return fail_usage(fmt::format("{}: '{}' is no address of a server", option,
                                  output::printable(shown_url(url))),
                      {},
                      "It begins with http:// or https://; other characters are encoded as %20.");
  if (!is_installed("curl"))
    return fail(fmt::format("{} {}", option, shown_url(url)), "the program curl is not installed",
                "Install it, for instance with `apt-get install curl`.");
  return {};
}

std::string shown_url(std::string_view url) {
  const std::size_t slashes = url.substr(0, url.find_first_of("?#")).find("//");
  const std::size_t begin = slashes == url.npos ? 0 : slashes + 2;
  const std::string_view scheme = url.substr(0, begin);
  std::string_view rest = url.substr(begin);
  const std::string_view server = rest.substr(0, rest.find('/'));
  const std::size_t at = server.rfind('@'); // behind a user's name and password, or in a query
  if (at != server.npos && server.find_first_of("?#") < at)
    return fmt::format("{}...", scheme); // either one has what may be secret
  if (at != server.npos)
    rest.remove_prefix(at + 1);
  return fmt::format("{}{}", scheme, rest.substr(0, rest.find_first_of("?#")));
}

std::string url_below(std::string_view prefix, const std::filesystem::path& relative) {
  const std::size_t query = std::min(prefix.find_first_of("?#"), prefix.size());
  std::string url(prefix.substr(0, query));
  while (url.ends_with('/'))
    url.pop_back();
  for (const std::filesystem::path& part : relative)
    url += fmt::format("/{}", percent_encoded(part.native()));
  return url.append(prefix.substr(query));
}

Result<void> send_file(const HttpUpload& upload) {
  const std::string what =
      fmt::format("cannot send {} to {}",
                  upload.name.empty() ? output::printable(upload.file.native()) : upload.name,
                  output::printable(shown_url(upload.url)));
  const Fd file(::open(upload.file.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file)
    return fail_errno(what);
  for (unsigned attempt = 0;; ++attempt) {
    const Fd config = file_of(curl_config(upload, upload.retries - attempt));
    const Fd answer = file_of("");
    const Fd messages = file_of("");
    if (!config || !answer || !messages)
      return fail_errno(what);
    const auto status = run_curl(config, file, answer, messages);
    if (!status)
      return std::unexpected(status.error());
    if (*status == 0)
      return check_answer(what, last_bytes(answer, kStatusBytes));
    if (!is_broken_connection(*status) || attempt >= upload.retries)
      return fail(what, reason_in(messages, *status));
    wait_after(attempt);
    if (is_asked_to_end())
      return fail(what, reason_in(messages, *status));
  }
}

} // namespace iotrail::serve
