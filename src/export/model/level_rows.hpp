// SPDX-License-Identifier: BSD-3-Clause
//
// Reads and writes by level of the I/O stack, as the tracers of EZIOTracer list them: a row where an
// access enters a level, and one where it leaves.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "export/trace_format.hpp"

namespace iotrail::output {

// Some of the rows. Empty members do not restrict.
struct LevelSelection {
  std::string levels; // letters: s calls, v VFS, p page cache, b requests, d commands
  std::string file;   // only this file, by its absolute path
  std::string folder; // only files directly in this directory
  std::uint64_t folder_inode = 0;
  std::vector<std::uint64_t> devices; // requests and commands of these disks
};

struct LevelRow {
  std::uint64_t at_ns = 0; // CLOCK_MONOTONIC
  char level = 0;          // S, V, P, B, D
  bool is_read = false;
  bool is_leave = false;
  std::uint64_t address = 0; // 0 also if unknown
  std::uint64_t bytes = 0;   // asked for; of a row of leaving, moved
  std::uint64_t pid = 0;
  std::uint64_t tid = 0;
  std::string comm; // printable
  std::uint64_t inode = 0;
  std::uint64_t parent_inode = 0; // of the directory; 0: unknown
};

// The lines of bcc_iotracer.py, separated by tabs.
Result<void> write_level_lines(const TraceInput& input, const LevelSelection& selection,
                               Sink& sink);
// The lines of iotracer.bt, separated by commas: no calls and no commands, and of VFS and page cache
// only where an access enters.
Result<void> write_level_csv(const TraceInput& input, Sink& sink);

} // namespace iotrail::output
