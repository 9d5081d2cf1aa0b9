// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/kernel_source.hpp"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sched.h>

#include <algorithm>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "capture/kernel/abi/kernel_abi.h"
#include "capture/kernel/aggregate/aggregate_collector.hpp"
#include "capture/kernel/aggregate/aggregate_table.hpp"
#include "capture/kernel/collect/counters.hpp"
#include "capture/kernel/collect/kernel_ids.hpp"
#include "capture/kernel/collect/record_copier.hpp"
#include "capture/kernel/collect/rings.hpp"
#include "capture/kernel/load/bpf_object.hpp"
#include "capture/kernel/load/hooks.hpp"
#include "capture/kernel/load/pid_numbers.hpp"
#include "capture/kernel/select/file_tables.hpp"
#include "capture/kernel/select/filters.hpp"
#include "capture/kernel/select/syscalls.hpp"
#include "capture/kernel/unfinished/unfinished.hpp"
#include "iotrail.skel.h"

namespace iotrail::capture {
namespace kernel {
namespace {

void size_rings(iotrail_bpf& skeleton, const iot_config& config, std::uint32_t cpu_count) {
  bpf_map__set_max_entries(skeleton.maps.texts, message_bytes_for(config.slots_per_cpu));
  prepare_aggregates(skeleton, config, cpu_count);
}

constexpr std::uint64_t kMessageTimeoutNs = 10'000'000; // a message takes microseconds

class KernelSource final : public Source {
public:
  std::string_view name() const override { return "kernel"; }
  Result<void> open(const SourceOptions& options) override;
  Result<void> start() override;
  Result<void> follow(pid_t pid) override;
  void name_files(store::TraceWriter& writer) override;
  std::size_t drain(store::TraceWriter& writer) override;
  Result<void> stop() override;
  std::uint64_t produced() const override;
  std::uint64_t left_out() const override {
    return deferred_filter_.left_out() + (end_ ? end_->left_out : rings_.left_out());
  }
  bool adds_up() const override { return aggregates_.is_on(); }
  std::vector<CounterValue> counters() const override;
  std::uint64_t longest_lost_ns() const override { return counter_values().longest_lost_ns; }
  std::vector<store::HookReport> hooks() const override { return report_hooks(filter_, refusals_); }
  std::vector<std::string> unsupported_file_systems() const override { return ids_.unsupported(); }
  std::size_t ring_memory_bytes() const override {
    return rings_.memory_bytes() + messages_.memory_bytes() + aggregates_.memory_bytes();
  }

private:
  iot_config configuration(const SourceOptions& options) const;
  bool traces_from_exec() const;
  Result<void> trace_root(pid_t pid, bool from_exec);
  void see_all_running();
  void see_running(pid_t pid) { tasks_->see_running(static_cast<iot_u32>(pid), numbers_->of(pid)); }
  bool drain_messages(store::TraceWriter& writer);
  std::size_t write_unfinished(store::TraceWriter& writer);
  void keep_known(std::uint64_t now_ns, store::TraceWriter& writer);
  Result<void> map_rings(const iot_config& config);
  std::size_t drain_aggregates(store::TraceWriter& writer);
  std::size_t drain_ring(std::uint32_t cpu, std::uint64_t head, store::TraceWriter& writer);
  iot_counter_values counter_values() const;

  Tasks own_tasks_; // where none are given
  Tasks* tasks_ = &own_tasks_;
  Filter filter_;
  Refusals refusals_;
  std::unique_ptr<BpfObject> object_;
  std::optional<PidNumbers> numbers_; // since open()
  RecordRings rings_;
  StringRing messages_;
  bool sees_openings_ = false;            // of files, all of them
  std::optional<FileTables> file_tables_; // since open()
  KernelIds ids_;
  RecordCopier copier_;
  DeferredFilter deferred_filter_;
  AggregateCollector aggregates_;
  std::vector<std::uint64_t> heads_; // of one drain
  std::uint32_t cpu_count_ = 0;
  struct End {
    std::vector<std::uint64_t> heads; // by CPU
    std::uint64_t produced = 0;
    std::uint64_t left_out = 0; // by the programs
    std::vector<CounterValue> counters;
  };
  End account_at_end() const;

