// SPDX-License-Identifier: BSD-3-Clause
#include "capture/preload/collector/arena_guard.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <string>

namespace iotrail::capture::preload {
namespace {

constexpr int kDeathSignal = SIGTERM; // blocked, for sigwait

// Between fork and _exit, only functions that a signal handler may call. It keeps no descriptor
// open: a reader may wait for the end of a pipe, and the trace's lock and the rings must go. A
// session of its own protects it from signals to the recorder's process group.
[[noreturn]] void guard(pid_t recorder, const char* file, const char* directory) {
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
  setsid();
  prctl(PR_SET_NAME, "iotrail-guard");
  prctl(PR_SET_PDEATHSIG, kDeathSignal);
  close_range(0, ~0U, 0);
  sigset_t death;
  sigemptyset(&death);
  sigaddset(&death, kDeathSignal);
  while (getppid() == recorder)
    sigwaitinfo(&death, nullptr);
  unlink(file);
  rmdir(directory);
  _exit(0);
}

} // namespace

ArenaGuard::ArenaGuard(const std::filesystem::path& arena) {
  const std::string file = arena.string();
  const std::string directory = arena.parent_path().string();
  const pid_t recorder = getpid();
  process_ = fork();
  if (process_ == 0)
    guard(recorder, file.c_str(), directory.c_str());
}

ArenaGuard::~ArenaGuard() {
  if (process_ <= 0)
    return;
  kill(process_, SIGKILL);
  while (waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

} // namespace iotrail::capture::preload
