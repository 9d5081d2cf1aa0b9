// SPDX-License-Identifier: BSD-3-Clause
//
// The call into the C library in which each system call began. A thread does one thing at a time,
// so the last call that its thread began has it, or the call that a signal handler interrupted.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "store/reader/trace_reader.hpp"

namespace iotrail::analysis {

// What many rows have in common.
struct AppCallKind {
  std::string event; // table of the library call; empty: there is none
  std::string call;  // its function; empty: the table has none
  std::string place; // as in the view app_calls_of_syscalls
};

struct AppCall {
  std::uint64_t syscall_op;
  std::uint64_t app_op;
  const AppCallKind* kind;
};

struct AppCalls {
  std::vector<AppCall> calls; // one for each system call
  std::deque<AppCallKind> kinds;
};

// Takes one pass over both layers, in the order of time.
AppCalls find_app_calls(const store::TraceReader& trace);

} // namespace iotrail::analysis
