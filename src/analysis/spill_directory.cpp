// SPDX-License-Identifier: BSD-3-Clause
#include "analysis/spill_directory.hpp"

#include <pthread.h>
#include <unistd.h>

#include <cstdlib>
#include <system_error>

namespace iotrail::analysis {
namespace {

// Who started the process may have had it ignore some, as nohup does; who made us may wait for some himself.
bool ends_process(int number, const sigset_t& blocked) {
  struct sigaction action{};
  return sigismember(&blocked, number) == 0 && sigaction(number, nullptr, &action) == 0 &&
         (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

constexpr int kWakeUp = SIGTERM;

} // namespace

SpillDirectory::SpillDirectory() {
  std::error_code ignored;
  path_ = (std::filesystem::temp_directory_path(ignored) / "iotrail-XXXXXX").string();
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked_before_);
  sigemptyset(&awaited_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP})
    if (ends_process(number, blocked_before_))
      sigaddset(&awaited_, number);
  sigset_t blocked = awaited_;
  sigaddset(&blocked, kWakeUp);
  // A thread sends this one to itself, so that it waits there: it ends the process when it is unblocked again.
  if (ends_process(SIGPIPE, blocked_before_))
    sigaddset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  if (mkdtemp(path_.data()) == nullptr)
    path_.clear();
  try {
    watch_ = std::jthread([this](const std::stop_token& stop) { wait_for_signal(stop); });
  } catch (const std::system_error&) { // no thread: then it stays behind
    pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  }
}

SpillDirectory::~SpillDirectory() {
  remove();
  if (!watch_.joinable())
    return;
  watch_.request_stop();
  pthread_kill(watch_.native_handle(), kWakeUp);
  watch_.join();
  pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
}

void SpillDirectory::remove() const {
  std::error_code ignored;
  if (!path_.empty())
    std::filesystem::remove_all(path_, ignored);
}

// Ends the process as the signal would have done.
void SpillDirectory::wait_for_signal(const std::stop_token& stop) const {
  sigset_t wanted = awaited_;
  sigaddset(&wanted, kWakeUp);
  int number = 0;
  do {
    if (sigwait(&wanted, &number) != 0 || stop.stop_requested())
      return;
  } while (sigismember(&awaited_, number) != 1);
  remove();
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

} // namespace iotrail::analysis
