// SPDX-License-Identifier: BSD-3-Clause
//
// The class of each bio, for known work on an ext4 and a device of the test.
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/swap.h>

#include <cstdlib>
#include <map>

#include "kernel_cold_file_fixture.hpp"
#include "small_group.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kWrittenPages = 7;
constexpr std::size_t kWrittenBytes = kWrittenPages * kCachePageBytes;

class KernelBlockClass : public KernelColdFileTest<kWrittenPages> {
protected:
  void record(const std::function<int()>& body) {
    recording_ = Recording::among_others(
        {.layers = {schema::Layer::syscall, schema::Layer::block, schema::Layer::fs}}, body);
    if (!recording_.refusal().empty())
      return;
    check_child_and_account();
  }

  // Bytes of each class that reached the file system's device.
  std::map<std::uint64_t, std::uint64_t> bytes_by_class() const {
    std::map<std::uint64_t, std::uint64_t> bytes;
    for (const Row& row : bios())
      bytes[row.u("io_class")] += row.u("bytes");
    return bytes;
  }
  std::vector<Row> bios() const {
    return recording_.rows("block_queue", "device", system_->device().device());
  }
  std::vector<Row> bios_of(iot_value io_class) const {
    std::vector<Row> rows = bios();
    std::erase_if(rows, [&](const Row& row) {
      return row.u("io_class") != static_cast<std::uint64_t>(io_class);
    });
    return rows;
  }

  using Bytes = std::map<std::uint64_t, std::uint64_t>;
  alignas(kCachePageBytes) char buffer_[kWrittenBytes] = {};
};

TEST_F(KernelBlockClass, block_queue_of_direct_io) {
  RECORD_EVENT("block_queue", [&] {
    const int fd = ::open(path_.c_str(), O_RDWR | O_DIRECT | O_CLOEXEC);
    return ::pwrite(fd, buffer_, kWrittenBytes, 0) == kWrittenBytes &&
                   ::pread(fd, buffer_, kCachePageBytes, kCachePageBytes) == kCachePageBytes
               ? 0
               : 1;
  });
  EXPECT_EQ(bytes_by_class(), (Bytes{{IOT_io_class_direct, kWrittenBytes + kCachePageBytes}}));
  for (const Row& row : bios()) {
    EXPECT_EQ(recording_.path(row.u("file")), path_);
    EXPECT_EQ(row.s("file_bytes"), static_cast<std::int64_t>(kWrittenBytes));
    EXPECT_EQ(row.s("offset"), -1);
    EXPECT_EQ(row.u("is_contiguous"), 0U);
    EXPECT_EQ(row.u("by_kernel_thread"), 0U);
  }
}

TEST_F(KernelBlockClass, block_queue_of_reads_into_the_cache) {
  RECORD_EVENT("block_queue", [&] {
    const int fd = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    return ::pread(fd, buffer_, kWrittenBytes, 0) == kWrittenBytes ? 0 : 1;
  });
  EXPECT_EQ(bytes_by_class(), (Bytes{{IOT_io_class_read_ahead, kWrittenBytes}}));
  for (const Row& row : bios()) {
    EXPECT_EQ(row.s("file_bytes"), static_cast<std::int64_t>(kWrittenBytes));
    EXPECT_EQ(row.u("is_contiguous"), 1U);
  }
}

