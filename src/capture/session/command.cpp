// SPDX-License-Identifier: BSD-3-Clause
#include "capture/session/command.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <string_view>

#include "capture/session/inheritance.hpp"

namespace iotrail::capture {
namespace {

constexpr char kGo =
    'G'; // first byte of what the child waits for; without it the recorder has died

std::unexpected<Error> not_found(const std::string& name, std::string why) {
  return std::unexpected(
      Error{fmt::format("cannot run '{}'", name), std::move(why),
            "Nothing was recorded. Give the command after --, as you would to a shell.", ENOENT,
            Failure::command_not_found});
}

std::unexpected<Error> not_executable(const std::string& name, std::string why, int code) {
  return std::unexpected(Error{fmt::format("cannot run '{}'", name), std::move(why),
                               "Nothing was recorded.", code, Failure::command_not_executable});
}

// Empty: `file` can be executed.
std::string why_not_executable(const std::filesystem::path& file) {
  struct stat status{};
  if (::stat(file.c_str(), &status) != 0)
    return errno_text(errno);
  if (S_ISDIR(status.st_mode))
    return "it is a directory";
  if (!S_ISREG(status.st_mode))
    return "it is not a regular file";
  if (::access(file.c_str(), X_OK) != 0)
    return errno_text(errno);
  return {};
}

std::vector<std::string> search_path() {
  const char* path = std::getenv("PATH");
  std::string_view rest = path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin";
  std::vector<std::string> folders;
  while (true) {
    const auto colon = rest.find(':');
    const std::string_view folder = rest.substr(0, colon);
    folders.emplace_back(folder.empty() ? "." : folder);
    if (colon == std::string_view::npos)
      return folders;
    rest.remove_prefix(colon + 1);
  }
}

std::string read_all(int fd) {
  std::string all;
  char part[4096];
  for (ssize_t size = 0; (size = ::read(fd, part, sizeof(part))) != 0;) {
    if (size > 0)
      all.append(part, static_cast<std::size_t>(size));
    else if (errno != EINTR)
      break;
  }
  return all;
}

[[noreturn]] void run_child(Fd go, const Fd& exec_error, const std::filesystem::path& file,
                            const std::vector<std::string>& arguments) {
  std::string block = read_all(go.get());
  go.reset();
  if (block.empty() || block.front() != kGo)
    _exit(1);
  for (std::size_t at = 1; at < block.size(); at += std::char_traits<char>::length(&block[at]) + 1)
    ::putenv(&block[at]);

  std::vector<char*> argv;
  for (const std::string& argument : arguments)
    argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  Inheritance::of_this_process().restore();
  ::execv(file.c_str(), argv.data());
  const int code = errno;
  [[maybe_unused]] const ssize_t sent = ::write(exec_error.get(), &code, sizeof(code));
  _exit(EXIT_FAILURE);
}

int shell_status(int wait_status) {
  return WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
}

Result<void> write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd, bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR)
      continue;
    if (size < 0)
      return fail_errno("cannot start the command");
    bytes.remove_prefix(static_cast<std::size_t>(size));
  }
  return {};
}

} // namespace

Result<std::filesystem::path> find_command(const std::string& name) {
  if (name.empty())
    return not_found(name, "the name is empty");
  if (name.find('/') != std::string::npos) {
    if (::access(name.c_str(), F_OK) != 0)
      return not_found(name, errno_text(errno));
    if (std::string why = why_not_executable(name); !why.empty())
      return not_executable(name, std::move(why), EACCES);
    return name;
  }
  std::string refused;
  for (const std::string& folder : search_path()) {
    std::filesystem::path file = std::filesystem::path(folder) / name;
    if (::access(file.c_str(), F_OK) != 0)
      continue;
    std::string why = why_not_executable(file);
    if (why.empty())
      return file;
    refused = fmt::format("{}: {}", file.native(), why);
  }
  if (!refused.empty())
    return not_executable(name, std::move(refused), EACCES);
  return not_found(name, "no such command in PATH");
}

Result<Command> Command::suspend(const std::filesystem::path& file,
                                 const std::vector<std::string>& arguments) {
  int go[2];
  int exec_error[2];
  if (::pipe2(go, O_CLOEXEC) != 0)
    return fail_errno("cannot start the command");
  Fd go_read(go[0]);
  Fd go_write(go[1]);
  if (::pipe2(exec_error, O_CLOEXEC) != 0)
    return fail_errno("cannot start the command");
  Fd error_read(exec_error[0]);
  Fd error_write(exec_error[1]);

  const pid_t pid = ::fork();
  if (pid < 0)
    return fail_errno("cannot start the command", errno,
                      errno == EAGAIN ? "Raise the limit of processes (ulimit -u, the control "
                                        "group's), or end other programs."
                                      : "");
  if (pid == 0) {
    go_write.reset();
    error_read.reset();
    run_child(std::move(go_read), error_write, file, arguments);
  }
  return Command(pid, std::move(go_write), std::move(error_read), file.native());
}

Command::Command(pid_t pid, Fd go, Fd exec_error, std::string name)
    : pid_(pid), go_(std::move(go)), exec_error_(std::move(exec_error)), name_(std::move(name)) {}

Command::~Command() {
  if (!go_ && !exec_error_)
    return; // moved from, or released
  go_.reset();
  if (!released_)
    wait_status();
}

Result<void> Command::release(const std::vector<std::string>& environment) {
  std::string block(1, kGo);
  for (const std::string& entry : environment)
    block.append(entry).push_back('\0');
  Result<void> written = write_all(go_.get(), block);
  go_.reset();
  released_ = true;
  if (!written)
    return written;

  const std::string error = read_all(exec_error_.get());
  exec_error_.reset();
  if (error.empty())
    return {};
  int code = 0;
  std::copy_n(error.data(), std::min(error.size(), sizeof(code)), reinterpret_cast<char*>(&code));
  wait_status();
  return not_executable(name_, errno_text(code), code);
}

bool Command::reap(int flags) {
  int status = 0;
  rusage used{};
  if (::wait4(pid_, &status, flags, &used) != pid_)
    return false;
  status_ = shell_status(status);
  cpu_time_ = cpu_time_of(used);
  return true;
}

std::optional<int> Command::poll_status() {
  if (!status_)
    reap(WNOHANG);
  return status_;
}

int Command::wait_status() {
  while (!status_)
    if (!reap(0) && errno != EINTR)
      status_ = EXIT_FAILURE;
  return *status_;
}

void Command::signal(int number) const {
  if (!status_)
    ::kill(pid_, number);
}

} // namespace iotrail::capture
