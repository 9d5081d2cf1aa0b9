// SPDX-License-Identifier: BSD-3-Clause
//
// Listens on 127.0.0.1 and starts a process for each connection. Its own process has one thread and
// reads nothing that a client sends.
#pragma once

#include <set>
#include <string>

#include <sys/types.h>

#include "base/fd.hpp"
#include "base/result.hpp"
#include "serve/http/site.hpp"
#include "serve/http/work_slots.hpp"

namespace iotrail::serve {

class Server {
public:
  // `port` 0: any that is free. The token is random.
  static Result<Server> open(Traces traces, const Limits& limits, int port);

  std::string address() const; // "http://127.0.0.1:40001/TOKEN/"

  // Until SIGINT, SIGTERM or SIGHUP. Those processes that still work then end too. Call it while
  // this process has one thread.
  Result<void> run();

private:
  Server(Site site, Fd listener, WorkSlots slots)
      : site_(std::move(site)), listener_(std::move(listener)), slots_(std::move(slots)) {}

  void accept_one();
  void reap();
  void end_children();

  Site site_;
  Fd listener_;
  WorkSlots slots_;
  std::set<pid_t> children_;
};

} // namespace iotrail::serve
