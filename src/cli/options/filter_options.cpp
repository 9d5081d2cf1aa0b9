// SPDX-License-Identifier: BSD-3-Clause
#include "cli/options/filter_options.hpp"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <charconv>
#include <filesystem>
#include <utility>

#include "base/process.hpp"
#include "capture/selection/pseudo_file_systems.hpp"
#include "capture/vm/machines.hpp"
#include "cli/options/parse_units.hpp"

namespace iotrail::cli {
namespace {

Result<void> check_pids(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) {
    if (pid == ::getpid())
      return fail_usage(fmt::format("-p {}: a recording does not trace itself", pid));
    if (pid > 0 && ::kill(pid, 0) == 0) {
      if (const pid_t process = process_of_thread(pid); process != pid && process != 0)
        return fail_usage(fmt::format("-p {}: this is a thread of process {}", pid, process),
                          "processes are recorded whole", fmt::format("Write -p {}.", process));
      continue;
    }
    const int code = pid > 0 ? errno : ESRCH;
    return fail_errno(fmt::format("cannot record process {}", pid), code,
                      code == EPERM
                          ? "It belongs to another user: run iotrail as that user or as root."
                          : "`ps -e` lists the processes there are.");
  }
  return {};
}

// Parses the name or number of a user; this machine need not know the number.
Result<uid_t> parse_user(std::string_view option, const std::string& text) {
  if (const passwd* user = ::getpwnam(text.c_str()); user != nullptr)
    return user->pw_uid;
  uid_t number = 0;
  const char* end = text.data() + text.size();
  if (const auto [at, code] = std::from_chars(text.data(), end, number);
      code == std::errc{} && at == end)
    return number;
  return fail(fmt::format("{} {}: there is no such user", option, text),
              "name a user of this machine, or a number");
}

Result<void> add_users(std::string_view option, const std::vector<std::string>& texts,
                       std::vector<uid_t>& users) {
  for (const std::string& text : texts) {
    const Result<uid_t> user = parse_user(option, text);
    if (!user)
      return std::unexpected(user.error());
    users.push_back(*user);
  }
  return {};
}

void add_once(std::vector<pid_t>& pids, pid_t pid) {
  if (std::ranges::find(pids, pid) == pids.end())
    pids.push_back(pid);
}

// The process of a thread that is named is followed, and of it that thread recorded.
Result<void> add_processes_of_threads(const std::vector<pid_t>& threads, capture::Filter& filter) {
  const bool has_pids = !filter.pids.empty();
  for (const pid_t thread : threads) {
    const pid_t process = thread > 0 ? process_of_thread(thread) : 0;
    if (process == 0)
      return fail(fmt::format("--tid {}: there is no such thread", thread),
                  "`ps -eL` lists the threads there are");
    if (process == ::getpid())
      return fail_usage(fmt::format("--tid {}: a recording does not trace itself", thread));
    if (has_pids && std::ranges::find(filter.pids, process) == filter.pids.end())
      return fail_usage(
          fmt::format("--tid {}: a thread of process {}, which -p does not name", thread, process));
    add_once(filter.pids, process);
  }
  return {};
}

// A virtual machine is a process on this side.
Result<void> add_machines(const std::vector<std::string>& names, capture::Filter& filter) {
  for (const std::string& name : names) {
    const auto machine = capture::vm::find_machine(name);
    if (!machine)
      return std::unexpected(machine.error());
    if (Result<void> checked = check_pids({machine->pid}); !checked)
      return checked;
    add_once(filter.pids, machine->pid);
    add_once(filter.machines, machine->pid);
  }
  return {};
}

// An excluded task must run: a number that does not is a mistake.
Result<void> check_excluded(std::string_view option, const std::vector<pid_t>& tasks,
                            std::string_view what) {
  for (const pid_t task : tasks)
    if (task <= 0 || process_of_thread(task) == 0)
      return fail(fmt::format("{} {}: there is no such {}", option, task, what));
  return {};
}

// "1/100" or "100".
Result<iot_u32> parse_sample(const std::string& text) {
  constexpr iot_u32 kMost = 1'000'000;
  const auto calls = parse_count("--sample", text.starts_with("1/") ? text.substr(2) : text);
  if (calls && *calls >= 2 && *calls <= kMost)
    return static_cast<iot_u32>(*calls);
  return fail_usage(fmt::format("--sample {}: not of the form 1/N", text),
                    fmt::format("of N calls one is recorded; N is from 2 to {}", kMost));
}

// A user who names a path there wants its files.
bool names_pseudo(const capture::Selector& things) {
  const auto name_any = [](const std::vector<std::string>& paths) {
    return std::ranges::any_of(paths, capture::is_on_pseudo_file_system);
  };
  return name_any(things.files) || name_any(things.folders) || name_any(things.mounts);
}

struct ListOption {
  const char* option;
  const char* value; // its name in help
  std::vector<std::string> capture::Selector::* list;
  const char* help;
  const char* help_to_exclude; // nullptr: nothing can be
};

constexpr ListOption kLists[] = {
    {"cgroup", "DIRECTORY", &capture::Selector::cgroups,
     "Record the processes of this control group (version 2) and of its descendants, until it is "
     "removed",
     "Exclude the processes of this control group and of its descendants"},
    {"comm", "NAME", &capture::Selector::names,
     "Only tasks with this name (`ps -eo comm`; 15 bytes); NAME* matches a prefix; system-wide "
     "unless a command, -p or --cgroup is given",
     "Exclude tasks with this name, or NAME*"},
    {"container", "ID", &capture::Selector::containers,
     "Record the processes of this container, until it is removed: an id (at least 12 digits, as "
     "`docker ps` shows) or, for LXC and nspawn, a name",
     "Exclude the processes of this container"},
    {"device", "DEVICE", &capture::Selector::devices,
     "Only I/O of this disk and of files on it, until it is removed; system-wide unless a command, "
     "-p or --cgroup is given",
     "Exclude I/O of this disk and of files on it"},
    {"dir", "DIRECTORY", &capture::Selector::folders,
     "Only I/O of files that are below this directory when first seen; system-wide unless a "
     "command, -p or --cgroup is given",
     "Exclude I/O of files below this directory"},
    {"file", "FILE", &capture::Selector::files,
     "Only I/O of this path, and of its file under any name; system-wide unless a command, -p or "
     "--cgroup is given",
     "Exclude I/O of this file"},
    {"mount", "DIRECTORY", &capture::Selector::mounts,
     "Only I/O of the file system mounted here, and of its disk; system-wide unless a command, -p "
     "or --cgroup is given",
     "Exclude I/O of the file system mounted here"},
};

template <class Value>
Result<void> check_contradiction(std::string_view option, const std::vector<Value>& wanted,
                                 const std::vector<Value>& excluded) {
  for (const Value& value : excluded)
    if (std::ranges::find(wanted, value) != wanted.end())
      return fail_usage(fmt::format("--{0} {1} and --exclude-{0} {1}", option, value),
                        "both at once stand for nothing");
  return {};
}

// Refuses selections that are excluded at the same time: they would record nothing.
Result<void> check_contradictions(const capture::Filter& filter) {
  const capture::Selector& wanted = filter.wanted;
  const capture::Selector& excluded = filter.excluded;
  for (const ListOption& list : kLists)
    if (auto checked = check_contradiction(list.option, wanted.*list.list, excluded.*list.list);
        !checked)
      return checked;
  if (auto checked = check_contradiction("tid", wanted.threads, excluded.threads); !checked)
    return checked;
  if (auto checked = check_contradiction("uid", wanted.users, excluded.users); !checked)
    return checked;
  if (auto checked = check_contradiction("operations", wanted.operations, excluded.operations);
      !checked)
    return checked;
  if (wanted.names.empty() && std::ranges::find(excluded.names, "*") != excluded.names.end())
    return fail_usage("--exclude-comm '*'", "every task has such a name");
  return {};
}

} // namespace

