// SPDX-License-Identifier: BSD-3-Clause
//
// Translates the ids of the BPF programs into those of the trace: files and strings from their
// messages, and the rows of devices. Messages about processes go to the recording's Tasks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/abi/message_abi.h"
#include "capture/kernel/collect/file_ids.hpp"
#include "capture/kernel/collect/late_names.hpp"
#include "capture/kernel/collect/translation.hpp"
#include "capture/selection/cgroups.hpp"
#include "capture/selection/unsupported_file_systems.hpp"
#include "capture/tasks/tasks.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture::kernel {

class KernelIds {
  // The next few records use a string, which need not be kept after them. This many of the newest
  // are kept.
  static constexpr std::size_t kStrings = 1U << 17U;
  struct String {
    iot_u32 local = 0;
    iot_u32 id = 0;
  };

public:
  KernelIds();

  // The receiver of processes and tasks, from before the first take() on.
  void report_to(Tasks& tasks) { tasks_ = &tasks; }

  void take(const iot_message& message, store::TraceWriter& writer);
  void take(const LateNames& names, store::TraceWriter& writer);

  // Ids of the trace; 0 if the message was lost. A value of its own, so that a loop over records
  // keeps it in registers; valid until the next take().
  class Lookup {
  public:
    iot_u32 file(iot_u32 local) const { return files_.find(local); }
    iot_u32 string(iot_u32 local) const {
      const String& string = strings_[local % kStrings];
      return string.local == local ? string.id : 0;
    }
    iot_u32 stack(iot_u32 local) const { return local < stacks_.size() ? stacks_[local] : 0; }
    iot_u32 id(Reference::To to, iot_u32 local) const {
      switch (to) {
      case Reference::To::file:
        return file(local);
      case Reference::To::string:
        return string(local);
      case Reference::To::stack:
        return stack(local);
      case Reference::To::device: // its number is its id
        return local;
      }
      std::unreachable();
    }

  private:
    friend class KernelIds;
    Lookup(const FileIds::Lookup& files, std::span<const String> strings,
           std::span<const iot_u32> stacks)
        : files_(files), strings_(strings), stacks_(stacks) {}

    FileIds::Lookup files_;
    std::span<const String> strings_;
    std::span<const iot_u32> stacks_;
  };
  Lookup lookup() { return {files_.lookup(), strings_, stacks_}; }

  std::uint64_t files_forgotten() const { return files_.forgotten(); } // uses of such files

  void process_ended(iot_u32 pid) {
    if (tasks_ != nullptr)
      tasks_->note_end(pid, monotonic_ns());
  }

  void see_device(iot_u32 device, store::TraceWriter& writer) {
    if (device != last_device_)
      see_other_device(device, writer);
  }

  std::vector<std::string> unsupported() const { return bare_file_systems_.names(); }

private:
  void set_string(iot_u32 local, iot_u32 id) { strings_[local % kStrings] = {local, id}; }
  void set_stack(iot_u32 local, iot_u32 id);
  void take_file(const iot_message_file& message, store::TraceWriter& writer);
  void take_string(const iot_message_string& message, store::TraceWriter& writer);
  void take_address(const iot_message_address& message, store::TraceWriter& writer);
  void take_stack(const iot_message_stack& message, store::TraceWriter& writer);
  void take_task(const iot_message_task& message);
  rows::processes process_of(const iot_message_process& message);
  void remember_executable(const iot_message_file& message, const std::string& path);
  std::string executable(iot_u32 local, iot_u32 pid) const;
  void see_other_device(iot_u32 device, store::TraceWriter& writer);

  Tasks* tasks_ = nullptr;
  FileIds files_;
  std::vector<String> strings_;
  std::vector<iot_u32> stacks_;                          // by local id
  std::unordered_map<iot_u32, std::string> executables_; // by local id
  Cgroups cgroups_;
  UnsupportedFileSystems bare_file_systems_;
  std::unordered_set<iot_u32> devices_;
  iot_u32 last_device_ = 0;
};

// The functions of a place where tasks wait, outermost first, without those of the tracing and the
// switch itself: as in folded stacks, "vfs_read;pipe_read".
std::string stack_of(const iot_message_stack& message);

// The path that a walk from the file up to the root has found, or its substitute ("pipe:[7]").
std::string path_of(const iot_message_file& message);

} // namespace iotrail::capture::kernel
