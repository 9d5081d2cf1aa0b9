// SPDX-License-Identifier: BSD-3-Clause
//
// Loads the programs of a BPF object on several processors at once: the kernel's check of them is most of the time in which
// a recording starts, and libbpf loads one after another. It reads the object, makes the maps, and fits the programs to the
// kernel; each program is then taken from it, and one that does nothing loaded in its place, of which the program's own
// takes over the descriptor. All else that libbpf does with a program it does with the right one.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

struct iotrail_bpf;

namespace iotrail::capture::kernel {

class ProgramQueue;

// A program that the kernel does not take, and why (errno).
struct RefusedProgram {
  std::string_view name; // as long as the object is open
  int code;
};

class ProgramLoader {
public:
  // Has libbpf ask for programs to be taken, of all objects that are opened from here on.
  static void register_sections();

  // Threads for the processors that this process may use begin to wait for programs. Signals do not reach them.
  ProgramLoader();
  ~ProgramLoader(); // ends the threads
  ProgramLoader(const ProgramLoader&) = delete;
  ProgramLoader& operator=(const ProgramLoader&) = delete;

  // Loads `skeleton` in this thread and the others; once. 0, or the errno with which libbpf failed: then no program is
  // loaded. Programs that the kernel refuses are added to `refused`.
  int load(iotrail_bpf* skeleton, std::vector<RefusedProgram>& refused);

private:
  std::unique_ptr<ProgramQueue> queue_;
};

} // namespace iotrail::capture::kernel
