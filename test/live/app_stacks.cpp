// SPDX-License-Identifier: BSD-3-Clause
//
// Programs make calls on small stacks: in coroutines, in signal handlers. A page below that cannot
// be touched shows what needs more.
#include "app_recording.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <fstream>

namespace iotrail::live {

namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr int kChildren = 200;

ucontext_t g_main;
ucontext_t g_small;
void (*g_work)() = nullptr;

// Runs `work` on a stack of so many bytes.
bool run_on_stack(std::size_t bytes, void (*work)()) {
  auto* const memory = static_cast<std::byte*>(mmap(
      nullptr, kPageBytes + bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  if (memory == MAP_FAILED || mprotect(memory, kPageBytes, PROT_NONE) != 0 ||
      getcontext(&g_small) != 0)
    return false;
  g_work = work;
  g_small.uc_stack.ss_sp = memory + kPageBytes;
  g_small.uc_stack.ss_size = bytes;
  g_small.uc_link = &g_main;
  makecontext(&g_small, [] { g_work(); }, 0);
  return swapcontext(&g_main, &g_small) == 0;
}

// Through pointers: the linker would look for the functions on the small stack.
int (*volatile g_open)(const char*, int, ...) = open;
ssize_t (*volatile g_write)(int, const void*, std::size_t) = write;
int (*volatile g_stat)(const char*, struct stat*) = stat;
int (*volatile g_close)(int) = close;
int (*volatile g_execvp)(const char*, char* const*) = execvp;
int (*volatile g_unlink)(const char*) = unlink;

std::string g_path;
std::string g_long; // longer than the room for usual paths
bool g_is_right = false;

void make_calls() {
  struct stat attributes;
  const int file = g_open(g_path.c_str(), O_CREAT | O_WRONLY, 0600);
  bool ok = file >= 0 && g_write(file, "12345", 5) == 5 && g_close(file) == 0;
  ok &= g_stat(g_path.c_str(), &attributes) == 0 && attributes.st_size == 5;
  ok &= g_open(reinterpret_cast<const char*>(8), O_RDONLY) == -1 && errno == EFAULT;
  ok &= g_stat("", &attributes) == -1 && errno == ENOENT;
  const int other = g_open(g_long.c_str(), O_CREAT | O_WRONLY, 0600);
  ok &= other >= 0 && g_close(other) == 0 && g_unlink(g_long.c_str()) == 0;
  g_is_right = ok;
}

const Child kCalls("app_stacks_calls", [](const std::string& directory) {
  g_path = directory + "/data";
  g_long = directory;
  for (int i = 0; i < 12; ++i) {
    g_long += "/" + std::string(100, 'x');
    if (mkdir(g_long.c_str(), 0700) != 0)
      return 2;
  }
  g_long += "/file";
  return run_on_stack(kPageBytes, make_calls) && g_is_right ? 0 : 1;
});

void execute_echo() {
  char name[] = "true";
  char* const words[] = {name, nullptr};
  g_execvp(name, words);
}

const Child kExecutes("app_stacks_exec", [](const std::string&) {
  run_on_stack(2 * kPageBytes, execute_echo);
  return 1;
});

std::size_t mapped_pages() {
  std::size_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages;
}

// In a function of its own: what a function keeps in registers may change between vfork's returns.
[[gnu::noinline]] pid_t start_true(char* const* environment) {
  static char name[] = "/bin/true";
  static char* const words[] = {name, nullptr};
  const pid_t pid = vfork();
  if (pid == 0) {
    execve(name, words, environment);
    _exit(1);
  }
  return pid;
}

// Without the variables of the recording, which the library adds in memory that it must return.
const Child kManyVariables("app_stacks_vfork", [](const std::string&) {
  std::vector<std::string> variables;
  for (int i = 0; i < 4000; ++i)
    variables.push_back("VARIABLE_" + std::to_string(i) + "=x");
  std::vector<char*> environment;
  for (std::string& variable : variables)
    environment.push_back(variable.data());
  environment.push_back(nullptr);
  bool ok = true;
  std::size_t before = 0;
  for (int i = 0; i < kChildren; ++i) {
    const pid_t pid = start_true(environment.data());
    int status = 1;
    ok &= waitpid(pid, &status, 0) == pid && status == 0;
    if (i == 0)
      before = mapped_pages();
  }
  return ok && mapped_pages() < before + kChildren ? 0 : 1;
});

} // namespace

TEST(app_stacks, calls_on_one_page) {
  const auto recording = AppRecording::of_child("app_stacks_calls");
  expect_complete(recording);
  const auto writes = OF_FILE(recording, app_write, recording.in_directory("data"));
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].result, 5);
  const auto opens = ALL(recording, app_open);
  const auto longest = std::ranges::max_element(
      opens, {}, [&](const iot_app_open& event) { return recording.text(event.path).size(); });
  ASSERT_NE(longest, opens.end());
  EXPECT_GT(recording.text(longest->path).size(), 1000U);
  EXPECT_EQ(recording.file(longest->file).path, recording.text(longest->path));
}

TEST(app_stacks, execution_on_two_pages) {
  const auto recording = AppRecording::of_child("app_stacks_exec");
  expect_complete(recording);
  EXPECT_EQ(std::ranges::count(recording.processes(), "true", &rows::processes::comm), 1);
}

TEST(app_stacks, environments_of_vfork_children_are_returned) {
  const auto recording = AppRecording::of_child("app_stacks_vfork");
  expect_complete(recording);
  EXPECT_EQ(std::ranges::count(recording.processes(), "true", &rows::processes::comm), kChildren);
}

} // namespace iotrail::live
