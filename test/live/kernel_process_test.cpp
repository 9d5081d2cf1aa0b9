// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer process, and the rows of the dictionary `processes`.
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <set>
#include <sstream>
#include <thread>

#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

Recording record(const std::function<int()>& body) {
  return Recording::among_others({.layers = {schema::Layer::process, schema::Layer::syscall}},
                                 body);
}

#define RECORD_PROCESSES(...)                                                                      \
  const Recording recording = record(__VA_ARGS__);                                                 \
  if (!recording.refusal().empty())                                                                \
    GTEST_SKIP() << recording.refusal();                                                           \
  EXPECT_EQ(recording.status(), 0);                                                                \
  EXPECT_EQ(recording.produced(), recording.written() + recording.lost())

TEST(KernelProcess, process_fork_of_process_and_thread) {
  RECORD_PROCESSES([] {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(0);
    std::thread([] {}).join();
    return ::waitpid(child, nullptr, 0) == child ? 0 : 1;
  });
  const std::vector<Row>& forks = recording.rows("process_fork");
  ASSERT_EQ(forks.size(), 2U);
  const auto pid = static_cast<std::uint64_t>(recording.pid());
  for (const Row& fork : forks) {
    EXPECT_EQ(fork.u("pid"), pid);
    EXPECT_EQ(fork.u("tid"), pid);
    EXPECT_GT(fork.u("ts_ns"), 0U);
  }
  EXPECT_NE(forks[0].u("child_pid"), pid);
  EXPECT_EQ(forks[0].u("child_tid"), forks[0].u("child_pid"));
  EXPECT_EQ(forks[1].u("child_pid"), pid);
  EXPECT_NE(forks[1].u("child_tid"), pid);
}

TEST(KernelProcess, process_exec) {
  RECORD_PROCESSES([] {
    ::execl("/bin/sh", "sh", "-c", "exit 0", nullptr);
    return 1;
  });
  const std::vector<Row>& execs = recording.rows("process_exec");
  ASSERT_EQ(execs.size(), 1U);
  const auto pid = static_cast<std::uint64_t>(recording.pid());
  EXPECT_EQ(execs[0].u("pid"), pid);
  EXPECT_EQ(execs[0].u("tid"), pid);
  EXPECT_EQ(execs[0].u("old_tid"), pid);
  EXPECT_EQ(recording.string(execs[0].u("path")), "/bin/sh");

  const std::vector<Row> rows = recording.rows("processes", "pid", pid);
  ASSERT_EQ(rows.size(), 2U) << "as it was before, and after exec";
  EXPECT_EQ(rows[0].u("parent_pid"), static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(rows[1].text("comm"), "sh");
  EXPECT_EQ(rows[1].text("command"), "sh -c exit 0");
  EXPECT_EQ(rows[1].text("exe"), std::filesystem::canonical("/bin/sh"));
  EXPECT_EQ(rows[1].u("parent_pid"), static_cast<std::uint64_t>(::getpid()));
  EXPECT_EQ(rows[1].u("since_ns"), execs[0].u("ts_ns"));
}

// Mounts the unified hierarchy of control groups once more, with a group that has a container's
// name. The object's end removes both.
class CgroupOfTest {
public:
  CgroupOfTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "iotrail-cgroup-XXXXXX";
    point_ = ::mkdtemp(pattern.data());
    is_mounted_ = ::mount("none", point_.c_str(), "cgroup2", 0, nullptr) == 0;
    std::error_code refused;
    is_there_ = is_mounted_ && std::filesystem::create_directory(point_ / name(), refused);
  }
  ~CgroupOfTest() {
    ::rmdir((point_ / name()).c_str());
    if (is_mounted_)
      ::umount2(point_.c_str(), MNT_DETACH);
    ::rmdir(point_.c_str());
  }
  CgroupOfTest(const CgroupOfTest&) = delete;
  CgroupOfTest& operator=(const CgroupOfTest&) = delete;

  bool is_there() const { return is_there_; }
  std::string path() const { return "/" + name(); }
  static std::string container() { // 64 digits, like an id
    std::ostringstream id;
    id << std::hex << std::setfill('0') << std::setw(64) << test_pid();
    return id.str();
  }
  bool enter() const {
    return static_cast<bool>(std::ofstream(point_ / name() / "cgroup.procs") << "0" << std::flush);
  }

private:
  static std::string name() { return "docker-" + container() + ".scope"; }
  static pid_t test_pid() {
    static const pid_t kPid = ::getpid(); // children need the same number
    return kPid;
  }

  std::filesystem::path point_;
  bool is_mounted_ = false;
  bool is_there_ = false;
};

