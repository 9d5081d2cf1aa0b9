// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/kernel_source.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "capture/kernel/bpf_object.hpp"
#include "capture/kernel/dictionary.hpp"
#include "capture/kernel/filters.hpp"
#include "capture/kernel/hooks.hpp"
#include "capture/kernel/kernel_abi.h"
#include "capture/kernel/rings.hpp"
#include "capture/kernel/syscalls.hpp"
#include "capture/kernel/translation.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture {
namespace kernel {
namespace {

constexpr std::uint32_t kDefaultSlots = 1U
                                        << 16U; // per CPU: 8 MiB, 0.2 s at 300,000 events a second
constexpr std::uint32_t kSmallestSlots = 64;
constexpr std::size_t kTextBytes = 8U << 20U;
constexpr std::uint64_t kTextPatienceNs =
    10'000'000; // a text under way is finished in microseconds

std::uint32_t slots_for(std::size_t ring_bytes) {
  if (ring_bytes == 0)
    return kDefaultSlots;
  const std::size_t slots =
      std::bit_floor(std::max<std::size_t>(ring_bytes / IO_KERNEL_SLOT_BYTES, 1));
  return std::clamp<std::uint32_t>(static_cast<std::uint32_t>(slots), kSmallestSlots, 1U << 24U);
}

class KernelSource final : public Source {
public:
  std::string_view name() const override { return "kernel"; }
  Result<void> open(const SourceOptions& options) override;
  Result<void> start() override;
  std::size_t drain(store::TraceWriter& writer) override;
  Result<void> stop() override;
  std::uint64_t produced() const override;
  std::vector<CounterValue> counters() const override;
  std::vector<store::HookReport> hooks() const override;
  std::size_t ring_memory_bytes() const override {
    return rings_.memory_bytes() + texts_.memory_bytes();
  }

private:
  io_config configuration(const SourceOptions& options) const;
  bool traces_from_exec() const;
  void see_running();
  bool drain_texts(store::TraceWriter& writer);
  std::size_t drain_ring(std::uint32_t cpu, std::uint64_t head, store::TraceWriter& writer);
  void append(const io_event& record, store::TraceWriter& writer);
  std::array<std::uint64_t, IO_COUNTER_LIMIT> counter_values() const;

  Filter filter_;
  Refusals refusals_;
  std::unique_ptr<BpfObject> object_;
  RecordRings rings_;
  TextRing texts_;
  Dictionary dictionary_;
  std::vector<std::uint64_t> heads_; // of one drain
  std::uint32_t cpu_count_ = 0;
  // Issued, and neither reported as complete nor used again when the recording stopped.
  std::uint64_t requests_unfinished_ = 0;
};

io_config KernelSource::configuration(const SourceOptions& options) const {
  io_config config{};
  config.slots_per_cpu = slots_for(options.ring_bytes);
  config.has_cast = kernel_has_function("bpf_rdonly_cast");
  fill_filters(config, options.filter);
  fill_calls(config, options.filter);
  return config;
}

Result<void> KernelSource::open(const SourceOptions& options) {
  filter_ = options.filter;
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0)
    return fail_errno("counting processors", -cpus);
  cpu_count_ = static_cast<std::uint32_t>(cpus);
  heads_.resize(cpu_count_);
  const io_config config = configuration(options);
  auto object = BpfObject::load(filter_, config, cpu_count_, refusals_);
  if (!object)
    return std::unexpected(object.error());
  object_ = std::move(*object);
  auto rings = RecordRings::map(object_->map_fd("slots"), object_->map_fd("cpus"), cpu_count_,
                                config.slots_per_cpu);
  if (!rings)
    return std::unexpected(rings.error());
  rings_ = std::move(*rings);
  auto texts = TextRing::map(object_->map_fd("texts"), kTextBytes);
  if (!texts)
    return std::unexpected(texts.error());
  texts_ = std::move(*texts);
  return set_filters(*object_, filter_);
}

// A tree that awaits its exec must see it.
bool KernelSource::traces_from_exec() const {
  return filter_.tree_from_exec && refusals_.reason("process_sched_process_exec") == nullptr;
}

Result<void> KernelSource::start() {
  see_running();
  if (filter_.tree_root != 0)
    if (auto traced = trace_tree(*object_, filter_.tree_root, traces_from_exec()); !traced)
      return traced;
  __atomic_store_n(&object_->skeleton().bss->is_started, 1U, __ATOMIC_RELEASE);
  const auto descendants = trace_descendants(*object_, filter_.pids);
  if (!descendants)
    return std::unexpected(descendants.error());
  for (const pid_t pid : *descendants)
    dictionary_.see_running(static_cast<io_u32>(pid));
  return {};
}

Result<void> KernelSource::stop() {
  object_->detach();
  requests_unfinished_ = object_->entries("requests");
  return {};
}

// Rows for processes that ran before the recording; those that start in it are told by the kernel.
void KernelSource::see_running() {
  if (filter_.tree_root != 0 && !filter_.tree_from_exec)
    dictionary_.see_running(static_cast<io_u32>(filter_.tree_root));
  for (pid_t pid : filter_.pids)
    dictionary_.see_running(static_cast<io_u32>(pid));
  if (!filter_.whole_system && filter_.cgroups.empty() && filter_.files.empty() &&
      filter_.devices.empty())
    return;
  for (const RunningProcess& process : running_processes())
    dictionary_.see_running(static_cast<io_u32>(process.pid));
}

// All texts sent up to now. False: one is still being written by a program that does not get on.
bool KernelSource::drain_texts(store::TraceWriter& writer) {
  const std::uint64_t end = texts_.end();
  const std::uint64_t give_up_ns = monotonic_ns() + kTextPatienceNs;
  while (!texts_.consume(end, [&](const io_text& text) { dictionary_.take(text, writer); })) {
    if (monotonic_ns() > give_up_ns)
      return false;
    ::sched_yield();
  }
  return true;
}

/*
 * A text is sent before the record that needs it is begun. So all that is below the heads, read first, finds its texts
 * among those sent by the time that the heads were read.
 */
std::size_t KernelSource::drain(store::TraceWriter& writer) {
  dictionary_.add_running(writer);
  for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu)
    heads_[cpu] = rings_.head(cpu);
  drain_texts(writer);
  std::size_t records = 0;
  for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu)
    records += drain_ring(cpu, heads_[cpu], writer);
  return records;
}