  std::optional<End> end_; // after stop()
  std::uint64_t started_ns_ = 0;
  Unfinished unfinished_; // when the recording stopped, until they are written
  std::uint64_t unfinished_written_ = 0;
  std::uint64_t completions_missed_ = 0; // found when the recording stopped
};

iot_config KernelSource::configuration(const SourceOptions& options) const {
  iot_config config{};
  config.slots_per_cpu = slots_for(options.ring_bytes);
  if (options.aggregates.interval_ns != 0)
    configure_aggregates(config, options.aggregates);
  config.tick_ns = kernel_tick_ns();
  config.files_at_once = options.files_at_once != 0 ? options.files_at_once : IOT_FILE_LIMIT;
  config.in_flight_at_once = options.in_flight_at_once;
  fill_filters(config, options.filter);
  fill_calls(config, options.filter);
  fill_own_files(config, options.own_files);
  return config;
}

Result<void> KernelSource::open(const SourceOptions& options) {
  filter_ = options.filter;
  sees_openings_ = filter_.records(*schema::find_event("syscall_open")) ||
                   filter_.records(*schema::find_event("vfs_open"));
  aggregates_.configure(options.aggregates);
  deferred_filter_.configure(filter_.thresholds);
  const int cpus = libbpf_num_possible_cpus();
  if (cpus <= 0)
    return fail_errno("counting processors", -cpus);
  if (cpus > IOT_CPU_LIMIT)
    return fail("the kernel's layers cannot be recorded",
                fmt::format("this machine may have {} processors", cpus),
                fmt::format("iotrail is built for {}", IOT_CPU_LIMIT));
  cpu_count_ = static_cast<std::uint32_t>(cpus);
  heads_.resize(cpu_count_);
  const iot_config config = configuration(options);
  if (config.filter_files || config.filter_devices)
    for (const char* program : kHooksOnDelays)
      refusals_.add(program, std::string(kNotOfFiles));
  auto object =
      BpfObject::load(filter_, config, cpu_count_, options.hooks_left_out, size_rings, refusals_);
  if (!object)
    return std::unexpected(object.error());
  object_ = std::move(*object);
  object_->ask("block_find_functions", {}); // if refused, some direct I/O has no file
  if (Result<void> mapped = map_rings(config); !mapped)
    return mapped;
  if (options.tasks != nullptr)
    tasks_ = options.tasks;
  ids_.report_to(*tasks_);
  tasks_->expect_kernel();
  numbers_.emplace(*object_);
  file_tables_.emplace(object_->map_fd("file_tables"), object_->skeleton().bss->file_ages,
                       config.files_at_once);
  object_->skeleton().bss->recorder_tgid = numbers_->of(::getpid());
  return set_filters(*object_, *numbers_, filter_);
}

Result<void> KernelSource::map_rings(const iot_config& config) {
  auto rings = RecordRings::map(object_->map_fd("slots"),
                                std::span(object_->skeleton().bss->cpus).first(cpu_count_),
                                config.slots_per_cpu);
  if (!rings)
    return std::unexpected(rings.error());
  rings_ = std::move(*rings);
  auto ring = StringRing::map(object_->map_fd("texts"), message_bytes_for(config.slots_per_cpu));
  if (!ring)
    return std::unexpected(ring.error());
  messages_ = std::move(*ring);
  if (!aggregates_.is_on())
    return {};
  const int map = object_->map_fd("sums");
  auto table = AggregateTable::map(object_->skeleton(), map, config.aggregates);
  if (!table)
    return std::unexpected(table.error());
  aggregates_.use(std::move(*table));
  return {};
}

// A tree that awaits its exec must see it.
bool KernelSource::traces_from_exec() const {
  return filter_.tree_from_exec && refusals_.reason("process_sched_process_exec") == nullptr;
}

Result<void> KernelSource::start() {
  aggregates_.begin(monotonic_ns());
  see_all_running();
  if (filter_.tree_root != 0)
    if (auto traced = trace_root(filter_.tree_root, traces_from_exec()); !traced)
      return traced;
  started_ns_ = monotonic_ns();
  __atomic_store_n(&object_->skeleton().bss->is_started, 1U, __ATOMIC_RELEASE);
  const auto descendants = trace_descendants(*object_, *numbers_, filter_.pids);
  if (!descendants)
    return std::unexpected(descendants.error());
  for (const pid_t pid : *descendants)
    see_running(pid);
  object_->list("net_running"); // where it was chosen
  return {};
}

Result<void> KernelSource::follow(pid_t pid) {
  see_running(pid);
  return trace_root(pid, false);
}

// The kernel announces the tasks that it makes or adopts; user space registers this one.
Result<void> KernelSource::trace_root(pid_t pid, bool from_exec) {
  const iot_u32 number = numbers_->of(pid);
  if (const auto own = static_cast<iot_u32>(pid); own != number)
    tasks_->add_task(tasks_->pid_namespace(), own, {.pid = number, .tid = number});
  return trace_tree(*object_, number, from_exec);
}

Result<void> KernelSource::stop() {
  completions_missed_ = forget_missed_completions(*object_);
  const CallsInProgress calls = calls_in_progress(*object_, *tasks_, filter_.pids);
  object_->detach();
  unfinished_ = unfinished_records(*object_, calls, started_ns_);
  end_ = account_at_end();
  return {};
}

/*
 * The events up to the end. A program that found its task traced just before the end may still fill
 * its record. The account is taken when it adds up; anything later is after the end.
 */
KernelSource::End KernelSource::account_at_end() const {
  constexpr int kLooks = 100;
  for (int look = 0;; ++look) {
    End end{
        .heads = {}, .produced = produced(), .left_out = rings_.left_out(), .counters = counters()};
    std::uint64_t found = aggregates_.events() + end.left_out;
    for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu)
      found += end.heads.emplace_back(rings_.head(cpu));
    for (const CounterValue& row : end.counters)
      if (schema::find_counter(row.counter)->severity == schema::Severity::loss)
        found += row.value;
    if (found == end.produced || look == kLooks)
      return end;
    if (look == kLooks / 2)
      BpfObject::wait_for_programs();
    ::sched_yield();
  }
}

// Rows for processes that ran before the recording; the kernel announces those that start in it.
void KernelSource::see_all_running() {
  if (filter_.tree_root != 0 && filter_.tree_from_exec)
    tasks_->await_exec(static_cast<iot_u32>(filter_.tree_root), numbers_->of(filter_.tree_root));
  else if (filter_.tree_root != 0)
    see_running(filter_.tree_root);
  for (pid_t pid : filter_.pids)
    see_running(pid);
  if (!filter_.follows_everyone() && !filter_.wanted.choose_groups())
    return;
  for (const RunningProcess& process : running_processes())
    tasks_->see_bystander(static_cast<iot_u32>(process.pid), numbers_->of(process.pid));
}

// Takes all messages sent up to now. False: a program has begun one and does not finish it.
bool KernelSource::drain_messages(store::TraceWriter& writer) {
  file_tables_->keep_empty_one();
  const std::uint64_t end = messages_.end();
  const std::uint64_t give_up_ns = monotonic_ns() + kMessageTimeoutNs;
  while (!messages_.consume(end, [&](const iot_message& message) { ids_.take(message, writer); })) {
    if (monotonic_ns() > give_up_ns)
      return false;
    ::sched_yield();
  }
  return true;
}

// If each opening is traced, the file is known before a program uses it.
void KernelSource::name_files(store::TraceWriter& writer) {
  if (sees_openings_)
    drain_messages(writer);
}

/*
 * A message is sent before its record is reserved. So all records below the heads, which are read
 * first, find their messages among those sent until the heads were read.
 */
std::size_t KernelSource::drain(store::TraceWriter& writer) {
  if (aggregates_.is_on())
    return drain_aggregates(writer);
  const std::uint64_t now_ns = monotonic_ns();
  for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu)
    heads_[cpu] = end_ ? end_->heads[cpu] : rings_.head(cpu);
  drain_messages(writer);
  tasks_->write(writer, now_ns);
  std::size_t records = 0;
  for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu)
    records += drain_ring(cpu, heads_[cpu], writer);
  records += write_unfinished(writer);
  if (deferred_filter_.is_on())
    keep_known(now_ns, writer);
  return records;
}

