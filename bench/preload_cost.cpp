// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of the preload source for each call: nanoseconds more than the bare call, and
// instructions.
//
//   preload_cost [rounds]
//
// The measured program is this one, started again under the source. Its collector drains into a
// real trace every millisecond. The program times 500 bare calls (found behind the hook) and 500
// hooked ones, in an order that alternates from round to round. It reports the median of the paired
// differences. Instructions are the difference of two runs under valgrind's callgrind that differ
// only in the number of calls.
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "base/clock.hpp"
#include "capture/preload/collector/preload_source.hpp"
#include "store/writer/trace_writer.hpp"

namespace {

namespace fs = std::filesystem;
using iotrail::clock_ns;

constexpr int kCalls = 500;
constexpr int kInstructionCalls = 20000;

// One kind of call, bare and hooked, on a file of its own.
struct Call {
  std::string_view name;
  std::function<void(int)> bare; // makes this many calls
  std::function<void(int)> hooked;
};

template <class Function> Function* behind_hook(const char* name) {
  static void* const libc = dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD);
  return reinterpret_cast<Function*>(dlsym(libc, name));
}

std::vector<Call> calls() {
  static const int file = open("/proc/self/exe", O_RDONLY);
  static const int null = open("/dev/null", O_WRONLY);
  static FILE* const stream = fopen("/dev/null", "w");
  static char byte[16];
  static const auto bare_pread = behind_hook<decltype(pread)>("pread");
  static const auto bare_write = behind_hook<decltype(write)>("write");
  static const auto bare_fwrite = behind_hook<decltype(fwrite)>("fwrite");
  return {
      {"pread",
       [](int n) {
         while (n-- > 0)
           (void)!bare_pread(file, byte, 1, 0);
       },
       [](int n) {
         while (n-- > 0)
           (void)!pread(file, byte, 1, 0);
       }},
      {"write",
       [](int n) {
         while (n-- > 0)
           (void)!bare_write(null, byte, 1);
       },
       [](int n) {
         while (n-- > 0)
           (void)!write(null, byte, 1);
       }},
      {"fwrite",
       [](int n) {
         while (n-- > 0)
           bare_fwrite(byte, 1, 8, stream);
       },
       [](int n) {
         while (n-- > 0)
           fwrite(byte, 1, 8, stream);
       }},
  };
}

double time_ns(const std::function<void(int)>& run) {
  const std::uint64_t begin = clock_ns(CLOCK_MONOTONIC);
  run(kCalls);
  return static_cast<double>(clock_ns(CLOCK_MONOTONIC) - begin) / kCalls;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

int measure(int rounds) {
  for (const Call& call : calls()) {
    std::vector<double> bare;
    std::vector<double> deltas;
    for (int round = 0; round < rounds; ++round) {
      const bool bare_first = round % 2 == 0;
      const double first = time_ns(bare_first ? call.bare : call.hooked);
      const double second = time_ns(bare_first ? call.hooked : call.bare);
      bare.push_back(bare_first ? first : second);
      deltas.push_back(bare_first ? second - first : first - second);
    }
    fmt::print("{} {:.1f} {:.1f}\n", call.name, median(bare), median(deltas));
  }
  return 0;
}

// Runs under callgrind: this many calls of one kind, and nothing else that varies.
int repeat(std::string_view name, std::string_view way, int count) {
  for (const Call& call : calls())
    if (call.name == name)
      (way == "bare" ? call.bare : call.hooked)(kCalls + count);
  return 0;
}

struct Child {
  std::vector<std::string> command;
  bool is_drained = true;
};

// Runs the command under the preload source; returns what it printed.
std::string run_recorded(const Child& child) {
  std::string directory = (fs::temp_directory_path() / "iotrail-bench-XXXXXX").string();
  if (mkdtemp(directory.data()) == nullptr)
    return {};
  const std::string output = directory + "/output";
  const auto source = iotrail::capture::make_preload_source();
  if (const auto opened = source->open({}); !opened) {
    fmt::print(stderr, "preload_cost: {}\n", opened.error().message());
    std::exit(1);
  }
  auto writer = iotrail::store::TraceWriter::create(directory + "/trace.iotrail", {});
  (void)source->start();
  const auto environment = source->child_environment();
  const pid_t pid = fork();
  if (pid == 0) {
    for (const std::string& variable : environment)
      putenv(const_cast<char*>(variable.c_str()));
    dup2(open(output.c_str(), O_WRONLY | O_CREAT, 0600), 1);
    std::vector<char*> arguments;
    for (const std::string& argument : child.command)
      arguments.push_back(const_cast<char*>(argument.c_str()));
    arguments.push_back(nullptr);
    execvp(arguments[0], arguments.data());
    _exit(127);
  }
  for (int status = 0; waitpid(pid, &status, WNOHANG) == 0;) {
    if (child.is_drained) {
      source->drain(**writer);
      (*writer)->tick(iotrail::monotonic_ns());
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  (void)source->stop();
  while (source->drain(**writer) > 0) {
  }
  std::ifstream file(output);
  std::string text((std::istreambuf_iterator<char>(file)), {});
  writer->reset();
  fs::remove_all(directory);
  return text;
}

std::string self() {
  return fs::read_symlink("/proc/self/exe").string();
}

double total_instructions(std::string_view call, std::string_view way, int count) {
  const std::string file =
      (fs::temp_directory_path() / fmt::format("callgrind.{}", getpid())).string();
  run_recorded({{"valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + file, self(),
                 "--repeat", std::string(call), std::string(way), std::to_string(count)}});
  std::ifstream profile(file);
  double total = 0;
  for (std::string line; std::getline(profile, line);)
    if (line.starts_with("totals: ") || line.starts_with("summary: "))
      total = std::stod(line.substr(line.find(' ')));
  fs::remove(file);
  return total;
}

double instructions(std::string_view call, std::string_view way) {
  return (total_instructions(call, way, kInstructionCalls) - total_instructions(call, way, 0)) /
         kInstructionCalls;
}

void report(int rounds) {
  for (const bool is_drained : {false, true}) {
    fmt::print("{}\n  {:<8} {:>9} {:>9}\n", is_drained ? "collector every 1 ms" : "no collector",
               "call", "bare ns", "added ns");
    const std::string output = run_recorded(
        // Without a collector the ring must not fill up.
        {{self(), "--measure", std::to_string(is_drained ? rounds : std::min(rounds, 40))},
         is_drained});
    std::istringstream lines(output);
    std::string name;
    for (double bare = 0, added = 0; lines >> name >> bare >> added;)
      fmt::print("  {:<8} {:>9.1f} {:>9.1f}\n", name, bare, added);
  }
  fmt::print("instructions (callgrind)\n  {:<8} {:>9} {:>9}\n", "call", "bare", "added");
  for (const Call& call : calls()) {
    const double bare = instructions(call.name, "bare");
    fmt::print("  {:<8} {:>9.1f} {:>9.1f}\n", call.name, bare,
               instructions(call.name, "hooked") - bare);
  }
}

} // namespace

int main(int argc, char** argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.size() == 2 && arguments[0] == "--measure")
    return measure(std::atoi(argv[2]));
  if (arguments.size() == 4 && arguments[0] == "--repeat")
    return repeat(arguments[1], arguments[2], std::atoi(argv[4]));
  report(argc > 1 ? std::atoi(argv[1]) : 1000);
  return 0;
}
