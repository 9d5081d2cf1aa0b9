// SPDX-License-Identifier: BSD-3-Clause
#include "store/writer/temporary_files.hpp"

#include <pthread.h>

#include <mutex>
#include <ranges>
#include <system_error>
#include <vector>

namespace iotrail::store {
namespace {

// Only for the thread that waits: a SIGTERM that others of the process block and wait for is theirs.
int wake_up() {
  return SIGRTMIN + 4;
}

struct Entry {
  const TemporaryFiles* owner;
  std::filesystem::path path;
  bool is_tree;
};

// The entries of all owners, in order of creation: the thread of any owner may get the signal.
std::mutex entries_mutex;
std::vector<Entry> entries;

void remove_last_first(const TemporaryFiles* owner) {
  std::error_code ignored;
  for (const Entry& entry : entries | std::views::reverse)
    if (owner != nullptr && entry.owner != owner)
      continue;
    else if (entry.is_tree)
      std::filesystem::remove_all(entry.path, ignored);
    else
      std::filesystem::remove(entry.path, ignored);
}

// The process may have inherited an ignored signal, as from nohup. The creating thread may wait for
// a blocked one itself.
bool ends_process(int number, const sigset_t& blocked) {
  struct sigaction action{};
  return sigismember(&blocked, number) == 0 && sigaction(number, nullptr, &action) == 0 &&
         (action.sa_flags & SA_SIGINFO) == 0 && action.sa_handler == SIG_DFL;
}

} // namespace

TemporaryFiles::TemporaryFiles() {
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked_before_);
  sigemptyset(&awaited_);
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT})
    if (ends_process(number, blocked_before_))
      sigaddset(&awaited_, number);
  sigset_t blocked = awaited_;
  sigaddset(&blocked, wake_up());
  // The kernel sends SIGPIPE to the thread that wrote, so that it stays pending there. It ends the
  // process when the destructor unblocks it.
  if (ends_process(SIGPIPE, blocked_before_))
    sigaddset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  try {
    watch_ = std::jthread([this](const std::stop_token& stop) { wait_for_signal(stop); });
  } catch (const std::system_error&) { // without the thread, a signal leaves the files behind
    pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
  }
}

TemporaryFiles::~TemporaryFiles() {
  {
    const std::lock_guard lock(entries_mutex);
    remove_last_first(this);
    std::erase_if(entries, [this](const Entry& entry) { return entry.owner == this; });
  }
  if (!watch_.joinable())
    return;
  watch_.request_stop();
  pthread_kill(watch_.native_handle(), wake_up());
  watch_.join();
  pthread_sigmask(SIG_SETMASK, &blocked_before_, nullptr);
}

bool TemporaryFiles::make(const Create& create) const {
  return add(create, false);
}

bool TemporaryFiles::make_tree(const Create& create) const {
  return add(create, true);
}

bool TemporaryFiles::add(const Create& create, bool is_tree) const {
  const std::lock_guard lock(entries_mutex);
  std::filesystem::path path = create();
  if (path.empty())
    return false;
  entries.push_back({this, std::move(path), is_tree});
  return true;
}

void TemporaryFiles::keep() const {
  const std::lock_guard lock(entries_mutex);
  std::erase_if(entries, [this](const Entry& entry) { return entry.owner == this; });
}

void remove_temporary_files() {
  const std::lock_guard lock(entries_mutex);
  remove_last_first(nullptr);
}

// Waits for a signal, removes the files, and ends the process as the signal would have done.
void TemporaryFiles::wait_for_signal(const std::stop_token& stop) const {
  sigset_t wanted = awaited_;
  sigaddset(&wanted, wake_up());
  int number = 0;
  do {
    if (sigwait(&wanted, &number) != 0 || stop.stop_requested())
      return;
  } while (sigismember(&awaited_, number) != 1);
  const std::lock_guard lock(entries_mutex);
  remove_last_first(nullptr);
  sigset_t one;
  sigemptyset(&one);
  sigaddset(&one, number);
  raise(number);
  pthread_sigmask(SIG_UNBLOCK, &one, nullptr);
}

} // namespace iotrail::store