// Writes held-back events that are known to be kept, by the state at `now_ns`.
void KernelSource::keep_known(std::uint64_t now_ns, store::TraceWriter& writer) {
  if (end_)
    return deferred_filter_.keep_all(writer);
  for (std::uint32_t cpu = 0; cpu < cpu_count_; ++cpu)
    if (rings_.tail(cpu) < heads_[cpu]) // a record being filled: possibly the end of an operation
      return;
  deferred_filter_.keep_slow(now_ns, writer);
}

// No record is ever in between: an aggregate that is not taken stays in its row.
std::size_t KernelSource::drain_aggregates(store::TraceWriter& writer) {
  const std::uint64_t now_ns = monotonic_ns();
  ids_.take(unfinished_.names, writer);
  const auto aggregates =
      end_ ? aggregates_.take_last(unfinished_.records) : aggregates_.take(now_ns);
  if (end_)
    unfinished_written_ = unfinished_.records.size();
  drain_messages(writer);
  tasks_->write(writer, now_ns);
  if (aggregates)
    aggregates_.write(*aggregates, now_ns, ids_, writer);
  return 0;
}

// The spans that were open when the recording stopped, handled like the records of a ring.
std::size_t KernelSource::write_unfinished(store::TraceWriter& writer) {
  ids_.take(unfinished_.names, writer);
  const std::span<const RecordSlot> all(unfinished_.records);
  std::size_t written = 0;
  while (written < all.size())
    written += copier_.copy(
        all.subspan(written, std::min(RecordCopier::kBatchSlots, all.size() - written)), written,
        ids_, deferred_filter_, writer);
  unfinished_written_ += written;
  unfinished_ = {};
  return written;
}

