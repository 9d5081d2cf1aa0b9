// SPDX-License-Identifier: BSD-3-Clause
//
// Another process that works during a recording.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/result.hpp"

namespace iotrail::live {

// A child outside the recording that runs `work` at each request.
class Bystander {
public:
  explicit Bystander(const std::function<int()>& work) {
    IOTRAIL_CHECK(::pipe(requests_) == 0 && ::pipe(done_) == 0);
    pid_ = ::fork();
    if (pid_ != 0)
      return;
    ::close(requests_[1]);
    for (char request = 0; ::read(requests_[0], &request, 1) == 1;)
      IOTRAIL_CHECK(::write(done_[1], work() == 0 ? "y" : "n", 1) == 1);
    ::_exit(0);
  }
  ~Bystander() {
    for (const int fd : {requests_[0], requests_[1], done_[0], done_[1]})
      ::close(fd);
    ::waitpid(pid_, nullptr, 0);
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;

  // Called by the traced child. True: the work has succeeded.
  bool work() {
    char answer = 0;
    return ::write(requests_[1], "", 1) == 1 && ::read(done_[0], &answer, 1) == 1 && answer == 'y';
  }

private:
  int requests_[2] = {};
  int done_[2] = {};
  pid_t pid_ = 0;
};

} // namespace iotrail::live
