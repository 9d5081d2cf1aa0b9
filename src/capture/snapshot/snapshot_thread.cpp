// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/snapshot_thread.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>

#include "base/clock.hpp"
#include "capture/snapshot/files/file_walk.hpp"
#include "capture/snapshot/system.hpp"
#include "capture/snapshot/vm_images.hpp"

namespace iotrail::capture::snapshot {
namespace {

constexpr std::uint64_t kSampleEveryNs = kSecondNs; // of CPU times, between snapshots of processes

// The recorder has a higher priority than the programs that it records; its snapshots do not.
void lower_priority() {
  if (::getpriority(PRIO_PROCESS, 0) < 0)
    ::setpriority(PRIO_PROCESS, 0, 0);
}

} // namespace

void SnapshotThread::start() {
  ++shared_.active;
  thread_ = std::thread([this] { run(); });
}

void SnapshotThread::join() {
  if (thread_.joinable())
    thread_.join();
}

void SnapshotThread::run() {
  lower_priority();
  if (task_.kind == IOT_snapshot_kind_vm)
    run_at_both_ends();
  else
    run_periodically();
}

// The images when the recording begins, and their maps when it ends: the guest's writes have then
// got their places. A recording does not wait for the second one.
void SnapshotThread::run_at_both_ends() {
  take();
  --shared_.active;
  {
    std::unique_lock lock(shared_.mutex);
    shared_.wake.wait(lock, [&] { return shared_.is_stopping.load(); });
  }
  take();
}

void SnapshotThread::run_periodically() {
  std::uint64_t due_ns = monotonic_ns();
  do {
    take();
    if (task_.period_ns == 0)
      break;
    due_ns += task_.period_ns;
    const std::uint64_t now_ns = monotonic_ns();
    if (now_ns >= due_ns + task_.period_ns) {
      const std::uint64_t missed = (now_ns - due_ns) / task_.period_ns;
      shared_.counters.add(IOT_COUNTER_snapshot_missed, missed);
      due_ns += missed * task_.period_ns;
    }
  } while (wait_until(due_ns));
  --shared_.active;
}

// False: the recording ends earlier.
bool SnapshotThread::wait_until(std::uint64_t due_ns) {
  if (task_.kind != IOT_snapshot_kind_process)
    return sleep_until(due_ns);
  for (std::uint64_t now_ns = monotonic_ns(); now_ns + kSampleEveryNs < due_ns;
       now_ns = monotonic_ns()) {
    if (!sleep_until(now_ns + kSampleEveryNs))
      return false;
    processes_.sample();
  }
  return sleep_until(due_ns);
}

bool SnapshotThread::sleep_until(std::uint64_t due_ns) {
  const std::uint64_t now_ns = monotonic_ns();
  std::unique_lock lock(shared_.mutex);
  shared_.wake.wait_for(lock, std::chrono::nanoseconds(due_ns - std::min(due_ns, now_ns)),
                        [&] { return shared_.is_stopping.load(); });
  return !shared_.is_stopping;
}

void SnapshotThread::take() {
  const std::uint64_t begin_ns = monotonic_ns();
  RowSink sink(shared_.queue);
  SnapshotRun run(sink, shared_.counters, shared_.is_stopping, ++shared_.snapshots);
  begin(run);
  const bool is_complete = take_rows(run);
  if (!is_complete)
    run.count(IOT_COUNTER_snapshot_unfinished);
  iot_snapshot_end end{};
  end.of = task_.kind;
  end.took_ns = monotonic_ns() - begin_ns;
  end.found = run.found;
  end.left_out = run.left_out;
  end.is_complete = is_complete ? 1 : 0;
  run.add(end, {});
  ++taken_;
}

void SnapshotThread::begin(SnapshotRun& run) {
  const bool is_file_system = task_.kind == IOT_snapshot_kind_fs;
  iot_snapshot_begin begin{};
  begin.of = task_.kind;
  begin.is_delta = is_file_system && is_delta() ? 1 : 0;
  const bool is_of_other_trace = task_.is_continued && taken_ == 0;
  run.add(begin, {{&iot_snapshot_begin::path, task_.root},
                  {&iot_snapshot_begin::base, is_of_other_trace ? task_.base : ""}});
}

bool SnapshotThread::take_machine(SnapshotRun& run) {
  if (taken_ == 0) {
    take_vm_images(run, *task_.machine);
    return true;
  }
  task_.machine->look();
  take_vm_maps(run, *task_.machine);
  return true;
}

bool SnapshotThread::take_rows(SnapshotRun& run) {
  if (task_.kind == IOT_snapshot_kind_vm)
    return take_machine(run);
  if (task_.kind == IOT_snapshot_kind_process)
    return processes_.take(run);
  if (task_.kind == IOT_snapshot_kind_system)
    return take_system(run, {});
  // A single snapshot that is compared with nothing needs no memory of its files.
  const bool is_remembered = task_.is_continued || task_.period_ns != 0;
  FileWalk walk(run, is_remembered ? &task_.baseline : nullptr, is_delta());
  return walk.run(task_.root);
}

} // namespace iotrail::capture::snapshot