TEST(KernelProcess, processes_have_the_cgroup_in_which_they_were_made_or_executed) {
  const CgroupOfTest cgroup;
  if (!cgroup.is_there())
    GTEST_SKIP() << "no control group can be made here";
  RECORD_PROCESSES([&] {
    if (!cgroup.enter())
      return 1;
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(0);
    if (::waitpid(child, nullptr, 0) != child)
      return 1;
    ::execl("/bin/true", "true", nullptr);
    return 1;
  });
  const std::vector<Row>& forks = recording.rows("process_fork");
  ASSERT_EQ(forks.size(), 1U);
  const std::vector<Row> made = recording.rows("processes", "pid", forks[0].u("child_pid"));
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].text("cgroup"), cgroup.path());
  EXPECT_EQ(made[0].text("container"), CgroupOfTest::container());
  const std::vector<Row> own =
      recording.rows("processes", "pid", static_cast<std::uint64_t>(recording.pid()));
  ASSERT_EQ(own.size(), 2U);
  EXPECT_NE(own[0].text("cgroup"), cgroup.path()) << "as it was before it entered";
  EXPECT_EQ(own[1].text("cgroup"), cgroup.path());
  EXPECT_NE(own[0].text("container"), CgroupOfTest::container());
  EXPECT_EQ(own[1].text("container"), CgroupOfTest::container());
}

constexpr std::string_view kNamespaceFields[] = {
#define NAMESPACE(name, link) #name "_namespace",
#include "namespaces.def"
#undef NAMESPACE
};
constexpr std::size_t kNamespaces = std::size(kNamespaceFields);

// The running process prints its own namespaces, "mnt:[7]" each, by executing a program.
int print_own_namespaces() {
  return ::execlp("readlink", "readlink",
#define NAMESPACE(name, link) "/proc/self/ns/" link,
#include "namespaces.def"
#undef NAMESPACE
                  nullptr);
}

std::vector<std::uint64_t> printed_namespaces(const std::filesystem::path& file) {
  std::vector<std::uint64_t> inodes;
  std::ifstream lines(file);
  for (std::string line; std::getline(lines, line);)
    inodes.push_back(std::stoull(line.substr(line.find('[') + 1)));
  return inodes;
}

std::vector<std::uint64_t> namespaces_of(const Row& process) {
  std::vector<std::uint64_t> inodes;
  for (const std::string_view field : kNamespaceFields)
    inodes.push_back(process.u(field));
  return inodes;
}

// The child has ended before its /proc can be read.
TEST(KernelProcess, processes_have_the_namespaces_in_which_they_were_made_or_executed) {
  const auto folder =
      std::filesystem::temp_directory_path() / ("iotrail-namespaces-" + std::to_string(::getpid()));
  std::filesystem::create_directory(folder);
  const auto print_into = [&](const char* file) {
    const int fd = ::open((folder / file).c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return ::dup2(fd, STDOUT_FILENO) == STDOUT_FILENO;
  };
  const auto print_in_a_child = [] {
    const pid_t child = ::fork();
    if (child == 0)
      ::_exit(print_own_namespaces());
    return child > 0 && ::waitpid(child, nullptr, 0) == child;
  };
  RECORD_PROCESSES([&] {
    if (!print_into("before") || !print_in_a_child() || !print_into("child"))
      return 1;
    if (::unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUSER | CLONE_NEWUTS |
                  CLONE_NEWIPC | CLONE_NEWCGROUP) != 0)
      return 77;
    if (!print_in_a_child() || !print_into("own"))
      return 1;
    return print_own_namespaces();
  });
  const auto before = printed_namespaces(folder / "before");
  const auto child = printed_namespaces(folder / "child");
  const auto own = printed_namespaces(folder / "own");
  std::filesystem::remove_all(folder);
  ASSERT_EQ(before.size(), kNamespaces);
  ASSERT_EQ(child.size(), kNamespaces);
  ASSERT_EQ(own.size(), kNamespaces);
  for (std::size_t i = 0; i < kNamespaces; ++i)
    EXPECT_EQ(child[i] == before[i], kNamespaceFields[i] == "time_namespace") << i;

  const std::vector<Row>& forks = recording.rows("process_fork");
  ASSERT_EQ(forks.size(), 2U);
  for (const auto& [fork, expected] : {std::pair(forks[0], before), std::pair(forks[1], child)}) {
    const std::vector<Row> rows = recording.rows("processes", "pid", fork.u("child_pid"));
    ASSERT_EQ(rows.size(), 2U) << "made, and executed";
    EXPECT_EQ(namespaces_of(rows[0]), expected);
    EXPECT_EQ(namespaces_of(rows[1]), expected);
  }
  const std::vector<Row> rows =
      recording.rows("processes", "pid", static_cast<std::uint64_t>(recording.pid()));
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(namespaces_of(rows[0]), before) << "as in /proc, before it left them";
  EXPECT_EQ(namespaces_of(rows[1]), own);
}

