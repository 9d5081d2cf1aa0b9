// SPDX-License-Identifier: BSD-3-Clause
//
// report_bench EVENTS [TRACE]: writes a trace with this many events of all layers, then times the
// first screen and each part of the report. With TRACE it keeps the trace there, and reuses an existing one.
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <random>

#include "base/clock.hpp"
#include "render/text/text.hpp"
#include "report/answer/first_screen.hpp"
#include "report/report.hpp"
#include "report/small_result.hpp"
#include "store/writer/trace_writer.hpp"

namespace {

using namespace iotrail;
namespace fs = std::filesystem;

// A workload of reads and writes: for each call of the program, its nested events in all layers.
class Workload {
public:
  explicit Workload(store::TraceWriter& writer) : writer_(writer) {
    for (int i = 0; i < kFiles; ++i)
      files_.push_back(writer_.file_id({IOT_DEVICE(8, 1), static_cast<iot_u64>(i) + 1, 0}, 0100644,
                                       fmt::format("/data/directory-{}/file-{}", i % 16, i)));
    for (iot_u32 pid = 1; pid <= kProcesses; ++pid)
      writer_.add(rows::processes{0, pid, 1, "worker", "/bin/worker", "worker --all"});
  }

  // Returns the number of events written.
  std::uint64_t one_call() {
    const bool writes = random_() % 3 == 0;
    now_ns_ += 400 + random_() % 2000;
    const iot_u32 file = files_[random_() % kFiles];
    const iot_u32 bytes = 512U << (random_() % 5);
    std::uint64_t events = 3;
    header_ = {now_ns_,
               ++op_,
               0,
               static_cast<iot_u32>(1 + op_ % kProcesses),
               static_cast<iot_u32>(1 + op_ % kProcesses),
               static_cast<iot_u16>(op_ % 2),
               0,
               0};
    if (writes) {
      add_write(file, bytes);
      events += op_ % 4 == 0 ? add_cache_dirty(file) : 0;
    } else {
      add_read(file, bytes);
    }
    if (op_ % 8 == 0)
      events += add_block(file, writes);
    return events;
  }

private:
  static constexpr int kFiles = 1000;
  static constexpr iot_u32 kProcesses = 50;

  iot_event header(iot_u16 kind, iot_u64 later_ns) const {
    iot_event event = header_;
    event.kind = kind;
    event.ts_ns += later_ns;
    return event;
  }
  iot_u64 duration() { return 300 + random_() % 20'000; }

  void add_read(iot_u32 file, iot_u32 bytes) {
    const iot_u64 took = duration();
    const auto offset = static_cast<iot_s64>(op_ * 4096 % (1U << 30U));
    writer_.append(
        iot_app_read{header(IOT_KIND_app_read, 0), took + 200, -1, bytes, bytes, file, 3, 29}
            .event);
    writer_.append(iot_syscall_read{header(IOT_KIND_syscall_read, 100), took + 100, offset, bytes,
                                    bytes, file, 3, 0, 0}
                       .event);
    writer_.append(
        iot_vfs_read{header(IOT_KIND_vfs_read, 150), took, offset, bytes, bytes, file, 0}.event);
  }

  void add_write(iot_u32 file, iot_u32 bytes) {
    const iot_u64 took = duration();
    const auto offset = static_cast<iot_s64>(op_ * 4096 % (1U << 30U));
    writer_.append(
        iot_app_write{header(IOT_KIND_app_write, 0), took + 200, -1, bytes, bytes, file, 3, 62}
            .event);
    writer_.append(iot_syscall_write{header(IOT_KIND_syscall_write, 100), took + 100, offset, bytes,
                                     bytes, file, 3, 0, 1}
                       .event);
    writer_.append(
        iot_vfs_write{header(IOT_KIND_vfs_write, 150), took, offset, bytes, bytes, file, 1}.event);
  }

  std::uint64_t add_cache_dirty(iot_u32 file) {
    writer_.append(iot_cache_dirty{header(IOT_KIND_cache_dirty, 200), op_, file, 1}.event);
    return 1;
  }

  std::uint64_t add_block(iot_u32 file, bool writes) {
    const iot_u32 flags = writes ? 1 : 0;
    iot_block_complete complete{};
    complete.event = header(IOT_KIND_block_complete, 250);
    complete.duration_ns = 50'000 + random_() % 500'000;
    complete.queue_ns = 1000;
    complete.request = op_;
    complete.sector = op_ * 8;
    complete.bytes = 4096;
    complete.device = IOT_DEVICE(8, 0);
    complete.flags = flags;
    complete.file = file;
    writer_.append(complete.event);
    writer_.append(iot_cache_add{header(IOT_KIND_cache_add, 210), op_, file, 1}.event);
    return 2;
  }

  store::TraceWriter& writer_;
  std::vector<iot_u32> files_;
  std::mt19937_64 random_{1}; // makes the same trace each time
  iot_event header_{};
  iot_u64 now_ns_ = 1'000'000'000;
  iot_u64 op_ = 0;
};

Result<void> make_trace(const fs::path& trace, std::uint64_t events) {
  store::Manifest manifest;
  manifest.command = {"worker"};
  manifest.state = store::State::RUNNING;
  manifest.begin_ns = 1'000'000'000;
  auto writer = store::TraceWriter::create(trace, manifest);
  if (!writer)
    return std::unexpected(writer.error());
  Workload workload(**writer);
  std::uint64_t written = 0;
  while (written < events)
    written += workload.one_call();
  manifest.state = store::State::COMPLETE;
  manifest.stop_reason = "enough";
  manifest.sources = {{"kernel", written, written, 0}};
  return (*writer)->finish(manifest);
}

// Wall time, and time of all processors: on a busy machine only the second one measures the cost.
class Stopwatch {
public:
  void print(const char* what) {
    const std::uint64_t now_ns = monotonic_ns();
    const std::uint64_t now_cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
    std::fprintf(stderr, "%-18s%6.2f s, CPU %6.2f s\n", what, seconds(now_ns - begin_ns_),
                 seconds(now_cpu_ns - begin_cpu_ns_));
    begin_ns_ = monotonic_ns();
    begin_cpu_ns_ = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  }

private:
  static double seconds(std::uint64_t ns) { return static_cast<double>(ns) / 1e9; }

