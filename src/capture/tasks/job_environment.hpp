// SPDX-License-Identifier: BSD-3-Clause
//
// Which part of a parallel job a process is, by the variables that MPI libraries and batch systems
// set in its environment.
#pragma once

#include <string>
#include <string_view>

namespace iotrail::capture {

struct JobEnvironment {
  std::string rank{}; // a number from 0 on; empty: none
  std::string job{};  // id of the job; empty: none
};

// `variables` as in /proc/PID/environ: NAME=VALUE, each with a NUL behind it. A value that is no rank
// or no id is skipped.
JobEnvironment job_environment(std::string_view variables);

// Of a process in the recorder's /proc. Without any if it is gone, or not readable. Only the first
// MiB of an environment counts.
JobEnvironment read_job_environment(unsigned pid);

} // namespace iotrail::capture
