// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include "base/result.hpp"

namespace iotrail::cli {

// Exit statuses of the command line. `record` returns the command's own instead, where it ran.
enum class Exit : int {
  ok = 0,
  failed = 1,
  usage = 2,
  losses = 3,
  not_executable = 126, // as a shell says it of a command
  not_found = 127
};

inline Exit exit_of(const Error& error) {
  switch (error.kind) {
  case Failure::operation:
    return Exit::failed;
  case Failure::usage:
    return Exit::usage;
  case Failure::command_not_found:
    return Exit::not_found;
  case Failure::command_not_executable:
    return Exit::not_executable;
  }
  return Exit::failed;
}

} // namespace iotrail::cli
