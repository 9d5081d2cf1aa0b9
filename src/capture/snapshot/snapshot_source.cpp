// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/snapshot_source.hpp"

#include <algorithm>
#include <optional>

#include "capture/snapshot/files/baseline_reader.hpp"
#include "capture/snapshot/snapshot_thread.hpp"

namespace iotrail::capture {
namespace snapshot {
namespace {

// Writing a row to the trace takes about a microsecond. Meanwhile the rings of other sources, which
// hold at least 60 ms of events, must be drained.
constexpr std::size_t kRowsPerDrain = 8192;

constexpr iot_counter kCounters[] = {
    IOT_COUNTER_snapshot_unreadable,     IOT_COUNTER_snapshot_file_unread,
    IOT_COUNTER_snapshot_process_unread, IOT_COUNTER_snapshot_other_file_system,
    IOT_COUNTER_snapshot_path_too_long,  IOT_COUNTER_snapshot_unfinished,
    IOT_COUNTER_snapshot_missed,
};

// The event of a kind of snapshot; 0: any.
struct Served {
  iot_u16 event;
  iot_u32 kind;
  const char* by;
};
constexpr Served kServed[] = {
    {IOT_KIND_snapshot_begin, 0, "recorder"},
    {IOT_KIND_snapshot_end, 0, "recorder"},
    {IOT_KIND_snapshot_left_out, IOT_snapshot_kind_fs, "getdents64"},
    {IOT_KIND_snapshot_file, IOT_snapshot_kind_fs, "statx"},
    {IOT_KIND_snapshot_process, IOT_snapshot_kind_process, "/proc/PID"},
    {IOT_KIND_snapshot_system, IOT_snapshot_kind_system, "/proc, /sys"},
    {IOT_KIND_snapshot_memory, IOT_snapshot_kind_system, "/proc/meminfo"},
    {IOT_KIND_snapshot_disk, IOT_snapshot_kind_system, "/sys/block"},
    {IOT_KIND_snapshot_mount, IOT_snapshot_kind_system, "/proc/self/mountinfo"},
    {IOT_KIND_snapshot_network, IOT_snapshot_kind_system, "/sys/class/net"},
    {IOT_KIND_snapshot_setting, IOT_snapshot_kind_system, "/proc/sys, /sys"},
    {IOT_KIND_snapshot_vm_image, IOT_snapshot_kind_vm, "/proc/PID/fd"},
    {IOT_KIND_snapshot_vm_map, IOT_snapshot_kind_vm, "pread64"},
};

class SnapshotSource : public Source {
public:
  explicit SnapshotSource(SnapshotOptions options) : options_(std::move(options)) {}
  ~SnapshotSource() override { end(); }

  std::string_view name() const override {
    return schema::value_name("source", IOT_source_snapshot);
  }
  Result<void> open(const SourceOptions& options) override;
  Result<void> start() override;
  Result<void> follow(pid_t) override { return {}; } // a snapshot reads all processes
  std::size_t drain(store::TraceWriter& writer) override;
  Result<void> stop() override;
  bool has_ended() const override { return shared_.active == 0 && shared_.queue.is_empty(); }
  std::uint64_t produced() const override { return shared_.queue.pushed(); }
  std::vector<CounterValue> counters() const override;
  std::vector<store::HookReport> hooks() const override;
  std::size_t ring_memory_bytes() const override { return 0; }

private:
  Result<void> add_file_systems(const SnapshotWanted& wanted, StoredFiles* stored);
  Result<void> add_machine(pid_t pid);
  bool takes(iot_u32 kind) const;
  void end();

