// SPDX-License-Identifier: BSD-3-Clause
//
// Identifies the traced tasks for all sources of one recording. It maps the ids of a thread in its
// own pid namespace, and is the only writer of the dictionary table `processes`.
//
// Sources report tasks. If the kernel source is open, its reports take precedence. A program's own
// announcement waits a moment, and is written only if the kernel source has no report. Not
// thread-safe; memory is bounded.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "capture/tasks/untraced_programs.hpp"
#include "dictionary_rows.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

// A thread by its ids in the initial pid namespace.
struct Task {
  iot_u32 pid = 0;
  iot_u32 tid = 0;
  std::uint64_t start_ns = 0; // 0: unknown
};

// A thread by the ids in its own pid namespace.
struct NamespaceTask {
  std::uint64_t pid_namespace = 0; // inode
  iot_u32 pid = 0;
  iot_u32 tid = 0;
};

// How long a report waits for another source that may know more.
inline constexpr std::uint64_t kTaskPatienceNs = 50'000'000;

class Tasks {
public:
  Tasks();

  // For the recorder itself: inode of its pid namespace, device number of its /proc.
  std::uint64_t pid_namespace() const { return pid_namespace_; }
  std::uint64_t proc_device() const { return proc_device_; }

  // The kernel source is open. It reports each task outside the initial namespace, and every
  // process.
  void expect_kernel() { has_kernel_ = true; }

  // Only traced processes are started with one of these variables, "NAME=VALUE".
  void expect_variables(std::vector<std::string> variables) { variables_ = std::move(variables); }

  // The rows of programs have no arguments: these may hold secrets.
  void drop_arguments() { keeps_arguments_ = false; }

  // Whether the ids in the recorder's /proc equal those in events. False if the recorder runs in a
  // container and the kernel source counts from outside.
  bool counts_like_proc() const;

  void add_task(std::uint64_t pid_namespace, iot_u32 tid_inside, const Task& task);

  // A running thread, as reported by the kernel source or, at intervals of a few milliseconds,
  // found in /proc.
  std::optional<Task> find(const NamespaceTask& task, std::uint64_t now_ns);
  // The last task that the kernel source reported with these ids; it may have ended.
  std::optional<Task> last_known(const NamespaceTask& task) const;

  // Reports of the kernel source on processes. `note_fork` copies the program from the parent.
  void note_fork(rows::processes row);
  void note_exec(rows::processes row);
  void note_adopted(rows::processes row); // it runs, and is recorded from now on; may be repeated
  // For the process that this one sees as `own`, also in /proc, and that events call `pid`. No
  // effect if it is gone.
  void see_running(iot_u32 own, iot_u32 pid);
  void see_bystander(iot_u32 own, iot_u32 pid); // the same for one that is not followed
  void await_exec(iot_u32 own, iot_u32 pid); // it will run another program; only its start matters
  void note_end(iot_u32 pid, std::uint64_t now_ns);
  // The kernel source follows this process, which runs.
  bool follows(iot_u32 pid) const { return programs_.contains(pid) && !bystanders_.contains(pid); }

  // A program's own announcement. `is_known`: `row.pid` is its id in the initial namespace. An
  // unknown parent (0) and the start come from /proc.
  void note_announcement(rows::processes row, bool is_known, std::uint64_t now_ns);

  // The running traced processes, "PID NAME" each. Without the kernel source, those that announced
  // themselves or have the variable: a process that was just forked has not done anything yet.
  std::vector<std::string> running() const;

  // Programs without the preload library.
  UntracedPrograms& unseen() { return unseen_; }
  const UntracedPrograms& unseen() const { return unseen_; }
  // Call it at the end of the recording, after all rings are drained.
  void decide_unseen(std::uint64_t now_ns);

  // Writes the rows that are complete; returns how many still wait.
  std::size_t write(store::TraceWriter& writer, std::uint64_t now_ns);

private:
  struct Program {
    std::string exe{};
    std::string command{};
    std::string rank{};
    std::string job{};
    std::uint64_t start_ns = 0;
  };
  struct Announcement {
    rows::processes row;
    std::uint64_t until_ns = 0;
  };
  struct Ended {
    iot_u32 pid = 0;
    std::uint64_t at_ns = 0;
  };
  using TaskKey = std::pair<std::uint64_t, iot_u32>; // namespace, inner thread id
  struct TaskHash {
    std::size_t operator()(const TaskKey& key) const {
      return std::hash<std::uint64_t>()(key.first << 32U ^ key.second);
    }
  };

  void remember(const rows::processes& row);
  void remember_announced(iot_u32 pid, std::uint64_t start_ns);
  void forget_ended(std::uint64_t now_ns);
  bool is_known_to_kernel(iot_u32 pid) const;
  std::map<iot_u32, std::uint64_t> running_candidates() const; // start times by pid

  std::uint64_t pid_namespace_;
  std::uint64_t proc_device_;
  bool has_kernel_ = false;
  bool keeps_arguments_ = true;
  std::vector<std::string> variables_;

  std::unordered_map<TaskKey, Task, TaskHash> tasks_;
  std::deque<TaskKey> task_order_; // oldest first
  std::uint64_t next_search_ns_ = 0;
  std::unordered_map<TaskKey, std::uint64_t, TaskHash>
      missed_; // not found, and the time of the next search

  std::unordered_map<iot_u32, std::shared_ptr<const Program>> programs_; // from the kernel source
  std::unordered_set<iot_u32> bystanders_;
  std::deque<Ended> ended_; // ended recently: their announcements may still arrive
  std::deque<Announcement> announcements_;
  UntracedPrograms unseen_;
  std::unordered_map<iot_u32, std::uint64_t> announced_; // start times that only these have
  std::vector<rows::processes> rows_;                    // to write
};

// Joins arguments, each with its terminator, into one line.
std::string command_line(std::string arguments);
// The program of such a line: its text up to the first blank.
std::string without_arguments(std::string_view command_line);

} // namespace iotrail::capture
