// SPDX-License-Identifier: BSD-3-Clause
//
// Loads the programs of a BPF object on several processors at once: the verifier takes most of a
// recording's start, and libbpf loads one program after another. libbpf reads the object, makes the
// maps, and relocates the programs. Each program is then taken from it, and a placeholder that does
// nothing is loaded instead; the real program takes over its descriptor. All other functions of
// libbpf then use the real program.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

struct iotrail_bpf;

namespace iotrail::capture::kernel {

class ProgramQueue;

// A program that the kernel refuses, and why (errno).
struct RefusedProgram {
  std::string_view name; // as long as the object is open
  int code;
};

class ProgramLoader {
public:
  // Makes libbpf pass the programs of all objects that are opened from here on.
  static void register_sections();

  // Starts threads for the processors that this process may use, which wait for programs. They
  // receive no signals.
  ProgramLoader();
  ~ProgramLoader(); // ends the threads
  ProgramLoader(const ProgramLoader&) = delete;
  ProgramLoader& operator=(const ProgramLoader&) = delete;

  // Loads `skeleton` in this thread and the others; once. 0, or the errno of libbpf: then no
  // program is loaded. Adds programs that the kernel refuses to `refused`.
  int load(iotrail_bpf* skeleton, std::vector<RefusedProgram>& refused);

private:
  std::unique_ptr<ProgramQueue> queue_;
};

} // namespace iotrail::capture::kernel
