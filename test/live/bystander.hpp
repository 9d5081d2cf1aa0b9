// SPDX-License-Identifier: BSD-3-Clause
//
// Somebody else, who does things while a recording is made.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <functional>

#include "base/result.hpp"

namespace iotrail::live {

// A child that the recording is not of, and that does `work` each time it is told to.
class Bystander {
public:
  explicit Bystander(const std::function<int()>& work) {
    IOTRAIL_CHECK(::pipe(told_) == 0 && ::pipe(done_) == 0);
    pid_ = ::fork();
    if (pid_ != 0)
      return;
    ::close(told_[1]);
    for (char word = 0; ::read(told_[0], &word, 1) == 1;)
      IOTRAIL_CHECK(::write(done_[1], work() == 0 ? "y" : "n", 1) == 1);
    ::_exit(0);
  }
  ~Bystander() {
    for (const int fd : {told_[0], told_[1], done_[0], done_[1]})
      ::close(fd);
    ::waitpid(pid_, nullptr, 0);
  }
  Bystander(const Bystander&) = delete;
  Bystander& operator=(const Bystander&) = delete;

  // Of the traced child. True: it is done.
  bool work() {
    char answer = 0;
    return ::write(told_[1], "", 1) == 1 && ::read(done_[0], &answer, 1) == 1 && answer == 'y';
  }

private:
  int told_[2] = {};
  int done_[2] = {};
  pid_t pid_ = 0;
};

} // namespace iotrail::live
