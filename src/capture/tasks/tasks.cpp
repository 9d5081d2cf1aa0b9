// SPDX-License-Identifier: BSD-3-Clause
#include "capture/tasks/tasks.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/process.hpp"
#include "capture/selection/cgroups.hpp"
#include "capture/selection/containers.hpp"
#include "capture/tasks/job_environment.hpp"
#include "capture/tasks/namespaces.hpp"
#include "capture/tasks/process_stat.hpp"

namespace iotrail::capture {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kTasksMost = 1U << 16U; // limit of remembered tasks in other namespaces
constexpr std::size_t kAnnouncementsMost = 1U << 12U;
constexpr std::uint64_t kSearchEveryNs = 5'000'000; // for the same task
constexpr std::uint64_t kRestAfterSearch = 2; // times its duration: the rings must be drained too
constexpr std::uint64_t kKeepEndedNs = 1'000'000'000;

std::uint64_t inode_of(const std::string& path) {
  struct stat attributes{};
  return stat(path.c_str(), &attributes) == 0 ? attributes.st_ino : 0;
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf(); // if the process has ended, the text is empty
  return text.str();
}

std::string link_target(const std::string& path) {
  std::error_code error;
  return fs::read_symlink(path, error).string();
}

// A default value if it is gone.
ProcessStat stat_of(iot_u32 pid) {
  return parse_process_stat(read_file(fmt::format("/proc/{}/stat", pid))).value_or(ProcessStat{});
}

void put_job(JobEnvironment job, rows::processes& row) {
  row.rank = std::move(job.rank);
  row.job = std::move(job.job);
}

// Reads the control group, the namespaces and the job of a process in the recorder's /proc.
void see_surroundings(iot_u32 pid, rows::processes& row) {
  const std::string process = fmt::format("/proc/{}", pid);
  row.cgroup = unified_cgroup(read_file(process + "/cgroup"));
  const Fd directory(::open(process.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  put_namespaces(read_namespaces(directory.get()), row);
  put_job(read_job_environment(pid), row);
}

// The id of a process or thread in its own namespace, by its directory in /proc; 0: it is gone.
iot_u32 id_inside(const fs::path& directory) {
  std::ifstream status(directory / "status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("NSpid:"))
      return static_cast<iot_u32>(std::strtoul(line.c_str() + line.rfind('\t'), nullptr, 10));
  return 0;
}

iot_u32 number_of(const fs::path& directory) {
  const std::string name = directory.filename();
  iot_u32 number = 0;
  std::from_chars(name.data(), name.data() + name.size(), number);
  return number;
}

// The directory below `parent` with the inner id `id`; empty: none.
template <class Fits>
fs::path find_directory(const fs::path& parent, iot_u32 id, const Fits& fits) {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(parent, error))
    if (number_of(entry.path()) != 0 && fits(entry.path()) && id_inside(entry.path()) == id)
      return entry.path();
  return {};
}

std::optional<Task> search(const NamespaceTask& task) {
  const auto is_of_namespace = [&](const fs::path& directory) {
    return inode_of(directory / "ns/pid") == task.pid_namespace;
  };
  const fs::path process = find_directory("/proc", task.pid, is_of_namespace);
  if (process.empty())
    return {};
  const fs::path thread =
      task.tid == task.pid
          ? process
          : find_directory(process / "task", task.tid, [](const fs::path&) { return true; });
  if (thread.empty())
    return {};
  const iot_u32 pid = number_of(process);
  return Task{pid, number_of(thread), stat_of(pid).start_ns};
}

bool is_alive(const Task& task) {
  return tgkill(static_cast<pid_t>(task.pid), static_cast<pid_t>(task.tid), 0) == 0 ||
         errno != ESRCH;
}

// The pid of an ended process may have been reused.
bool runs_since(iot_u32 pid, std::uint64_t start_ns) {
  constexpr std::uint64_t kExactnessNs = 20'000'000; // /proc has hundredths of a second
  const ProcessStat stat = stat_of(pid);
  const std::uint64_t apart_ns =
      stat.start_ns > start_ns ? stat.start_ns - start_ns : start_ns - stat.start_ns;
  return stat.state != 'X' && stat.state != 'Z' && (start_ns == 0 || apart_ns <= kExactnessNs);
}

std::uint64_t device_of_proc() {
  struct stat attributes{};
  return stat("/proc", &attributes) == 0 ? attributes.st_dev : 0;
}

} // namespace

Tasks::Tasks() : pid_namespace_(inode_of("/proc/self/ns/pid")), proc_device_(device_of_proc()) {}

bool Tasks::counts_like_proc() const {
  return !has_kernel_ || pid_namespace_ == kInitialPidNamespace;
}

void Tasks::add_task(std::uint64_t pid_namespace, iot_u32 tid_inside, const Task& task) {
  const TaskKey key(pid_namespace, tid_inside);
  if (!tasks_.insert_or_assign(key, task).second)
    return;
  task_order_.push_back(key);
  if (task_order_.size() <= kTasksMost)
    return;
  tasks_.erase(task_order_.front());
  task_order_.pop_front();
}

std::optional<Task> Tasks::last_known(const NamespaceTask& task) const {
  const auto found = tasks_.find({task.pid_namespace, task.tid});
  return found != tasks_.end() ? std::optional(found->second) : std::nullopt;
}

// The inode number of a namespace is reused as soon as its last process has left: an entry may
// belong to the earlier one.
std::optional<Task> Tasks::find(const NamespaceTask& task, std::uint64_t now_ns) {
  if (const auto known = last_known(task); known && (is_alive(*known) || !counts_like_proc()))
    return known;
  const TaskKey key(task.pid_namespace, task.tid);
  const auto missed = missed_.find(key);
  if (!counts_like_proc() || now_ns < next_search_ns_ ||
      (missed != missed_.end() && now_ns < missed->second))
    return {};
  const std::uint64_t begin_ns = monotonic_ns();
  const auto found = search(task);
  const std::uint64_t end_ns = monotonic_ns();
  next_search_ns_ = end_ns + kRestAfterSearch * (end_ns - begin_ns);
  if (missed_.size() >= kTasksMost)
    missed_.clear();
  if (found)
    missed_.erase(key);
  else
    missed_[key] = end_ns + kSearchEveryNs;
  return found;
}

void Tasks::remember(const rows::processes& row) {
  programs_[row.pid] = std::make_shared<const Program>(
      Program{row.exe, row.command, row.rank, row.job, row.start_ns});
}

void Tasks::note_fork(rows::processes row) {
  bystanders_.erase(row.pid);
  const auto parent = programs_.find(row.parent_pid);
  if (parent != programs_.end()) {
    row.exe = parent->second->exe;
    row.command = parent->second->command;
    row.rank = parent->second->rank;
    row.job = parent->second->job;
  }
  remember(row);
  rows_.push_back(std::move(row));
}

void Tasks::note_exec(rows::processes row) {
  const auto before = programs_.find(row.pid);
  row.start_ns = before != programs_.end() && before->second->start_ns != 0
                     ? before->second->start_ns
                     : stat_of(row.pid).start_ns;
  if (counts_like_proc())
    put_job(read_job_environment(row.pid), row);
  unseen_.note_exec(row, monotonic_ns());
  remember(row);
  rows_.push_back(std::move(row));
}

void Tasks::note_adopted(rows::processes row) {
  bystanders_.erase(row.pid);
  if (programs_.contains(row.pid))
    return;
  if (counts_like_proc())
    put_job(read_job_environment(row.pid), row);
  remember(row);
  rows_.push_back(std::move(row));
}

void Tasks::see_running(iot_u32 own, iot_u32 pid) {
  bystanders_.erase(pid);
  const std::string base = fmt::format("/proc/{}", own);
  rows::processes row;
  row.comm = comm_of(static_cast<pid_t>(own));
  if (row.comm.empty())
    return;
  const ProcessStat stat = stat_of(own);
  row.since_ns = monotonic_ns();
  row.pid = pid;
  row.parent_pid = own == pid ? stat.parent : 0;
  row.start_ns = stat.start_ns;
  row.exe = link_target(base + "/exe");
  row.command = command_line(read_file(base + "/cmdline"));
  see_surroundings(own, row);
  remember(row);
  rows_.push_back(std::move(row));
}

void Tasks::see_bystander(iot_u32 own, iot_u32 pid) {
  const bool is_followed = programs_.contains(pid);
  see_running(own, pid);
  if (!is_followed)
    bystanders_.insert(pid);
}

void Tasks::await_exec(iot_u32 own, iot_u32 pid) {
  programs_[pid] = std::make_shared<const Program>(Program{.start_ns = stat_of(own).start_ns});
}

void Tasks::note_end(iot_u32 pid, std::uint64_t now_ns) {
  unseen_.note_end(pid, now_ns);
  if (programs_.erase(pid) != 0)
    ended_.push_back({pid, now_ns});
}

void Tasks::forget_ended(std::uint64_t now_ns) {
  while (!ended_.empty() && now_ns > ended_.front().at_ns + kKeepEndedNs)
    ended_.pop_front();
}

bool Tasks::is_known_to_kernel(iot_u32 pid) const {
  return programs_.contains(pid) || std::ranges::find(ended_, pid, &Ended::pid) != ended_.end();
}

void Tasks::note_announcement(rows::processes row, bool is_known, std::uint64_t now_ns) {
  if (is_known)
    unseen_.note_announcement(row.pid, row.since_ns, now_ns);
  if (is_known && counts_like_proc()) {
    const ProcessStat stat = stat_of(row.pid);
    row.start_ns = stat.start_ns;
    if (row.parent_pid == 0)
      row.parent_pid = stat.parent;
    see_surroundings(row.pid, row);
    if (!has_kernel_)
      remember_announced(row.pid, stat.start_ns);
  }
  announcements_.push_back({std::move(row), has_kernel_ ? now_ns + kTaskPatienceNs : 0});
}

void Tasks::remember_announced(iot_u32 pid, std::uint64_t start_ns) {
  if (announced_.size() >= kAnnouncementsMost)
    std::erase_if(announced_, [](const auto& row) { return !runs_since(row.first, row.second); });
  if (announced_.size() < kAnnouncementsMost)
    announced_[pid] = start_ns;
}

std::map<iot_u32, std::uint64_t> Tasks::running_candidates() const {
  std::map<iot_u32, std::uint64_t> candidates(announced_.begin(), announced_.end());
  for (const auto& [pid, program] : programs_)
    if (!bystanders_.contains(pid))
      candidates[pid] = program->start_ns;
  if (has_kernel_ || variables_.empty() || !counts_like_proc())
    return candidates;
  for (const auto& [pid, parent] : running_processes())
    if (has_variable(pid, variables_).value_or(false))
      candidates.try_emplace(static_cast<iot_u32>(pid), 0);
  return candidates;
}

std::vector<std::string> Tasks::running() const {
  std::vector<std::string> found;
  for (const auto& [pid, start_ns] : running_candidates())
    if (!counts_like_proc())
      found.push_back(fmt::format("{}", pid));
    else if (runs_since(pid, start_ns))
      found.push_back(fmt::format("{} {}", pid, comm_of(static_cast<pid_t>(pid))));
  return found;
}

void Tasks::decide_unseen(std::uint64_t now_ns) {
  unseen_.decide_all(now_ns,
                     [&](iot_u32 pid) { return !counts_like_proc() || runs_since(pid, 0); });
}

std::size_t Tasks::write(store::TraceWriter& writer, std::uint64_t now_ns) {
  std::erase_if(announcements_,
                [&](const Announcement& a) { return is_known_to_kernel(a.row.pid); });
  while (!announcements_.empty() && (announcements_.front().until_ns <= now_ns ||
                                     announcements_.size() > kAnnouncementsMost)) {
    rows_.push_back(std::move(announcements_.front().row));
    announcements_.pop_front();
  }
  forget_ended(now_ns);
  unseen_.decide(now_ns);
  for (rows::processes& row : rows_) {
    if (!keeps_arguments_)
      row.command = without_arguments(row.command);
    row.container = container_of(row.cgroup);
    writer.add(row);
  }
  rows_.clear();
  return announcements_.size();
}

std::string command_line(std::string arguments) {
  while (!arguments.empty() && arguments.back() == '\0')
    arguments.pop_back();
  std::ranges::replace(arguments, '\0', ' ');
  return arguments;
}

std::string without_arguments(std::string_view command_line) {
  return std::string(command_line.substr(0, command_line.find(' ')));
}

} // namespace iotrail::capture