  std::uint64_t begin_ns_ = monotonic_ns();
  std::uint64_t begin_cpu_ns_ = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
};

Result<void> measure_first_screen(const fs::path& trace) {
  Stopwatch stopwatch;
  auto engine = analysis::Engine::open(trace, output::findings_engine_options());
  if (!engine)
    return std::unexpected(engine.error());
  stopwatch.print("open");
  const auto judgement = output::judge(**engine);
  if (!judgement)
    return std::unexpected(judgement.error());
  stopwatch.print("findings");
  const auto screen = output::make_first_screen(**engine, {}, *judgement);
  if (!screen)
    return std::unexpected(screen.error());
  stopwatch.print("the first screen");
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  std::fprintf(stderr, "most memory %10ld MiB\n", usage.ru_maxrss / 1024);
  return {};
}

Result<void> measure(const fs::path& trace) {
  Stopwatch stopwatch;
  auto engine = analysis::Engine::open(trace);
  if (!engine)
    return std::unexpected(engine.error());
  stopwatch.print("open");
  for (const char* view : {"layers", "amplification", "top_files", "top_processes", "slowest"}) {
    if (auto done = output::SmallResult::query(**engine, fmt::format("SELECT * FROM {}", view));
        !done)
      return std::unexpected(done.error());
    stopwatch.print(view);
  }
  const auto document = output::make_report(**engine, {});
  if (!document)
    return std::unexpected(document.error());
  output::Sink sink(stdout);
  output::render_text(*document, sink, output::kPlainWidth);
  if (auto done = sink.finish(); !done)
    return done;
  stopwatch.print("the whole report");
  return {};
}

Result<void> run(std::uint64_t events, const fs::path& trace) {
  if (!fs::exists(trace)) {
    Stopwatch stopwatch;
    if (auto done = make_trace(trace, events); !done)
      return done;
    stopwatch.print("writing");
  }
  if (auto done = measure_first_screen(trace); !done)
    return done;
  return measure(trace);
}

} // namespace

int main(int argc, char** argv) {
  const std::uint64_t events = argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0;
  if (events == 0 || argc > 3) {
    std::fprintf(stderr, "usage: report_bench EVENTS [TRACE]\n");
    return 2;
  }
  const bool keep = argc == 3;
  const fs::path trace =
      keep ? fs::path(argv[2])
           : fs::temp_directory_path() / fmt::format("bench-{}.iotrail", getpid());
  const auto done = run(events, trace);
  if (!keep)
    fs::remove_all(trace);
  if (!done)
    std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return done ? 0 : 1;
}
