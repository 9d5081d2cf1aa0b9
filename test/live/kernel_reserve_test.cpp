// SPDX-License-Identifier: BSD-3-Clause
//
// Space that ext4 reserves for data without a position yet, compared with ext4's own counters.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "block_device.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint64_t kBlockBytes = 4096;
constexpr std::uint64_t kBlocks = 24;
constexpr std::uint64_t kKeptBlocks = 10;

// ext4's reserved bytes on the whole disk, at each step of the child.
struct Steps {
  std::uint64_t after_write;
  std::uint64_t after_truncate;
  std::uint64_t after_sync;
};

class KernelReserve : public testing::Test {
protected:
  KernelReserve()
      : steps_(static_cast<Steps*>(::mmap(nullptr, sizeof(Steps), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {}
  ~KernelReserve() override { ::munmap(steps_, sizeof(Steps)); }

  // Empty: recorded.
  std::string record(const std::string& more_format, const std::string& options) {
    FileSystemKind kind = kJournalledExt4;
    kind.format += more_format;
    kind.options = options;
    mounted_.emplace(scratch_ / "disk", scratch_ / "mounted", kind);
    if (!mounted_->refusal().empty())
      return mounted_->refusal();
    counted_ = "/sys/fs/ext4/" + mounted_->device().name() + "/delayed_allocation_blocks";
    file_ = *mounted_ / "file";
    recording_ = Recording::among_others(
        {.events = {"fs_reserve", "syscall_write", "syscall_truncate", "syscall_sync"}},
        [this] { return use_file(); });
    return {};
  }

  std::uint64_t counted_bytes() const { return std::stoull(text_of(counted_)) * kBlockBytes; }

  int use_file() const {
    const Fd file(::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    const std::vector<char> bytes(kBlocks * kBlockBytes, 'x');
    if (::write(file.get(), bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()))
      return 1;
    steps_->after_write = counted_bytes();
    if (::ftruncate(file.get(), kKeptBlocks * kBlockBytes) != 0)
      return 1;
    steps_->after_truncate = counted_bytes();
    if (::fsync(file.get()) != 0)
      return 1;
    steps_->after_sync = counted_bytes();
    return 0;
  }

  // Bytes that the events of a kind reserve for the file, each of them in `call`.
  std::uint64_t bytes_of(iot_u32 change, const std::string& call) {
    const std::vector<Row> calls = recording_.rows_of_file(call, file_);
    EXPECT_EQ(calls.size(), 1U) << call;
    std::uint64_t bytes = 0;
    for (const Row& row : recording_.rows_of_file("fs_reserve", file_)) {
      if (row.u("change") != change)
        continue;
      bytes += row.u("bytes");
      EXPECT_EQ(row.u("device"), mounted_->device().device());
      EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
      EXPECT_EQ(row.u("op_id"), calls.empty() ? 0 : calls[0].u("op_id"));
    }
    return bytes;
  }

  // Each event has the number of bytes reserved after it.
  void check_running_count() const {
    std::uint64_t reserved = 0;
    for (const Row& row : recording_.rows_of_file("fs_reserve", file_)) {
      const bool is_more =
          row.u("change") == static_cast<std::uint64_t>(IOT_fs_reservation_reserved);
      reserved += is_more ? row.u("bytes") : 0 - row.u("bytes");
      EXPECT_EQ(row.u("reserved_bytes"), reserved);
    }
    EXPECT_EQ(reserved, 0U);
  }

  void check_against_count() {
    EXPECT_EQ(recording_.status(), 0);
    EXPECT_EQ(recording_.lost(), 0U);
    EXPECT_EQ(recording_.produced(), recording_.written());
    EXPECT_GT(steps_->after_write, steps_->after_truncate);
    EXPECT_GT(steps_->after_truncate, 0U);
    EXPECT_EQ(steps_->after_sync, 0U);
    EXPECT_EQ(bytes_of(IOT_fs_reservation_reserved, "syscall_write"), steps_->after_write);
    EXPECT_EQ(bytes_of(IOT_fs_reservation_released, "syscall_truncate"),
              steps_->after_write - steps_->after_truncate);
    EXPECT_EQ(bytes_of(IOT_fs_reservation_placed, "syscall_sync"), steps_->after_truncate);
    check_running_count();
  }

  ScratchDirectory scratch_;
  std::optional<MountedFileSystem> mounted_;
  std::string counted_;
  std::string file_;
  Steps* steps_;
  Recording recording_;
};

TEST_F(KernelReserve, fs_reserve_until_data_has_its_place) {
  if (const std::string refusal = record("", ""); !refusal.empty())
    GTEST_SKIP() << refusal;
  SKIP_UNLESS_SERVED(recording_, "fs_reserve");
  check_against_count();
  EXPECT_EQ(steps_->after_write, kBlocks * kBlockBytes);
  EXPECT_EQ(steps_->after_truncate, kKeptBlocks * kBlockBytes);
}

TEST_F(KernelReserve, fs_reserve_of_whole_clusters) {
  constexpr std::uint64_t kClusterBytes = 4 * kBlockBytes;
  if (const std::string refusal = record(" -O bigalloc -C " + std::to_string(kClusterBytes), "");
      !refusal.empty())
    GTEST_SKIP() << refusal;
  SKIP_UNLESS_SERVED(recording_, "fs_reserve");
  check_against_count();
  for (const Row& row : recording_.rows_of_file("fs_reserve", file_))
    EXPECT_EQ(row.u("bytes") % kClusterBytes, 0U);
}

TEST_F(KernelReserve, fs_reserve_not_without_delayed_allocation) {
  if (const std::string refusal = record("", "nodelalloc"); !refusal.empty())
    GTEST_SKIP() << refusal;
  SKIP_UNLESS_SERVED(recording_, "fs_reserve");
  EXPECT_EQ(recording_.status(), 0);
  EXPECT_EQ(steps_->after_write, 0U);
  EXPECT_TRUE(recording_.rows_of_file("fs_reserve", file_).empty());
}

} // namespace
} // namespace iotrail::live