TEST(KernelProcess, process_exec_by_a_thread_takes_the_id_of_the_process) {
  RECORD_PROCESSES([] {
    std::thread([] { ::execl("/bin/true", "true", nullptr); }).join();
    return 1;
  });
  const std::vector<Row>& execs = recording.rows("process_exec");
  ASSERT_EQ(execs.size(), 1U);
  const std::vector<Row>& forks = recording.rows("process_fork");
  ASSERT_EQ(forks.size(), 1U);
  EXPECT_EQ(execs[0].u("old_tid"), forks[0].u("child_tid"));
  EXPECT_EQ(execs[0].u("tid"), static_cast<std::uint64_t>(recording.pid()));
  // Later events of the program have the process's own id.
  EXPECT_FALSE(recording.rows("syscall_open", "tid", execs[0].u("tid")).empty());
}

TEST(KernelProcess, process_exit_tells_status_and_signal) {
  RECORD_PROCESSES([] {
    const pid_t exits = ::fork();
    if (exits == 0)
      ::_exit(23);
    const pid_t killed = ::fork();
    if (killed == 0)
      ::pause();
    ::kill(killed, SIGTERM);
    return ::waitpid(exits, nullptr, 0) == exits && ::waitpid(killed, nullptr, 0) == killed ? 0 : 1;
  });
  const std::vector<Row>& forks = recording.rows("process_fork");
  ASSERT_EQ(forks.size(), 2U);
  const auto exit_of = [&](std::uint64_t pid) {
    const std::vector<Row> rows = recording.rows("process_exit", "pid", pid);
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? Row{} : rows.front();
  };
  const Row exits = exit_of(forks[0].u("child_pid"));
  EXPECT_EQ(exits.s("status"), 23);
  EXPECT_EQ(exits.u("signal"), 0U);
  EXPECT_EQ(exits.u("group_dead"), 1U);
  const Row killed = exit_of(forks[1].u("child_pid"));
  EXPECT_EQ(killed.s("status"), 0);
  EXPECT_EQ(killed.u("signal"), static_cast<std::uint64_t>(SIGTERM));
  EXPECT_EQ(killed.u("group_dead"), 1U);
}

TEST(KernelProcess, process_exit_of_many_threads_has_one_last) {
  RECORD_PROCESSES([] {
    std::vector<std::thread> threads;
    for (int index = 0; index < 50; ++index)
      threads.emplace_back([] { ::pause(); });
    ::syscall(SYS_exit_group, 0);
    return 1;
  });
  const std::vector<Row>& exits = recording.rows("process_exit");
  EXPECT_EQ(exits.size(), 51U);
  EXPECT_EQ(std::ranges::count_if(exits, [](const Row& row) { return row.u("group_dead") == 1; }),
            1);
}

TEST(KernelProcess, a_thousand_children_are_all_followed) {
  RECORD_PROCESSES([] {
    for (int index = 0; index < 1000; ++index) {
      const pid_t child = ::vfork();
      if (child == 0) {
        ::close(1000);
        ::_exit(0);
      }
      ::waitpid(child, nullptr, 0);
    }
    return 0;
  });
  EXPECT_EQ(recording.lost(), 0U);
  EXPECT_EQ(recording.rows("process_fork").size(), 1000U);
  EXPECT_EQ(recording.rows("process_exit").size(), 1001U);
  EXPECT_EQ(recording.rows("syscall_close", "fd", 1000).size(), 1000U);
  std::set<std::uint64_t> operations;
  for (const Row& row : recording.rows("syscall_close"))
    EXPECT_TRUE(operations.insert(row.u("op_id")).second) << "op_id is not unique";
}

} // namespace
} // namespace iotrail::live
