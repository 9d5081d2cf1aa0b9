// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of a push of include/iotrail/producer.h: pushes a second of CPU time, by one
// thread and by one on each CPU, and instructions.
//
//   producer_rate [rounds]
//
// A push is an I/O or its completion. Each round pushes into a file of its own, which becomes
// nearly full. It prints the medians of the rounds. Instructions are the difference of two runs
// under valgrind's callgrind that differ only in the number of pushes.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "iotrail/producer.h"

namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kRecords = 1U << 22U;
constexpr std::uint64_t kPushes = kRecords - kRecords / 16;
constexpr std::uint64_t kInstructionPushes = 200'000;
constexpr std::uint32_t kBytes = 4096;

std::string temporary(std::string_view name) {
  return (fs::temp_directory_path() / name).string() + "." + std::to_string(::getpid());
}

double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

double push(iotrail_producer* producer, std::uint32_t device, std::uint64_t pushes) {
  const double begin = cpu_seconds();
  for (std::uint64_t i = 0; i < pushes / 2; ++i) {
    const std::uint64_t io =
        iotrail_producer_push_io(producer, device, IOTRAIL_WRITE, 0, i * 8, kBytes);
    iotrail_producer_push_completion(producer, io, kBytes, 0);
  }
  return cpu_seconds() - begin;
}

// The CPU time of all threads together. Ends the program if the file cannot be made or a push is lost.
double push_by_threads(unsigned threads, std::uint64_t pushes) {
  const std::string path = temporary("producer_rate");
  iotrail_producer* producer = nullptr;
  if (const int error = iotrail_producer_create(path.c_str(), kRecords, &producer)) {
    std::fprintf(stderr, "producer_rate: %s: %s\n", path.c_str(), std::strerror(error));
    std::exit(1);
  }
  fs::remove(path);
  const std::uint32_t device = iotrail_producer_add_device(producer, "made0", nullptr, 1U << 30U);
  std::vector<double> seconds(threads);
  std::vector<std::thread> pushing;
  for (double& own : seconds)
    pushing.emplace_back([&own, producer, device, share = pushes / threads] {
      own = push(producer, device, share);
    });
  double all = 0;
  for (unsigned i = 0; i < threads; ++i) {
    pushing[i].join();
    all += seconds[i];
  }
  if (iotrail_producer_lost(producer) != 0) {
    std::fprintf(stderr, "producer_rate: pushes were lost\n");
    std::exit(1);
  }
  iotrail_producer_destroy(producer);
  return all;
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

void measure(unsigned threads, int rounds) {
  std::vector<double> rates;
  for (int round = 0; round < rounds; ++round)
    rates.push_back(static_cast<double>(kPushes) / push_by_threads(threads, kPushes) / 1e6);
  std::printf("  %u %-8s %5.1f million a second of CPU time, %.1f ns each\n", threads,
              threads == 1 ? "thread" : "threads", median(rates), 1e3 / median(rates));
}

void run(std::vector<std::string> command) {
  std::vector<char*> arguments;
  for (std::string& word : command)
    arguments.push_back(word.data());
  arguments.push_back(nullptr);
  pid_t child = 0;
  if (::posix_spawnp(&child, arguments[0], nullptr, nullptr, arguments.data(), environ) == 0)
    ::waitpid(child, nullptr, 0);
}

double total_instructions(std::uint64_t pushes) {
  const std::string profile = temporary("callgrind");
  run({"valgrind", "-q", "--tool=callgrind", "--callgrind-out-file=" + profile,
       fs::read_symlink("/proc/self/exe").string(), "--push", std::to_string(pushes)});
  std::ifstream lines(profile);
  double total = 0;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("totals: ") || line.starts_with("summary: "))
      total = std::stod(line.substr(line.find(' ')));
  fs::remove(profile);
  return total;
}

} // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--push") {
    push_by_threads(1, std::strtoull(argv[2], nullptr, 10));
    return 0;
  }
  const int rounds = argc > 1 ? std::max(std::atoi(argv[1]), 1) : 9;
  std::printf("pushes\n");
  measure(1, rounds);
  if (const unsigned cpus = std::thread::hardware_concurrency(); cpus > 1)
    measure(cpus, rounds);
  const double more = total_instructions(2 * kInstructionPushes);
  std::printf("instructions (callgrind)\n  %.1f each\n",
              (more - total_instructions(kInstructionPushes)) / kInstructionPushes);
  return 0;
}
