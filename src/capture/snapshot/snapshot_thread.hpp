// SPDX-License-Identifier: BSD-3-Clause
//
// The thread that takes the snapshots of one kind, once or periodically.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "capture/snapshot/files/file_baseline.hpp"
#include "capture/snapshot/processes.hpp"
#include "capture/snapshot/rows/row_queue.hpp"
#include "capture/snapshot/rows/snapshot_run.hpp"
#include "capture/vm/open_images.hpp"

namespace iotrail::capture::snapshot {

// State that all threads of a recording share.
struct Shared {
  RowQueue queue;
  Counters counters;
  std::atomic<iot_u32> snapshots{0};  // begun
  std::atomic<std::size_t> active{0}; // threads that are still running
  std::atomic<bool> is_stopping{false};
  std::mutex mutex; // for the wait for the next snapshot
  std::condition_variable wake;
};

struct SnapshotTask {
  iot_u32 kind = 0;
  std::string root; // for a file system: absolute, without links
  std::uint64_t period_ns = 0;
  bool keeps_arguments = true; // of processes
  bool is_continued = false;   // the first one is a delta of `baseline`,
  std::string base{};          // which comes from the trace with this id
  FileBaseline baseline{};
  std::optional<vm::OpenImages> machine{}; // for a virtual machine
};

class SnapshotThread {
public:
  SnapshotThread(Shared& shared, SnapshotTask task)
      : shared_(shared), task_(std::move(task)), processes_("/proc", task_.keeps_arguments) {}
  SnapshotThread(const SnapshotThread&) = delete;
  SnapshotThread& operator=(const SnapshotThread&) = delete;
  ~SnapshotThread() { join(); }

  void start();
  void join(); // call it after setting shared.is_stopping

private:
  void run();
  void run_periodically();
  void run_at_both_ends();
  void take();
  bool take_rows(SnapshotRun& run);
  bool take_machine(SnapshotRun& run);
  void begin(SnapshotRun& run);
  bool wait_until(std::uint64_t due_ns);
  bool sleep_until(std::uint64_t due_ns);
  bool is_delta() const { return task_.is_continued || taken_ > 0; }

  Shared& shared_;
  SnapshotTask task_;
  Processes processes_;
  std::uint64_t taken_ = 0;
  std::thread thread_;
};

} // namespace iotrail::capture::snapshot