std::size_t KernelSource::drain_ring(std::uint32_t cpu, std::uint64_t head,
                                     store::TraceWriter& writer) {
  constexpr std::uint64_t kReleaseEvery =
      256; // gives room back early without a shared store for each record
  const std::uint64_t begin = rings_.tail(cpu);
  std::uint64_t position = begin;
  for (; position < head; ++position) {
    const io_event* record = rings_.record(cpu, position);
    if (record == nullptr)
      break;
    append(*record, writer);
    if ((position + 1) % kReleaseEvery == 0)
      rings_.release(cpu, position + 1);
  }
  rings_.release(cpu, position);
  return position - begin;
}

// With the ids of the trace instead of the kernel's.
void KernelSource::append(const io_event& record, store::TraceWriter& writer) {
  io_event* const event = writer.append(record);
  if (event == nullptr)
    return;
  for (const Reference& reference : references_of(event->kind)) {
    std::byte* const field = reinterpret_cast<std::byte*>(event) + reference.offset;
    io_u32 id = 0;
    std::memcpy(&id, field, sizeof(id));
    switch (reference.to) {
    case Reference::To::file:
      id = dictionary_.file(id);
      break;
    case Reference::To::string:
      id = dictionary_.string(id);
      break;
    case Reference::To::device:
      dictionary_.see_device(id, writer);
      break;
    }
    std::memcpy(field, &id, sizeof(id));
  }
  if (event->kind == IO_KIND_process_exit &&
      reinterpret_cast<const io_process_exit*>(event)->group_dead != 0)
    dictionary_.process_ended(event->pid);
}

std::array<std::uint64_t, IO_COUNTER_LIMIT> KernelSource::counter_values() const {
  std::array<std::uint64_t, IO_COUNTER_LIMIT> sums{};
  if (!object_)
    return sums;
  std::vector<std::array<std::uint64_t, IO_COUNTER_LIMIT>> values(cpu_count_);
  const io_u32 zero = 0;
  if (bpf_map_lookup_elem(object_->map_fd("counters"), &zero, values.data()) == 0)
    for (const auto& own : values)
      std::ranges::transform(sums, own, sums.begin(), std::plus{});
  sums[IO_COUNTER_kernel_recursion] += object_->recursion_misses();
  sums[IO_COUNTER_kernel_span_unfinished] += requests_unfinished_;
  return sums;
}

std::vector<CounterValue> KernelSource::counters() const {
  std::vector<CounterValue> counters;
  for (io_u32 layer = 1; layer < IO_LAYER_COUNT; ++layer) {
    std::uint64_t lost = 0;
    for (const io_cpu& cpu : rings_.cpus())
      lost += __atomic_load_n(&cpu.ring.lost[layer - 1], __ATOMIC_RELAXED);
    if (lost != 0)
      counters.push_back({IO_COUNTER_kernel_ring_full, layer, lost});
  }
  const auto values = counter_values();
  for (io_u32 counter = 0; counter < values.size(); ++counter)
    if (values[counter] != 0)
      counters.push_back({static_cast<io_counter>(counter), 0, values[counter]});
  return counters;
}

std::uint64_t KernelSource::produced() const {
  std::uint64_t produced = 0;
  for (std::uint32_t cpu = 0; cpu < rings_.cpus().size(); ++cpu)
    produced += rings_.head(cpu);
  for (const CounterValue& row : counters())
    if (const schema::Counter* counter = schema::find_counter(row.counter);
        counter != nullptr && counter->severity == schema::Severity::loss)
      produced += row.value;
  return produced;
}

std::vector<store::HookReport> KernelSource::hooks() const {
  return report_hooks(filter_, refusals_);
}

} // namespace
} // namespace kernel

std::unique_ptr<Source> make_kernel_source() {
  return std::make_unique<kernel::KernelSource>();
}

std::vector<store::HookReport> probe_hooks(const std::vector<schema::Layer>& layers) {
  kernel::KernelSource source;
  SourceOptions options;
  options.filter.layers = layers;
  const Result<void> opened = source.open(options);
  return opened ? source.hooks() : store::refused(source.hooks(), opened.error());
}

} // namespace iotrail::capture