std::size_t KernelSource::drain_ring(std::uint32_t cpu, std::uint64_t head,
                                     store::TraceWriter& writer) {
  const std::uint64_t begin = rings_.tail(cpu);
  std::uint64_t position = begin;
  while (position < head) {
    const std::span<const RecordSlot> slots = rings_.slots(cpu, position, head);
    const std::size_t copied = copier_.copy(slots, position, ids_, deferred_filter_, writer);
    if (copied == 0)
      break;
    position += copied;
    rings_.release(cpu, position);
  }
  return position - begin;
}

iot_counter_values KernelSource::counter_values() const {
  if (!object_)
    return {};
  iot_counter_values counted = read_counters(object_->map_fd("counters"), cpu_count_);
  counted.value[IOT_COUNTER_kernel_recursion] += object_->recursion_misses();
  counted.value[IOT_COUNTER_kernel_completion_missed] += completions_missed_;
  counted.value[IOT_COUNTER_kernel_file_forgotten] +=
      file_tables_->forgotten() + ids_.files_forgotten();
  return counted;
}

std::vector<CounterValue> KernelSource::counters() const {
  if (end_)
    return end_->counters;
  std::vector<CounterValue> counters;
  const auto add = [&](iot_u32 counter, iot_u32 layer, std::uint64_t value, iot_u32 event = 0) {
    if (value != 0)
      counters.push_back({static_cast<iot_counter>(counter), layer, value, event});
  };
  for (iot_u32 layer = 1; layer < IOT_LAYER_COUNT; ++layer)
    add(IOT_COUNTER_kernel_ring_full, layer, rings_.lost(layer));
  const iot_counter_values values = counter_values();
  for (iot_u32 counter = 0; counter < std::size(values.value); ++counter)
    if (counter != IOT_COUNTER_kernel_hook_bypassed)
      add(counter, 0, values.value[counter]);
  for (iot_u32 number = 0; number < std::size(values.bypassed); ++number)
    add(IOT_COUNTER_kernel_hook_bypassed, IOT_LAYER_vfs, values.bypassed[number],
        IOT_LAYER_vfs << 8U | number);
  return counters;
}

// Counted at the decision to record an event, before its slot is reserved (bpf/out/ring.bpf.h).
std::uint64_t KernelSource::produced() const {
  if (end_)
    return end_->produced + unfinished_written_;
  return completions_missed_ + rings_.produced();
}

} // namespace
} // namespace kernel

std::unique_ptr<Source> make_kernel_source() {
  return std::make_unique<kernel::KernelSource>();
}

} // namespace iotrail::capture
