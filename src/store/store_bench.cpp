// SPDX-License-Identifier: BSD-3-Clause
//
// Measures the cost of an event in the store: bytes on the disk, and time of both threads. The rows
// imitate programs: several threads on several CPUs read pages at random positions of a few files,
// at jittered times.
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <random>

#include <benchmark/benchmark.h>

#include "store/reader/trace_reader.hpp"
#include "store/writer/trace_writer.hpp"

namespace iotrail::store {
namespace {

constexpr std::size_t kRows = 1U << 18U;
constexpr iot_u32 kThreads = 4;
constexpr iot_u32 kFiles = 8;

template <class Record> struct Workload {
  const char* name;
  std::vector<Record> (*make)();
};

// Spans of several threads in the order of their ends, as the rings deliver them.
template <class Record, class Fill> std::vector<Record> make_spans(iot_u16 kind, Fill fill) {
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> duration_ns(std::log(2500.0), 0.6);
  std::exponential_distribution<double> gap_ns(1.0 / 1800.0);
  std::vector<Record> records(kRows);
  std::array<std::uint64_t, kThreads> free_at_ns{};
  std::array<std::uint64_t, kThreads> operations{};
  for (Record& record : records) {
    const auto thread =
        static_cast<iot_u32>(std::ranges::min_element(free_at_ns) - free_at_ns.begin());
    record = {};
    record.event.kind = kind;
    record.event.ts_ns =
        7'000'000'000'000U + free_at_ns[thread] + static_cast<std::uint64_t>(gap_ns(random));
    record.duration_ns = static_cast<std::uint64_t>(duration_ns(random));
    free_at_ns[thread] = record.event.ts_ns + record.duration_ns - 7'000'000'000'000U;
    record.event.pid = 4242;
    record.event.tid = 4242 + thread;
    record.event.cpu = static_cast<iot_u16>(thread % 2);
    record.event.op_id =
        std::uint64_t{record.event.cpu} << IOT_OP_MAKER_SHIFT | ++operations[record.event.cpu];
    fill(record, random);
  }
  return records;
}

std::vector<iot_syscall_read> random_reads() {
  return make_spans<iot_syscall_read>(IOT_KIND_syscall_read, [](auto& read, auto& random) {
    read.file = 1 + static_cast<iot_u32>(random() % kFiles);
    read.fd = 3 + static_cast<iot_s32>(read.file);
    read.offset = static_cast<iot_s64>(random() % 16384 * 4096);
    read.bytes_requested = 4096;
    read.result = random() % 100 == 0 ? 0 : 4096;
    read.call = IOT_syscall_pread64;
  });
}

// Sequential writes of any length, by threads with one file each.
std::vector<iot_app_write> sequential_writes() {
  std::array<iot_s64, kThreads> position{};
  return make_spans<iot_app_write>(IOT_KIND_app_write, [&](auto& write, auto& random) {
    const iot_u32 thread = write.event.tid - write.event.pid;
    write.event.op_id =
        (IOT_OP_PRELOAD + thread) << IOT_OP_MAKER_SHIFT | (write.event.op_id & 0xffffffff);
    write.file = 1 + thread;
    write.fd = 3 + static_cast<iot_s32>(thread);
    write.bytes_requested = 20 + random() % 180;
    write.result = static_cast<iot_s64>(write.bytes_requested);
    write.offset = position[thread];
    position[thread] += write.result;
    write.call = IOT_app_call_pwrite;
  });
}

// The most regular case: the same size, the same pace, one thread.
std::vector<iot_app_write> regular_writes() {
  std::uint64_t number = 0;
  return make_spans<iot_app_write>(IOT_KIND_app_write, [&](auto& write, auto& random) {
    write.event.tid = write.event.pid;
    write.event.cpu = 0;
    write.event.ts_ns = 7'000'000'000'000U + number * 1000 + random() % 64;
    write.event.op_id = IOT_OP_PRELOAD << IOT_OP_MAKER_SHIFT | number;
    write.duration_ns = 600 + random() % 128;
    write.file = 1;
    write.fd = 3;
    write.offset = 4096 * static_cast<iot_s64>(number++);
    write.bytes_requested = 4096;
    write.result = 4096;
    write.call = IOT_app_call_pwrite;
  });
}

class TemporaryTrace {
public:
  TemporaryTrace() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "iotrail-bench-XXXXXX").string();
    directory_ = mkdtemp(pattern.data());
  }
  ~TemporaryTrace() {
    std::error_code ignored;
    std::filesystem::remove_all(directory_, ignored);
  }
  std::filesystem::path path() const { return directory_ / "t.iotrail"; }

private:
  std::filesystem::path directory_;
};

template <class Record>
WriterStats write_trace(const std::filesystem::path& path, const std::vector<Record>& records) {
  auto writer = TraceWriter::create(path, {});
  IOTRAIL_CHECK(writer.has_value());
  for (const Record& record : records)
    (*writer)->append(record.event);
  Manifest manifest;
  IOTRAIL_CHECK((*writer)->finish(manifest).has_value());
  return (*writer)->stats();
}

template <auto make> void BM_write(benchmark::State& state) {
  const auto records = make();
  std::uint64_t bytes = 0;
  for (auto iteration : state) {
    const TemporaryTrace trace;
    bytes = write_trace(trace.path(), records).bytes;
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kRows));
  state.counters["bytes_per_event"] = static_cast<double>(bytes) / kRows;
}

template <auto make> void BM_read(benchmark::State& state) {
  const TemporaryTrace trace;
  write_trace(trace.path(), make());
  for (auto iteration : state) {
    const auto reader = TraceReader::open(trace.path());
    for (const BlockInfo& block : (*reader)->blocks())
      benchmark::DoNotOptimize((*reader)->read(block));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations() * kRows));
}

// The cost for the thread that drains the rings.
void BM_append(benchmark::State& state) {
  const auto records = random_reads();
  const TemporaryTrace trace;
  auto writer = TraceWriter::create(trace.path(), {}).value();
  std::size_t i = 0;
  for (auto iteration : state)
    writer->append(records[i++ % kRows].event);
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

BENCHMARK(BM_write<random_reads>)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_write<sequential_writes>)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_write<regular_writes>)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_read<random_reads>)->UseRealTime();
BENCHMARK(BM_read<sequential_writes>)->UseRealTime();
BENCHMARK(BM_append);

} // namespace
} // namespace iotrail::store

BENCHMARK_MAIN();
