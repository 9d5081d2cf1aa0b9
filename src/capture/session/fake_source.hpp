// SPDX-License-Identifier: BSD-3-Clause
//
// A source for tests of the recorder: it makes a known number of writes, loses some, and fails on
// request.
#pragma once

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "capture/source.hpp"

namespace iotrail::capture {

// Instructions for a fake source. The test and the source share it, so that the test can change it
// between steps and read it afterwards.
struct FakeWork {
  std::string_view name = "preload";
  std::uint64_t produced = 0;
  std::uint64_t lost = 0; // of these, the last ones: the ring was full
  std::uint64_t longest_lost_ns = 0;
  std::uint64_t after_stop = 0;   // of these, delivered only after stop()
  std::uint64_t each_drain = 100; // maximum number of events for one drain()
  std::string fails_at{};         // "open", "start", "follow", "stop"
  bool is_started = false;
  pid_t followed = 0;
  bool is_stopped = false;
  int raised_at_stop = 0; // a signal that arrives while the source stops
};

class FakeSource : public Source {
public:
  explicit FakeSource(std::shared_ptr<FakeWork> work) : work_(std::move(work)) {}

  std::string_view name() const override { return work_->name; }
  Result<void> open(const SourceOptions&) override { return result_of("open"); }
  std::vector<std::string> child_environment() const override { return {"FAKE_SOURCE=here"}; }
  Result<void> start() override {
    work_->is_started = true;
    return result_of("start");
  }
  Result<void> follow(pid_t pid) override {
    work_->followed = pid;
    return result_of("follow");
  }
  std::size_t drain(store::TraceWriter& writer) override {
    const std::uint64_t delivered =
        work_->produced - work_->lost - (work_->is_stopped ? 0 : work_->after_stop);
    const std::uint64_t now = std::min(delivered, drained_ + work_->each_drain);
    const std::uint64_t before = std::exchange(drained_, now);
    for (std::uint64_t number = before; number < now; ++number)
      append(number, writer);
    return now - before;
  }
  Result<void> stop() override {
    work_->is_stopped = true;
    if (work_->raised_at_stop != 0)
      ::kill(::getpid(), work_->raised_at_stop);
    return result_of("stop");
  }
  std::uint64_t produced() const override { return work_->produced; }
  std::vector<CounterValue> counters() const override {
    if (work_->name == "preload")
      return {{IOT_COUNTER_preload_ring_full, IOT_LAYER_app, work_->lost}};
    return {{IOT_COUNTER_kernel_ring_full, IOT_LAYER_syscall, work_->lost}};
  }
  std::uint64_t longest_lost_ns() const override { return work_->longest_lost_ns; }
  std::vector<store::HookReport> hooks() const override {
    return {{"app_write", std::string(work_->name), "", "fake", "", ""}};
  }
  std::size_t ring_memory_bytes() const override { return drained_ == 0 ? 4096 : 8192; }

private:
  Result<void> result_of(std::string_view call) const {
    return work_->fails_at == call ? fail("fake source", "not permitted") : Result<void>{};
  }
  void append(std::uint64_t number, store::TraceWriter& writer) const {
    const iot_event header{.ts_ns = monotonic_ns(),
                           .op_id = number + 1,
                           .parent_op = 0,
                           .pid = 1,
                           .tid = 1,
                           .cpu = IOT_CPU_UNKNOWN,
                           .kind = IOT_KIND_app_write,
                           .tag = 0};
    if (work_->name == "preload") {
      iot_app_write write{};
      write.event = header;
      writer.append(write.event);
      return;
    }
    iot_syscall_write write{};
    write.event = header;
    write.event.kind = IOT_KIND_syscall_write;
    writer.append(write.event);
  }

  std::shared_ptr<FakeWork> work_;
  std::uint64_t drained_ = 0;
};

inline std::vector<std::unique_ptr<Source>>
fake_sources(const std::vector<std::shared_ptr<FakeWork>>& works) {
  std::vector<std::unique_ptr<Source>> sources;
  for (const auto& work : works)
    sources.push_back(std::make_unique<FakeSource>(work));
  return sources;
}

} // namespace iotrail::capture
