// SPDX-License-Identifier: BSD-3-Clause
//
// A trace has all calls of a process or thread, however it ends.
#include "app_recording.hpp"
#include "await.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <random>
#include <set>
#include <thread>

namespace iotrail::live {

namespace {

constexpr int kChildrenOfEachKind = 250;
constexpr int kReadsOfChild = 13;
constexpr int kThreads = 5000;
constexpr int kThreadsAtOnce = 100;
constexpr int kReadsOfThread = 10;
constexpr std::size_t kLargeRing = 64U << 20U; // a whole run, also if the collector gets no CPU

// 13 calls: open, 11 times pread, close. Called in programs that are executed for it.
int read_some(const std::string& name) {
  const int file = open(name.c_str(), O_RDONLY);
  char byte = 0;
  for (int i = 0; i < kReadsOfChild - 2; ++i)
    if (pread(file, &byte, 1, i) < 0)
      return 1;
  return close(file);
}

const Child kReader("read_some",
                    [](const std::string& directory) { return read_some(directory + "/data"); });

[[gnu::noinline]] pid_t vfork_and_execute(const char* program, char* const* arguments) {
  const pid_t pid = vfork();
  if (pid == 0) {
    execv(program, arguments);
    _exit(126);
  }
  return pid;
}

const Child kChildren("children", [](const std::string& directory) {
  const std::string name = directory + "/data";
  close(open(name.c_str(), O_CREAT | O_RDWR, 0600));
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
    return 1;
  char child[] = "--child";
  char reader[] = "read_some";
  char* const arguments[] = {self, child, reader, const_cast<char*>(directory.c_str()), nullptr};
  char* const nothing[] = {nullptr};
  int failures = 0;
  for (int i = 0; i < 4 * kChildrenOfEachKind; ++i) {
    pid_t pid = 0;
    if (i % 4 == 0) {
      pid = fork();
      if (pid == 0)
        _exit(read_some(name));
    } else if (i % 4 == 1) {
      pid = fork();
      if (pid == 0) {
        execve(self, arguments, nothing); // an empty environment
        _exit(126);
      }
    } else if (i % 4 == 2) {
      pid = vfork_and_execute(self, arguments);
    } else if (posix_spawn(&pid, self, nullptr, nullptr, arguments, nothing) != 0) {
      ++failures;
    }
    int status = 0;
    failures += waitpid(pid, &status, 0) != pid || status != 0;
  }
  return failures == 0 ? 0 : 1;
});

const Child kManyThreads("threads", [](const std::string& directory) {
  const std::string name = directory + "/data";
  static int file = open(name.c_str(), O_CREAT | O_RDWR, 0600);
  for (int batch = 0; batch < kThreads / kThreadsAtOnce; ++batch) {
    pthread_t threads[kThreadsAtOnce];
    for (pthread_t& thread : threads)
      pthread_create(
          &thread, nullptr,
          [](void*) -> void* {
            char byte = 0;
            for (int i = 0; i < kReadsOfThread; ++i)
              (void)!pread(file, &byte, 1, 0);
            return nullptr;
          },
          nullptr);
    for (const pthread_t thread : threads)
      pthread_join(thread, nullptr);
  }
  return 0;
});

std::atomic<int> g_handled = 0;
int g_file = -1;

// Calls of a program, in its signal handler and outside.
struct Handled {
  int in_handler;
  int outside;
};

const Child kHandler("handler", [](const std::string& directory) {
  g_file = open((directory + "/data").c_str(), O_CREAT | O_RDWR, 0600);
  struct sigaction action{};
  action.sa_handler = [](int) {
    char byte = 0;
    (void)!pread(g_file, &byte, 1, 7);
    ++g_handled;
  };
  action.sa_flags = SA_RESTART;
  sigaction(SIGALRM, &action, nullptr);
  const itimerval often{{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, nullptr);
  char byte = 0;
  Handled counts{};
  while (counts.outside < 100'000 || g_handled <= 100) {
    (void)!pread(g_file, &byte, 1, 8);
    ++counts.outside;
  }
  const itimerval never{};
  setitimer(ITIMER_REAL, &never, nullptr);
  counts.in_handler = g_handled;
  return pwrite(g_file, &counts, sizeof(counts), 0) == sizeof(counts) ? 0 : 1;
});

// Writes for ever. The number of completed calls is in a file, which survives a kill.
const Child kVictim("victim", [](const std::string& directory) {
  const int file = open((directory + "/acknowledged").c_str(), O_RDWR);
  static auto* const acknowledged = static_cast<std::atomic<std::uint64_t>*>(
      mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
  static const int null = open("/dev/null", O_WRONLY);
  const auto write_on = [](int slot) {
    while (true)
      if (write(null, "x", 1) == 1)
        acknowledged[slot * 8].fetch_add(1);
  };
  std::jthread other(write_on, 1);
  write_on(0);
  return 0;
});

const Child kLeaver("leaver", [](const std::string& directory) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
    return 1;
  closefrom(3);
  clearenv();
  execl(self, self, "--child", "read_some", directory.c_str(), nullptr);
  return 126;
});

// Outlives the recording; ends when its file is removed.
const Child kSurvivor("survivor", [](const std::string& directory) {
  const std::string name = directory + "/data";
  static const int file = open(name.c_str(), O_CREAT | O_RDWR, 0600);
  if (fork() != 0)
    return 0;
  alarm(std::chrono::seconds(kTimeout).count());
  std::uint64_t count = 0;
  while (access(name.c_str(), F_OK) == 0)
    count += pwrite(file, &count, sizeof(count), 0) == sizeof(count);
  _exit(0);
});

// A vfork child changes its descriptors, not its parent's.
const Child kVforker("vforker", [](const std::string& directory) {
  const int file = open((directory + "/data").c_str(), O_CREAT | O_RDWR, 0600);
  const int other = open((directory + "/other").c_str(), O_CREAT | O_RDWR, 0600);
  if (const pid_t pid = vfork(); pid == 0) {
    dup2(other, file);
    (void)!write(file, "child", 5);
    _exit(0);
  } else {
    waitpid(pid, nullptr, 0);
  }
  return write(file, "parents", 7) == 7 ? 0 : 1;
});

constexpr int kWritesOfGuest = 2000;
constexpr std::size_t kStackBytes = 256U << 10U;

struct Guest {
  int file;
  int other;
  int flags;
};

// Runs in its parent's memory, including thread-local storage. With CLONE_FILES it shares the
// descriptors too.
int run_guest(void* work) {
  const auto& guest = *static_cast<const Guest*>(work);
  for (int i = 0; i < kWritesOfGuest; ++i)
    (void)!pwrite(guest.other, "guest", 5, 0);
  dup2(guest.other, guest.file);
  return write(guest.file, "done", 4) == 4 ? 0 : 1;
}

pid_t make_guest(Guest& guest, char* stack) {
  return clone(run_guest, stack + kStackBytes, guest.flags | CLONE_VM | SIGCHLD, &guest);
}

bool is_good(pid_t pid) {
  int status = 1;
  return waitpid(pid, &status, 0) == pid && status == 0;
}

const Child kHost("host", [](const std::string& directory) {
  const auto open_file = [&](const char* name) {
    return open((directory + name).c_str(), O_CREAT | O_RDWR, 0600);
  };
  const int file = open_file("/data");
  const int shared = open_file("/shared");
  const int other = open_file("/other");
  static char stacks[2][kStackBytes];
  Guest suspending{file, other, CLONE_VFORK};
  Guest sharing{shared, other, CLONE_FILES};
  Guest beside{file, other, 0};
  bool ok = is_good(make_guest(suspending, stacks[0])) && write(shared, "host", 4) == 4;
  ok &= is_good(make_guest(sharing, stacks[0])) && write(shared, "into other", 10) == 10;
  const pid_t pids[] = {make_guest(beside, stacks[0]), make_guest(beside, stacks[1])};
  for (int i = 0; i < kWritesOfGuest; ++i)
    ok &= pwrite(file, "host", 4, 0) == 4;
  ok &= is_good(pids[0]) && is_good(pids[1]) && write(file, "host", 4) == 4;
  const pid_t forked = fork();
  if (forked == 0)
    _exit(write(file, "forked", 6) == 6 ? 0 : 1);
  return ok && is_good(forked) && write(file, "host", 4) == 4 ? 0 : 1;
});

[[gnu::noinline]] pid_t vfork_open_and_execute(const char* name, char* const* arguments) {
  const pid_t pid = vfork();
  if (pid == 0) {
    close(open(name, O_RDONLY));
    execv(arguments[0], arguments);
    _exit(126);
  }
  return pid;
}

// A process in its parent's memory that executes a program.
const Child kSpawner("spawner", [](const std::string& directory) {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
    return 1;
  const std::string name = directory + "/data";
  close(open(name.c_str(), O_CREAT | O_RDWR, 0600));
  char child[] = "--child";
  char reader[] = "read_some";
  char* arguments[] = {self, child, reader, const_cast<char*>(directory.c_str()), nullptr};
  for (int i = 0; i < 100; ++i) {
    if (!is_good(vfork_open_and_execute(name.c_str(), arguments)))
      return 1;
  }
  return 0;
});

} // namespace

TEST(preload_processes, thousand_children_of_all_kinds) {
  const auto recording = AppRecording::of_child("children");
  expect_complete(recording);
  const std::string name = recording.in_directory("data");
  const auto reads = OF_FILE(recording, app_read, name);
  EXPECT_EQ(reads.size(), 4U * kChildrenOfEachKind * (kReadsOfChild - 2));
  std::set<iot_u32> pids;
  for (const iot_app_read& read : reads)
    pids.insert(read.event.pid);
  EXPECT_EQ(pids.size(), 4U * kChildrenOfEachKind);
  EXPECT_EQ(OF_FILE(recording, app_open, name).size(), 4U * kChildrenOfEachKind + 1);
  std::set<iot_u32> known;
  for (const rows::processes& process : recording.processes()) {
    known.insert(process.pid);
    EXPECT_FALSE(process.exe.empty());
    EXPECT_NE(process.command.find("--child"), std::string::npos);
  }
  for (const iot_u32 pid : pids)
    EXPECT_TRUE(known.contains(pid));
}

TEST(preload_processes, thousands_of_threads) {
  const auto recording = AppRecording::of_child("threads");
  expect_complete(recording);
  const auto reads = OF_FILE(recording, app_read, recording.in_directory("data"));
  EXPECT_EQ(reads.size(), static_cast<std::size_t>(kThreads * kReadsOfThread));
  std::set<iot_u64> places;
  std::set<iot_u64> operations;
  for (const iot_app_read& read : reads) {
    places.insert(read.event.op_id >> IOT_OP_MAKER_SHIFT);
    operations.insert(read.event.op_id);
    EXPECT_EQ(read.event.pid, static_cast<iot_u32>(recording.pid()));
  }
  EXPECT_EQ(operations.size(), reads.size());
  EXPECT_LT(places.size(), 1000U) << "rings are not used again";
}

TEST(preload_processes, signal_handler_loses_nothing) {
  RunOptions options;
  options.ring_bytes = kLargeRing;
  const auto recording = AppRecording::of_child("handler", options);
  expect_complete(recording);
  Handled handled{};
  const int file = open(recording.in_directory("data").c_str(), O_RDONLY);
  ASSERT_EQ(read(file, &handled, sizeof(handled)), static_cast<ssize_t>(sizeof(handled)));
  close(file);
  int in_handler = 0;
  int outside = 0;
  for (const iot_app_read& event : OF_FILE(recording, app_read, recording.in_directory("data")))
    ++(event.offset == 7 ? in_handler : outside);
  EXPECT_GT(handled.in_handler, 100);
  EXPECT_EQ(in_handler, handled.in_handler);
  EXPECT_EQ(outside, handled.outside);
}

TEST(preload_processes, acknowledged_calls_of_a_killed_program_are_recorded) {
  std::mt19937 random(42);
  for (int round = 0; round < 40; ++round) {
    const ScratchDirectory shared;
    const std::string file = shared / "acknowledged";
    const int handle = open(file.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_EQ(ftruncate(handle, 4096), 0);
    auto* const acknowledged = static_cast<std::atomic<std::uint64_t>*>(
        mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, handle, 0));
    close(handle);
    int loops = 5 + static_cast<int>(random() % 20);
    RunOptions options;
    options.ring_bytes = kLargeRing;
    options.meanwhile = [&](pid_t pid) {
      if (--loops == 0)
        kill(pid, SIGKILL);
    };
    const auto recording =
        AppRecording::of_command({std::filesystem::read_symlink("/proc/self/exe").string(),
                                  "--child", "victim", shared.path().string()},
                                 options);
    EXPECT_EQ(recording.status(), 128 + SIGKILL);
    EXPECT_EQ(recording.produced(), recording.written() + recording.lost());
    EXPECT_EQ(recording.counter(IOT_COUNTER_preload_ring_full), 0U);
    const auto writes = OF_FILE(recording, app_write, "/dev/null");
    EXPECT_GE(writes.size(), acknowledged[0] + acknowledged[8]);
    EXPECT_LE(writes.size(), acknowledged[0] + acknowledged[8] + 2);
    munmap(acknowledged, 4096);
  }
}

TEST(preload_processes, emptied_environment_and_descriptors) {
  const auto recording = AppRecording::of_child("leaver");
  EXPECT_EQ(OF_CALL(recording, app_close, closefrom).size(), 1U);
  EXPECT_EQ(OF_PATH(recording, app_open, recording.in_directory("data")).size(), 1U);
  EXPECT_EQ(recording.produced(), recording.written());
}

TEST(preload_processes, survivor_of_a_recording_is_not_harmed) {
  const auto recording = AppRecording::of_child("survivor");
  expect_complete(recording);
  const int file = open(recording.in_directory("data").c_str(), O_RDONLY);
  std::uint64_t before = 0;
  std::uint64_t after = 0;
  EXPECT_EQ(pread(file, &before, sizeof(before), 0), static_cast<ssize_t>(sizeof(before)));
  EXPECT_TRUE(await([&] {
    return pread(file, &after, sizeof(after), 0) == static_cast<ssize_t>(sizeof(after)) &&
           after > before;
  }));
  close(file);
  unlink(recording.in_directory("data").c_str());
}

TEST(preload_processes, vfork_child_leaves_the_descriptors_of_its_parent) {
  const auto recording = AppRecording::of_child("vforker");
  expect_complete(recording);
  const auto of_child = OF_FILE(recording, app_write, recording.in_directory("other"));
  const auto of_parent = OF_FILE(recording, app_write, recording.in_directory("data"));
  ASSERT_EQ(of_child.size(), 1U);
  EXPECT_EQ(of_child[0].result, 5);
  EXPECT_NE(of_child[0].event.pid, of_parent.at(0).event.pid);
  EXPECT_EQ(of_child[0].event.tid, of_child[0].event.pid);
  ASSERT_EQ(of_parent.size(), 1U);
  EXPECT_EQ(of_parent[0].result, 7);
}

TEST(preload_processes, processes_in_the_memory_of_another_are_distinguished) {
  const auto recording = AppRecording::of_child("host");
  expect_complete(recording);
  const auto host = static_cast<iot_u32>(recording.pid());
  const auto count = [&](const char* file, bool is_of_host, iot_s64 bytes) {
    return std::ranges::count_if(OF_FILE(recording, app_write, recording.in_directory(file)),
                                 [&](const iot_app_write& e) {
                                   return (e.event.pid == host) == is_of_host &&
                                          e.result == bytes && e.event.tid == e.event.pid;
                                 });
  };
  EXPECT_EQ(count("other", false, 5), 4 * kWritesOfGuest);
  EXPECT_EQ(count("other", false, 4), 4);
  EXPECT_EQ(count("data", true, 4), kWritesOfGuest + 2);
  EXPECT_EQ(count("data", false, 6), 1) << "of a child made by fork";
  EXPECT_EQ(count("shared", true, 4), 1);
  EXPECT_EQ(count("other", true, 10), 1) << "of a descriptor that a guest changed for its host";
  std::set<iot_u32> known;
  for (const rows::processes& process : recording.processes())
    known.insert(process.pid);
  EXPECT_EQ(known.size(), 6U);
  for (const iot_app_write& event : ALL(recording, app_write))
    EXPECT_TRUE(known.contains(event.event.pid));
}

TEST(preload_processes, vfork_child_and_its_program_are_one_process) {
  const auto recording = AppRecording::of_child("spawner");
  expect_complete(recording);
  std::map<iot_u32, int> opens;
  for (const iot_app_open& event : OF_PATH(recording, app_open, recording.in_directory("data")))
    ++opens[event.event.pid];
  EXPECT_EQ(opens[static_cast<iot_u32>(recording.pid())], 1);
  EXPECT_EQ(opens.size(), 101U);
  for (const auto& [pid, times] : opens)
    EXPECT_EQ(times, pid == static_cast<iot_u32>(recording.pid()) ? 1 : 2);
}

} // namespace iotrail::live