// Inserting a range into a file separates blocks of the file that stay adjacent on the disk.
TEST_F(KernelBlockClass, block_queue_of_pages_that_are_no_range_of_their_file) {
  constexpr std::uint64_t kBefore = 3 * kCachePageBytes, kPutIn = 4 * kCachePageBytes;
  {
    const Fd file(::open(path_.c_str(), O_RDWR | O_CLOEXEC));
    ASSERT_EQ(::fallocate(file.get(), FALLOC_FL_INSERT_RANGE, kBefore, kPutIn), 0);
    ASSERT_EQ(::fsync(file.get()), 0);
  }
  RECORD_EVENT("block_queue", [&] {
    const int fd = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
    return ::pwrite(fd, buffer_, kBefore, 0) == static_cast<ssize_t>(kBefore) &&
                   ::pwrite(fd, buffer_, kWrittenBytes - kBefore, kBefore + kPutIn) ==
                       static_cast<ssize_t>(kWrittenBytes - kBefore) &&
                   ::fsync(fd) == 0
               ? 0
               : 1;
  });
  std::uint64_t bytes = 0;
  std::size_t apart = 0;
  for (const Row& row : bios_of(IOT_io_class_data)) {
    const std::uint64_t begin = row.u("offset"), end = begin + row.u("bytes");
    const bool is_range = end <= kBefore || begin >= kBefore + kPutIn;
    EXPECT_EQ(row.u("is_contiguous"), is_range ? 1U : 0U);
    EXPECT_EQ(row.u("by_kernel_thread"), 0U);
    apart += is_range ? 0 : 1;
    bytes += row.u("bytes");
  }
  EXPECT_EQ(bytes, kWrittenBytes);
  EXPECT_EQ(apart, 1U) << "ext4 makes one bio of what lies together on the disk";
}

