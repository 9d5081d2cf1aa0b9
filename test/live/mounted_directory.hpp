// SPDX-License-Identifier: BSD-3-Clause
//
// For the tests: a directory that is mounted and recorded, and a plain one as the model.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "capture/fuse/fuse_source.hpp"
#include "capture/session/recorder.hpp"
#include "store/reader/trace_reader.hpp"

namespace iotrail::capture::fuse {

namespace fs = std::filesystem;

class Mounted : public testing::Test {
protected:
  void SetUp() override {
    if (::geteuid() != 0 || ::access("/dev/fuse", R_OK | W_OK) != 0)
      GTEST_SKIP() << "needs root and /dev/fuse";
    base_ = fs::temp_directory_path() / fmt::format("iotrail-fuse-{}", ::getpid());
    fs::remove_all(base_);
    for (const char* name : {"backend", "point", "model"})
      fs::create_directories(base_ / name);
    options_.backend = base_ / "backend";
    options_.point = base_ / "point";
  }

  void begin() {
    std::vector<std::unique_ptr<Source>> sources;
    sources.push_back(make_fuse_source(options_));
    RecordingRequest request;
    request.filter.layers = {schema::Layer::fuse};
    request.trace = trace();
    auto recorder = Recorder::open(recorder_options(request), std::move(sources));
    ASSERT_TRUE(recorder) << recorder.error().message();
    recorder_ = std::move(*recorder);
    const Result<void> started = recorder_->start();
    ASSERT_TRUE(started) << started.error().message();
    thread_ = std::thread([this] {
      while (!is_ended_) {
        const Step step = recorder_->step(monotonic_ns());
        std::this_thread::sleep_for(std::chrono::milliseconds(wait_ms(step)));
      }
    });
  }

  // Unmounts; the error is one of Recorder::stop().
  Result<void> finish() {
    is_ended_ = true;
    if (thread_.joinable())
      thread_.join();
    return recorder_->stop({.reason = "test"});
  }

  void TearDown() override {
    if (thread_.joinable())
      (void)finish();
    recorder_.reset();
    if (!base_.empty() && !HasFailure())
      fs::remove_all(base_);
  }

  fs::path trace() const { return base_ / "trace.iotrail"; }
  fs::path point(const std::string& name = {}) const { return options_.point / name; }
  fs::path model(const std::string& name = {}) const { return base_ / "model" / name; }

  fs::path base_;
  MountOptions options_;
  std::unique_ptr<Recorder> recorder_;
  std::thread thread_;
  std::atomic<bool> is_ended_{false};
};

} // namespace iotrail::capture::fuse