  SnapshotOptions options_;
  bool has_machines_ = false;
  Shared shared_;
  std::vector<SnapshotTask> tasks_; // until start()
  std::vector<std::unique_ptr<SnapshotThread>>
      threads_; // from start(): destroyed before what they share
};

Result<std::string> canonical_root(const std::filesystem::path& root) {
  std::error_code error;
  const std::filesystem::path canonical = std::filesystem::canonical(root, error);
  if (error)
    return fail_errno(fmt::format("cannot take a snapshot of {}", root.native()), error.value());
  return canonical.native();
}

Result<void> SnapshotSource::open(const SourceOptions& source) {
  std::optional<StoredFiles> stored;
  if (!options_.since.empty()) {
    auto read = read_stored_files(options_.since);
    if (!read)
      return std::unexpected(read.error());
    stored = std::move(*read);
  }
  for (const SnapshotWanted& wanted : options_.wanted) {
    if (wanted.kind != IOT_snapshot_kind_fs)
      tasks_.push_back({.kind = wanted.kind,
                        .root = {},
                        .period_ns = wanted.period_ns,
                        .keeps_arguments = source.keeps_arguments});
    else if (Result<void> added = add_file_systems(wanted, stored ? &*stored : nullptr); !added)
      return added;
  }
  for (const pid_t pid : source.filter.machines)
    if (Result<void> added = add_machine(pid); !added)
      return added;
  return {};
}

// Its images are opened before the recording begins: a machine may end soon.
Result<void> SnapshotSource::add_machine(pid_t pid) {
  auto images = vm::OpenImages::of(pid);
  if (!images)
    return std::unexpected(images.error());
  tasks_.push_back({.kind = IOT_snapshot_kind_vm, .machine = std::move(*images)});
  has_machines_ = true;
  return {};
}

Result<void> SnapshotSource::add_file_systems(const SnapshotWanted& wanted, StoredFiles* stored) {
  std::vector<std::string> roots;
  if (wanted.root.empty() && stored)
    for (const auto& [root, files] : stored->by_root)
      roots.push_back(root);
  else
    roots.push_back(wanted.root.native());
  for (const std::string& given : roots) {
    Result<std::string> root = canonical_root(given);
    if (!root)
      return std::unexpected(root.error());
    SnapshotTask task{.kind = wanted.kind, .root = *root, .period_ns = wanted.period_ns};
    if (stored) {
      const auto found = stored->by_root.find(*root);
      if (found == stored->by_root.end())
        return fail(fmt::format("cannot continue a snapshot of {}", *root),
                    fmt::format("{} has none that began there", options_.since.back().native()),
                    "Without a path, all that it has are continued.");
      task.is_continued = true;
      task.base = stored->trace_id;
      task.baseline = std::move(found->second);
    }
    tasks_.push_back(std::move(task));
  }
  return {};
}

Result<void> SnapshotSource::start() {
  for (SnapshotTask& task : tasks_)
    threads_.push_back(std::make_unique<SnapshotThread>(shared_, std::move(task)));
  tasks_.clear();
  for (const auto& taker : threads_)
    taker->start();
  return {};
}

std::size_t SnapshotSource::drain(store::TraceWriter& writer) {
  return shared_.queue.write_some(writer, kRowsPerDrain);
}

void SnapshotSource::end() {
  {
    const std::lock_guard lock(shared_.mutex);
    shared_.is_stopping = true;
  }
  shared_.wake.notify_all();
  shared_.queue.close();
  threads_.clear();
}

Result<void> SnapshotSource::stop() {
  end();
  return {};
}

std::vector<CounterValue> SnapshotSource::counters() const {
  std::vector<CounterValue> values;
  for (const iot_counter counter : kCounters)
    values.push_back({counter, IOT_LAYER_snapshot, shared_.counters.value(counter)});
  return values;
}

bool SnapshotSource::takes(iot_u32 kind) const {
  if (kind == IOT_snapshot_kind_vm)
    return has_machines_;
  return kind == 0 ||
         std::ranges::find(options_.wanted, kind, &SnapshotWanted::kind) != options_.wanted.end();
}

std::vector<store::HookReport> SnapshotSource::hooks() const {
  std::vector<store::HookReport> reports;
  for (const Served& served : kServed)
    if (takes(served.kind))
      reports.push_back({.event = std::string(schema::find_event(served.event)->name),
                         .source = std::string(name()),
                         .tier = "",
                         .hook = served.by,
                         .reason = "",
                         .remedy = ""});
  return reports;
}

} // namespace
} // namespace snapshot

std::unique_ptr<Source> make_snapshot_source(SnapshotOptions options) {
  return std::make_unique<snapshot::SnapshotSource>(std::move(options));
}

} // namespace iotrail::capture
