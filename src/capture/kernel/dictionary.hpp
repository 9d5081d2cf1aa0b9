// SPDX-License-Identifier: BSD-3-Clause
//
// From the ids that BPF programs hand out to those of the trace: files and strings as their texts arrive, and the
// rows that go with them (processes, devices).
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/kernel/kernel_abi.h"
#include "store/trace_writer.hpp"

namespace iotrail::capture::kernel {

class Dictionary {
public:
  Dictionary();

  void take(const io_text& text, store::TraceWriter& writer);

  // Ids of the trace; 0 where the text was lost.
  io_u32 file(io_u32 local) const;
  io_u32 string(io_u32 local) const;

  // A process that runs already, from /proc; nothing where it is gone. Its row is kept until there is a writer.
  void see_running(io_u32 pid);
  void add_running(store::TraceWriter& writer);
  void process_ended(io_u32 pid) { programs_.erase(pid); }

  void see_device(io_u32 device, store::TraceWriter& writer);

private:
  struct Program {
    std::string exe;
    std::string command;
  };
  // Strings are used by the next few records and need not be kept; the newest this many are.
  static constexpr std::size_t kStrings = 1U << 17U;
  struct String {
    io_u32 local = 0;
    io_u32 id = 0;
  };

  void take_file(const io_text_file& text, store::TraceWriter& writer);
  void take_string(const io_text_string& text, store::TraceWriter& writer);
  void take_fork(const io_text_process& text, store::TraceWriter& writer);
  void take_exec(const io_text_process& text, store::TraceWriter& writer);
  void remember_executable(const io_text_file& text, const std::string& path);
  std::string executable(io_u32 local, io_u32 pid) const;
  void add_row(const io_text_process& text, const Program& program, store::TraceWriter& writer);

  std::vector<io_u32> files_; // by local id
  std::vector<String> strings_;
  std::unordered_map<io_u32, std::string> executables_; // by local id
  std::unordered_map<io_u32, std::shared_ptr<const Program>> programs_;
  std::vector<rows::processes> running_; // rows to be written
  std::unordered_set<io_u32> devices_;
  io_u32 last_device_ = 0;
};

// The path that a walk from the file up to the root has met, or what stands for it ("pipe:[7]").
std::string path_of(const io_text_file& text);

} // namespace iotrail::capture::kernel
