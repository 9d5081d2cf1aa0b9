// SPDX-License-Identifier: BSD-3-Clause
//
// The cost of a kernel event to the recorder, from the slot of a ring to the disk, for typical
// mixes of kinds. Instructions of both threads: valgrind --tool=callgrind, divided by the events.
#include <memory>
#include <random>
#include <vector>

#include <benchmark/benchmark.h>

#include "capture/kernel/collect/record_copier.hpp"
#include "store/test_support.hpp"

namespace iotrail::capture::kernel {
namespace {

constexpr std::size_t kRecords = 1U << 18U;
constexpr std::uint64_t kDrainedAtOnce = 2000; // of a ring, at 2 million events a second
constexpr iot_u32 kFiles = 8;

// The operation that a record belongs to; times in nanoseconds.
struct Operation {
  std::uint64_t number;
  std::uint64_t begin_ns;
  std::uint64_t duration_ns;
  iot_u32 file;
  std::uint64_t page;
};

class Slots {
public:
  Slots() : slots_(kRecords) {}

  bool is_full() const { return used_ + 8 > slots_.size(); } // no operation has more records
  std::span<const RecordSlot> all() const { return std::span(slots_).first(used_); }

  template <class Record> Record& add(iot_u16 kind, const Operation& operation) {
    auto& record = reinterpret_cast<Record&>(slots_[used_++]);
    record.event = {};
    record.event.ts_ns = operation.begin_ns;
    record.event.op_id = operation.number;
    record.event.pid = 4242;
    record.event.tid = 4242;
    record.event.cpu = 1;
    record.event.kind = kind;
    record.event.tag = static_cast<iot_u32>(used_);
    return record;
  }

  template <class Record> void add_transfer(iot_u16 kind, const Operation& operation) {
    auto& record = add<Record>(kind, operation);
    record.duration_ns = operation.duration_ns;
    record.offset = static_cast<iot_s64>(operation.page) * 4096;
    record.bytes_requested = 4096;
    record.result = 4096;
    record.file = operation.file;
  }

private:
  std::vector<RecordSlot> slots_;
  std::size_t used_ = 0;
};

template <class Add> Slots make_slots(Add add) {
  std::mt19937_64 random(1);
  Slots slots;
  Operation operation{
      .number = 0, .begin_ns = 7'000'000'000'000U, .duration_ns = 0, .file = 0, .page = 0};
  while (!slots.is_full()) {
    ++operation.number;
    operation.begin_ns += operation.duration_ns + 100 + random() % 64;
    operation.duration_ns = 400 + random() % 256;
    operation.file = 1 + static_cast<iot_u32>(random() % kFiles);
    operation.page = random() % 16384;
    add(slots, operation);
  }
  return slots;
}

Slots reads() {
  return make_slots([](Slots& slots, const Operation& operation) {
    slots.add_transfer<iot_syscall_read>(IOT_KIND_syscall_read, operation);
  });
}

// dd with blocks of a byte: one file in, another out.
Slots copies() {
  return make_slots([](Slots& slots, Operation operation) {
    operation.page = 0;
    operation.file = 1;
    slots.add_transfer<iot_syscall_read>(IOT_KIND_syscall_read, operation);
    operation.file = 2;
    slots.add_transfer<iot_syscall_write>(IOT_KIND_syscall_write, operation);
  });
}

// A read that finds its pages in the cache, at three layers.
Slots cached_reads() {
  return make_slots([](Slots& slots, const Operation& operation) {
    auto& hit = slots.add<iot_cache_hit>(IOT_KIND_cache_hit, operation);
    hit.index = operation.page;
    hit.pages = 1;
    hit.file = operation.file;
    slots.add_transfer<iot_vfs_read>(IOT_KIND_vfs_read, operation);
    slots.add_transfer<iot_syscall_read>(IOT_KIND_syscall_read, operation);
  });
}

void name_files(KernelIds& ids, store::TraceWriter& writer) {
  for (iot_u32 file = 1; file <= kFiles; ++file) {
    const auto message = std::make_unique<iot_message_file>();
    message->header = {.type = IOT_MESSAGE_FILE, .id = file, .bytes = 2, .reserved = 0};
    message->inode = 100 + file;
    message->device = 8;
    message->walk_end = IOT_WALK_ROOT;
    message->names[0] = 'f';
    ids.take(message->header, writer);
  }
}

void drain(std::span<const RecordSlot> slots, KernelIds& ids, store::TraceWriter& writer) {
  const auto copier = std::make_unique<RecordCopier>();
  DeferredFilter deferred_filter;
  for (std::uint64_t position = 0; position < slots.size();) {
    const std::uint64_t head = std::min<std::uint64_t>(position + kDrainedAtOnce, slots.size());
    while (position < head)
      position += copier->copy(slots.subspan(position, head - position), position, ids,
                               deferred_filter, writer);
  }
}

template <auto make> void BM_record(benchmark::State& state) {
  const Slots slots = make();
  store::Manifest manifest;
  for (auto iteration : state) {
    const store::testing::TemporaryDirectory directory;
    const auto writer = store::TraceWriter::create(directory / "t.iotrail", {}).value();
    KernelIds ids;
    name_files(ids, *writer);
    drain(slots.all(), ids, *writer);
    IOTRAIL_CHECK(writer->finish(manifest).has_value());
  }
  const auto records = static_cast<double>(slots.all().size());
  state.SetItemsProcessed(static_cast<std::int64_t>(records) *
                          static_cast<std::int64_t>(state.iterations()));
  state.counters["bytes_per_event"] = static_cast<double>(manifest.events_bytes) / records;
}

BENCHMARK(BM_record<reads>)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_record<copies>)->UseRealTime()->MeasureProcessCPUTime();
BENCHMARK(BM_record<cached_reads>)->UseRealTime()->MeasureProcessCPUTime();

} // namespace
} // namespace iotrail::capture::kernel