void declare_filter(CLI::App& app, FilterOptions& options) {
  app.option_defaults()->group("Tasks, files and devices to record");
  app.add_option(
         "-p,--pid", options.pids,
         "Record this running process with all its children, past and future, until it ends")
      ->type_name("PID")
      ->delimiter(',');
  app.add_option("--vm", options.machines,
                 "Record this virtual machine of QEMU, by its name (`virsh list`) or PID, until it "
                 "ends; `record` also notes its disk images and where the guest's data is in them")
      ->type_name("NAME|PID");
  app.add_option("--tid", options.wanted.threads,
                 "Record this thread of a running process, until the process ends")
      ->type_name("TID")
      ->delimiter(',');
  app.add_option("--uid", options.users,
                 "Only tasks of this user (name or number); system-wide unless a command, -p or "
                 "--cgroup is given")
      ->type_name("USER")
      ->delimiter(',');
  for (const ListOption& list : kLists)
    app.add_option(fmt::format("--{}", list.option), options.wanted.*list.list, list.help)
        ->type_name(list.value);
  app.add_flag("--system", options.whole_system, "Record the whole machine");
  app.add_flag("--pseudo", options.pseudo,
               "Record also files of pseudo file systems (/proc, /sys, control groups and the "
               "like); default: only if a filter names some");
  app.add_option("--sample", options.sample,
                 "Record one of N system calls at random (1/N), with all its effects")
      ->type_name("1/N");
  app.add_option("--exclude-pid", options.excluded_pids,
                 "Exclude this process, but not its children")
      ->type_name("PID")
      ->delimiter(',');
  app.add_option("--exclude-tid", options.excluded.threads, "Exclude this thread")
      ->type_name("TID")
      ->delimiter(',');
  app.add_option("--exclude-uid", options.excluded_users, "Exclude tasks of this user")
      ->type_name("USER")
      ->delimiter(',');
  for (const ListOption& list : kLists)
    app.add_option(fmt::format("--exclude-{}", list.option), options.excluded.*list.list,
                   list.help_to_exclude)
        ->type_name(list.value);
}

