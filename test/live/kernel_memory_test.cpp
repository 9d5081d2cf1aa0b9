// SPDX-License-Identifier: BSD-3-Clause
//
// Memory management that delays calls, in a control group and on a device of the test.
#include <fcntl.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <string>
#include <vector>

#include "evict.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"
#include "small_group.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint64_t kPageBytes4K = 4096;
constexpr std::size_t kChunkBytes = 64U << 10U;

// Settings of a device's write-back, restored at the end.
class DirtyLimit {
public:
  DirtyLimit(std::uint64_t device, std::uint64_t bytes)
      : directory_("/sys/class/bdi/" + std::to_string(device >> 20U) + ":" +
                   std::to_string(device & 0xfffffU)),
        ratio_(text_of(directory_ / "max_ratio_fine")) {
    is_set_ = write_text(directory_ / "strict_limit", "1") &&
              write_text(directory_ / "max_bytes", std::to_string(bytes));
  }
  ~DirtyLimit() {
    write_text(directory_ / "max_ratio_fine", ratio_);
    write_text(directory_ / "strict_limit", "0");
  }
  DirtyLimit(const DirtyLimit&) = delete;
  DirtyLimit& operator=(const DirtyLimit&) = delete;

  bool is_set() const { return is_set_; }

private:
  std::filesystem::path directory_;
  std::string ratio_;
  bool is_set_ = false;
};

int read_all(const std::string& path) {
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::array<char, kChunkBytes> chunk{};
  ssize_t bytes = 0;
  while ((bytes = ::read(file.get(), chunk.data(), chunk.size())) > 0) {
  }
  return bytes == 0 ? 0 : 1;
}

bool write_chunks(const std::string& path, std::size_t count) {
  const Fd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  const std::array<char, kChunkBytes> chunk{};
  for (std::size_t i = 0; i < count; ++i)
    if (::write(file.get(), chunk.data(), chunk.size()) != static_cast<ssize_t>(chunk.size()))
      return false;
  return true;
}

const Row* call_of(const std::vector<Row>& calls, const Row& event) {
  const auto call = std::ranges::find_if(
      calls, [&](const Row& row) { return row.u("op_id") == event.u("op_id"); });
  return call == calls.end() ? nullptr : &*call;
}

Recording record_memory(const std::function<int()>& body) {
  return Recording::among_others({.layers = {schema::Layer::memory, schema::Layer::syscall}}, body);
}

TEST(KernelMemory, memory_reclaim_in_a_control_group_that_is_full) {
  constexpr std::uint64_t kReadBytes = 64U << 20U;
  constexpr std::uint64_t kGroupBytes = 16U << 20U;
  const SmallGroup group(kGroupBytes);
  if (!group.refusal().empty())
    GTEST_SKIP() << group.refusal();
  const std::string path = // not in memory, as /tmp may be
      std::filesystem::current_path() / ("kernel-memory-" + std::to_string(::getpid()));
  ASSERT_TRUE(write_chunks(path, kReadBytes / kChunkBytes));
  ASSERT_TRUE(evict(path));
  const Recording recording = record_memory([&] { return group.enter() ? read_all(path) : 1; });
  std::filesystem::remove(path);
  SKIP_UNLESS_SERVED(recording, "memory_reclaim");
  EXPECT_EQ(recording.status(), 0);
  EXPECT_EQ(recording.lost(), 0U);
  const std::vector<Row> calls = recording.rows("syscall_read");
  std::uint64_t pages = 0;
  for (const Row& row : recording.rows("memory_reclaim")) {
    EXPECT_EQ(row.s("result"), 0);
    pages += row.u("pages");
    EXPECT_EQ(row.u("scope"), static_cast<std::uint64_t>(IOT_memory_scope_cgroup));
    EXPECT_LE(row.u("page_order"), 10U);
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording.pid()));
    const Row* call = call_of(calls, row);
    if (call == nullptr) // a fault on memory of the program
      continue;
    EXPECT_GE(row.u("ts_ns"), call->u("ts_ns"));
    EXPECT_LE(row.u("ts_ns") + row.u("duration_ns"), call->u("ts_ns") + call->u("duration_ns"));
  }
  // Each page beyond the limit replaced another one.
  EXPECT_GE(pages * kPageBytes4K, (kReadBytes - kGroupBytes) * 9 / 10);
  EXPECT_LE(pages * kPageBytes4K, kReadBytes * 2);
}

TEST(KernelMemory, memory_throttle_of_the_task_that_dirties_too_much) {
  constexpr std::uint64_t kLimitBytes = 1U << 20U;
  constexpr std::size_t kChunks = 256;
  constexpr int kPasses = 6;
  const ScratchDirectory scratch;
  const MountedFileSystem mounted(scratch / "disk", scratch / "mounted");
  if (!mounted.refusal().empty())
    GTEST_SKIP() << mounted.refusal();
  const DirtyLimit limit(mounted.device().device(), kLimitBytes);
  if (!limit.is_set())
    GTEST_SKIP() << "devices have no limit of their own before Linux 6.2";
  // A device that is fast at times may let a pass over the file go without a pause.
  const Recording recording = record_memory([&] {
    for (int pass = 0; pass < kPasses; ++pass)
      if (!write_chunks(mounted / "written", kChunks))
        return 1;
    return 0;
  });
  SKIP_UNLESS_SERVED(recording, "memory_throttle");
  EXPECT_EQ(recording.status(), 0);
  EXPECT_EQ(recording.lost(), 0U);
  const std::vector<Row> calls = recording.rows("syscall_write");
  const std::vector<Row>& pauses = recording.rows("memory_throttle");
  ASSERT_FALSE(pauses.empty());
  for (const Row& row : pauses) {
    constexpr std::uint64_t kLongestNs = 1'000'000'000; // the kernel pauses for 200 ms at most
    constexpr std::uint64_t kTickNs = 1'000'000;        // every kernel's tick is a multiple of it
    EXPECT_GT(row.u("pause_ns"), 0U);
    EXPECT_LT(row.u("pause_ns"), kLongestNs);
    EXPECT_EQ(row.u("pause_ns") % kTickNs, 0U);
    EXPECT_EQ(row.u("task_rate") % kPageBytes4K, 0U);
    EXPECT_GT(row.u("device_rate"), 0U);
    EXPECT_EQ(row.u("device_rate") % kPageBytes4K, 0U);
    EXPECT_LE(row.u("pages"), kChunks * kChunkBytes / kPageBytes4K);
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording.pid()));
    const Row* call = call_of(calls, row);
    ASSERT_NE(call, nullptr);
    EXPECT_GE(row.u("ts_ns"), call->u("ts_ns"));
    EXPECT_LE(row.u("ts_ns"), call->u("ts_ns") + call->u("duration_ns"));
  }
}

} // namespace
} // namespace iotrail::live