// The journal's bytes match the commit.
TEST_F(KernelBlockClass, block_queue_of_data_and_journal) {
  RECORD_EVENT("block_queue", [&] {
    const int fd = ::open((*system_ / "new").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return ::pwrite(fd, buffer_, 3 * kCachePageBytes, 0) == 3 * kCachePageBytes && ::fsync(fd) == 0
               ? 0
               : 1;
  });
  Bytes bytes = bytes_by_class();
  EXPECT_EQ(bytes[IOT_io_class_data], 3 * kCachePageBytes);
  for (const Row& row : bios_of(IOT_io_class_data)) {
    EXPECT_EQ(recording_.path(row.u("file")), *system_ / "new");
    EXPECT_EQ(row.s("file_bytes"), static_cast<std::int64_t>(3 * kCachePageBytes));
  }
  SKIP_UNLESS_SERVED(recording_, "fs_journal_commit");
  std::uint64_t logged = 0;
  for (const Row& row : recording_.rows("fs_journal_commit", "device", system_->device().device()))
    logged += row.u("blocks_logged");
  EXPECT_EQ(bytes[IOT_io_class_journal], logged * kCachePageBytes);
  for (const Row& row : bios_of(IOT_io_class_journal)) {
    EXPECT_EQ(row.u("file"), 0U);
    EXPECT_EQ(row.s("file_bytes"), -1);
  }
  EXPECT_FALSE(bytes.contains(IOT_io_class_direct));
}

// In a recording of a disk, the journal's thread is traced like any other task.
TEST_F(KernelBlockClass, block_queue_of_a_journal_belongs_to_the_waiter_if_all_tasks_are_traced) {
  recording_ = Recording::of(
      [&](capture::SourceOptions& options, pid_t) {
        options.filter.layers = {schema::Layer::syscall, schema::Layer::block, schema::Layer::fs};
        options.filter.wanted.devices = {system_->device().path()};
      },
      [&] {
        const int fd = ::open((*system_ / "new").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        return ::pwrite(fd, buffer_, 1, 0) == 1 && ::fsync(fd) == 0 ? 0 : 1;
      });
  SKIP_UNLESS_SERVED(recording_, "block_queue");
  ASSERT_EQ(recording_.status(), 0);
  const std::vector<Row> syncs = recording_.rows_of_file("syscall_sync", *system_ / "new");
  ASSERT_EQ(syncs.size(), 1U);
  const std::vector<Row> written = bios_of(IOT_io_class_journal);
  EXPECT_FALSE(written.empty());
  for (const Row& row : written)
    EXPECT_EQ(row.u("op_id"), syncs[0].u("op_id"));
}

TEST_F(KernelBlockClass, block_queue_of_metadata) {
  const std::string directory = *system_ / "directory";
  ASSERT_EQ(::mkdir(directory.c_str(), 0700), 0);
  const std::string mounted = folder_ / "mounted";
  ASSERT_EQ(::umount(mounted.c_str()), 0);
  ASSERT_EQ(::mount(system_->device().path().c_str(), mounted.c_str(), "ext4", 0, nullptr), 0);
  RECORD_EVENT("block_queue", [&] {
    struct stat status{};
    return ::stat((directory + "/none").c_str(), &status) == -1 ? 0 : 1;
  });
  const Bytes bytes = bytes_by_class();
  ASSERT_EQ(bytes.size(), 1U) << "inodes and blocks of directories, and nothing else";
  EXPECT_GT(bytes.at(IOT_io_class_metadata), 0U);
  for (const Row& row : bios())
    EXPECT_EQ(row.s("file_bytes"), -1);
}

TEST_F(KernelBlockClass, block_queue_of_a_device_itself) {
  constexpr std::uint64_t kFarPage = 4096; // beyond the file system's cached metadata
  RECORD_EVENT("block_queue", [&] {
    const int fd = ::open(system_->device().path().c_str(), O_RDONLY | O_CLOEXEC);
    return ::pread(fd, buffer_, kCachePageBytes, kFarPage * kCachePageBytes) == kCachePageBytes ? 0
                                                                                                : 1;
  });
  const Bytes bytes = bytes_by_class();
  ASSERT_EQ(bytes.size(), 1U);
  EXPECT_GE(bytes.at(IOT_io_class_device), kCachePageBytes);
  for (const Row& row : bios())
    EXPECT_EQ(row.s("file_bytes"), -1);
}

TEST_F(KernelBlockClass, block_queue_without_data) {
  const ScratchDirectory folder;
  std::ofstream{folder / "disk"}.close();
  std::filesystem::resize_file(folder / "disk", 1U << 20U);
  const LoopDevice device(folder / "disk", 512);
  ASSERT_EQ(device.refusal(), "");
  RECORD_EVENT("block_queue", [&] {
    const int fd = ::open(device.path().c_str(), O_RDWR | O_CLOEXEC);
    std::uint64_t range[] = {0, 64U << 10U};
    return ::ioctl(fd, BLKDISCARD, range) == 0 && ::fsync(fd) == 0 ? 0 : 1;
  });
  const std::vector<Row> rows = recording_.rows("block_queue", "device", device.device());
  ASSERT_EQ(rows.size(), 2U);
  for (const Row& row : rows)
    EXPECT_EQ(row.u("io_class"), static_cast<std::uint64_t>(IOT_io_class_no_data));
}

// Writes and reads twice as much memory as the group has.
TEST_F(KernelBlockClass, block_queue_of_swap) {
  if (!is_emulated())
    GTEST_SKIP()
        << "others might be swapped to the test's device, so that it is tried in emulated machines";
  constexpr std::size_t kGroupBytes = 16U << 20U;
  const SmallGroup group(kGroupBytes);
  if (!group.refusal().empty())
    GTEST_SKIP() << group.refusal();
  const std::string& device = system_->device().path();
  ASSERT_EQ(::umount((folder_ / "mounted").c_str()), 0);
  if (std::system(("mkswap " + device + " >/dev/null 2>&1").c_str()) != 0 ||
      ::swapon(device.c_str(), 0) != 0)
    GTEST_SKIP() << "no swap area can be made here";
  record([&] {
    if (!group.enter())
      return 1;
    char* memory = static_cast<char*>(::mmap(nullptr, 2 * kGroupBytes, PROT_READ | PROT_WRITE,
                                             MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    int sum = 0;
    for (std::size_t at = 0; at < 2 * kGroupBytes; at += kCachePageBytes)
      memory[at] = 1;
    for (std::size_t at = 0; at < 2 * kGroupBytes; at += kCachePageBytes)
      sum += memory[at];
    return sum == 2 * kGroupBytes / kCachePageBytes ? 0 : 1;
  });
  ::swapoff(device.c_str());
  SKIP_UNLESS_SERVED(recording_, "block_queue");
  Bytes bytes = bytes_by_class();
  EXPECT_EQ(bytes.size(), 1U);
  EXPECT_GT(bytes[IOT_io_class_swap], kGroupBytes);
  std::uint64_t read_bytes = 0;
  for (const Row& row : bios())
    if ((row.u("flags") & 0xff) == IOT_block_read)
      read_bytes += row.u("bytes");
  EXPECT_GT(read_bytes, 0U);
}

} // namespace
} // namespace iotrail::live