Result<void> select_things(const FilterOptions& options, bool has_command, std::string_view verb,
                           capture::Filter& filter) {
  filter.pids = options.pids;
  filter.excluded_pids = options.excluded_pids;
  filter.wanted = options.wanted;
  filter.excluded = options.excluded;
  filter.whole_system = options.whole_system;
  filter.excludes_pseudo = !options.pseudo && !names_pseudo(options.wanted);
  if (options.sample) {
    const Result<iot_u32> sample_of = parse_sample(*options.sample);
    if (!sample_of)
      return std::unexpected(sample_of.error());
    filter.sample_of = *sample_of;
  }
  if (Result<void> checked = check_contradictions(filter); !checked)
    return checked;
  if (Result<void> added = add_users("--uid", options.users, filter.wanted.users); !added)
    return added;
  if (auto added = add_users("--exclude-uid", options.excluded_users, filter.excluded.users);
      !added)
    return added;
  if (Result<void> checked = check_pids(options.pids); !checked)
    return checked;
  for (const pid_t pid : options.excluded_pids)
    if (const pid_t process = pid > 0 ? process_of_thread(pid) : 0; process != pid && process != 0)
      return fail_usage(
          fmt::format("--exclude-pid {}: this is a thread of process {}", pid, process), {},
          fmt::format("Write --exclude-tid {} or --exclude-pid {}.", pid, process));
  if (auto checked = check_excluded("--exclude-pid", options.excluded_pids, "process"); !checked)
    return checked;
  if (auto checked = check_excluded("--exclude-tid", options.excluded.threads, "thread"); !checked)
    return checked;
  if (Result<void> added = add_machines(options.machines, filter); !added)
    return added;
  if (Result<void> added = add_processes_of_threads(filter.wanted.threads, filter); !added)
    return added;
  const bool names_running = !filter.pids.empty() || filter.wanted.choose_groups();
  if (has_command && (names_running || filter.whole_system))
    return fail_usage("a command excludes -p, --vm, --tid, --cgroup, --container and --system");
  if (names_running && filter.whole_system)
    return fail_usage("--system excludes -p, --vm, --tid, --cgroup and --container");
  if (!has_command && !names_running && !filter.names_things() && !filter.whole_system)
    return fail_usage(
        "nothing to record", "neither a command nor anything that runs was given",
        fmt::format(
            "Write `iotrail {0} -- COMMAND ARGUMENTS` or `iotrail {0} -p PID`;\n"
            "  --vm, --cgroup, --container, --comm, --uid, --device, --mount, --file, --dir and "
            "--system name other things to record.",
            verb));
  return {};
}

std::vector<std::string> filters_text(const FilterOptions& options) {
  std::vector<std::string> words;
  if (options.whole_system)
    words.emplace_back("--system");
  const auto add = [&](std::string_view option, const auto& values) {
    for (const auto& value : values)
      words.push_back(fmt::format("{} {}", option, value));
  };
  for (const pid_t pid : options.pids)
    words.push_back(fmt::format("-p {} ({})", pid, comm_of(pid)));
  add("--vm", options.machines);
  add("--tid", options.wanted.threads);
  add("--uid", options.users);
  for (const ListOption& list : kLists)
    add(fmt::format("--{}", list.option), options.wanted.*list.list);
  if (options.pseudo)
    words.emplace_back("--pseudo");
  if (options.sample)
    words.push_back(fmt::format("--sample {}", *options.sample));
  for (const pid_t pid : options.excluded_pids)
    words.push_back(fmt::format("--exclude-pid {} ({})", pid, comm_of(pid)));
  add("--exclude-tid", options.excluded.threads);
  add("--exclude-uid", options.excluded_users);
  for (const ListOption& list : kLists)
    add(fmt::format("--exclude-{}", list.option), options.excluded.*list.list);
  return words;
}

std::string name_of_target(const FilterOptions& options) {
  if (!options.pids.empty())
    return fmt::format("pid-{}", options.pids.front());
  if (!options.machines.empty())
    return fmt::format("vm-{}",
                       std::filesystem::path(options.machines.front()).filename().native());
  if (!options.wanted.threads.empty())
    return fmt::format("tid-{}", options.wanted.threads.front());
  if (!options.users.empty())
    return fmt::format("uid-{}", options.users.front());
  for (const ListOption& list : kLists)
    if (const auto& values = options.wanted.*list.list; !values.empty())
      return fmt::format("{}-{}", list.option,
                         std::filesystem::path(values.front()).filename().native());
  return "system";
}

} // namespace iotrail::cli
