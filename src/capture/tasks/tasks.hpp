// SPDX-License-Identifier: BSD-3-Clause
//
// Who is who among the traced tasks, for all sources of one recording: the ids of a thread that counts itself in a pid
// namespace of its own, and the one writer of the dictionary table `processes`.
//
// Sources report what they see. Where the kernel source is open its word counts; what programs announce of themselves
// waits a moment for it and is written only where the kernel said nothing. One thread; memory is bounded.
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

#include "capture/tasks/unseen_programs.hpp"
#include "dictionary_rows.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::capture {

// A thread by its ids in the initial pid namespace.
struct Task {
  iot_u32 pid = 0;
  iot_u32 tid = 0;
  std::uint64_t start_ns = 0; // 0: not known
};

// A thread by the ids that it has in its own pid namespace.
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

  // Of the recorder itself: inode of its pid namespace, device number of its /proc.
  std::uint64_t pid_namespace() const { return pid_namespace_; }
  std::uint64_t proc_device() const { return proc_device_; }

  // The kernel source is open. It reports each task of a namespace other than the initial one, and every process.
  void expect_kernel() { has_kernel_ = true; }

  // Traced processes are started with this variable, "NAME=VALUE", and others are not.
  void expect_variable(std::string variable) { variable_ = std::move(variable); }

  // Whether the ids that the recorder's /proc shows are those that events carry. Not where the recorder runs in a
  // container and the kernel source counts from outside.
  bool counts_like_proc() const;

  void add_task(std::uint64_t pid_namespace, iot_u32 tid_inside, const Task& task);

  // A thread that lives, by the kernel's word or, at times a few milliseconds apart, by a search of /proc.
  std::optional<Task> find(const NamespaceTask& task, std::uint64_t now_ns);
  // The last that the kernel said to have the ids; it may have ended.
  std::optional<Task> last_known(const NamespaceTask& task) const;

  // The kernel's word on processes. `note_fork` takes the program from the parent.
  void note_fork(rows::processes row);
  void note_exec(rows::processes row);
  void
  note_adopted(rows::processes row); // it runs, and is recorded from now on; told more than once
  // Of the process that this one sees as `own`, in /proc too, and events call `pid`. Nothing where it is gone.
  void see_running(iot_u32 own, iot_u32 pid);
  void see_bystander(iot_u32 own,
                     iot_u32 pid); // the same of one that is only named in events, and not followed
  void await_exec(iot_u32 own, iot_u32 pid); // it will run another program; only its start matters
  void note_end(iot_u32 pid, std::uint64_t now_ns);

  // A program's own word. `is_known`: `row.pid` is its id in the initial namespace. A parent that is not known (0) and
  // the start are taken from /proc.
  void note_announcement(rows::processes row, bool is_known, std::uint64_t now_ns);

  // The traced processes that live, "PID NAME" each. Without the kernel's word, those that have announced themselves or
  // have the variable: one just forked has not done anything yet.
  std::vector<std::string> running() const;

  // Programs without the preload library.
  UnseenPrograms& unseen() { return unseen_; }
  const UnseenPrograms& unseen() const { return unseen_; }
  // At the end of the recording, when all is drained.
  void decide_unseen(std::uint64_t now_ns);

  // Writes the rows that wait for nothing more; returns how many still wait.
  std::size_t write(store::TraceWriter& writer, std::uint64_t now_ns);

private:
  struct Program {
    std::string exe;
    std::string command;
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
  using TaskKey = std::pair<std::uint64_t, iot_u32>; // namespace, thread inside
  struct TaskHash {
    std::size_t operator()(const TaskKey& key) const {
      return std::hash<std::uint64_t>()(key.first << 32U ^ key.second);
    }
  };

  void remember(const rows::processes& row);
  void remember_announced(iot_u32 pid, std::uint64_t start_ns);
  void forget_ended(std::uint64_t now_ns);
  bool is_known_to_kernel(iot_u32 pid) const;
  std::map<iot_u32, std::uint64_t> running_candidates() const; // when they started, by pid

  std::uint64_t pid_namespace_;
  std::uint64_t proc_device_;
  bool has_kernel_ = false;
  std::string variable_;

  std::unordered_map<TaskKey, Task, TaskHash> tasks_;
  std::deque<TaskKey> task_order_; // the oldest first
  std::uint64_t next_search_ns_ = 0;
  std::unordered_map<TaskKey, std::uint64_t, TaskHash>
      missed_; // not found, and when to search again

  std::unordered_map<iot_u32, std::shared_ptr<const Program>> programs_; // of the kernel's word
  std::unordered_set<iot_u32> bystanders_;
  std::deque<Ended> ended_; // not long ago: their announcements may be on their way
  std::deque<Announcement> announcements_;
  UnseenPrograms unseen_;
  std::unordered_map<iot_u32, std::uint64_t> announced_; // when they started; where only they tell
  std::vector<rows::processes> rows_;                    // to be written
};

// Arguments, each with its end, as one line.
std::string command_line(std::string arguments);

} // namespace iotrail::capture
