// SPDX-License-Identifier: BSD-3-Clause
//
// Reports of ext4, xfs and btrfs: the positions of a file's data, compared with FIEMAP, and the
// commits of their changes.
#include <linux/fiemap.h>
#include <linux/fs.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>

#include "await.hpp"
#include "base/clock.hpp"
#include "base/process.hpp"
#include "block_device.hpp"
#include "bystander.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint64_t kBlockSize = 4096;
constexpr std::uint64_t kAppendBytes = 16 * kBlockSize;
constexpr std::uint64_t kWholeBytes = 16 * kAppendBytes;

// The extents of a file, in memory shared by the child and the test.
constexpr std::uint32_t kExtentsMost = 128;
struct FileMap {
  alignas(fiemap) std::byte bytes[sizeof(fiemap) + kExtentsMost * sizeof(fiemap_extent)];

  fiemap* head() { return reinterpret_cast<fiemap*>(bytes); }
  std::span<const fiemap_extent> rows() {
    return {reinterpret_cast<const fiemap_extent*>(bytes + sizeof(fiemap)),
            head()->fm_mapped_extents};
  }
};

// 0: success. Call it before the file is closed, since xfs then frees space that it took in
// advance. FIEMAP_FLAG_SYNC: btrfs adds the extent of a direct write only after the write has
// returned.
int read_map(int fd, FileMap& map) {
  *map.head() = {};
  map.head()->fm_flags = FIEMAP_FLAG_SYNC;
  map.head()->fm_length = FIEMAP_MAX_OFFSET;
  map.head()->fm_extent_count = kExtentsMost;
  return ::ioctl(fd, FS_IOC_FIEMAP, &map);
}

int open_new(const std::string& path, int flags = 0) {
  return ::open(path.c_str(), O_CREAT | O_RDWR | O_CLOEXEC | flags, 0600);
}

// 0: success.
int write_at(int fd, std::uint64_t offset, std::uint64_t bytes) {
  static char* const aligned = static_cast<char*>(std::aligned_alloc(kBlockSize, kWholeBytes));
  std::fill_n(aligned, bytes, 'x');
  return ::pwrite(fd, aligned, bytes, static_cast<off_t>(offset)) == static_cast<ssize_t>(bytes)
             ? 0
             : 1;
}

// For each block of a file, its block on the disk.
using Blocks = std::map<std::uint64_t, std::uint64_t>;

Blocks blocks_of(const std::vector<Row>& rows) {
  Blocks blocks;
  for (const Row& row : rows)
    for (std::uint64_t at = 0; at < row.u("bytes"); at += kBlockSize)
      EXPECT_TRUE(blocks.emplace(row.u("offset") + at, row.u("disk_offset") + at).second)
          << "recorded twice: " << row.u("offset") + at;
  return blocks;
}

Blocks blocks_of(FileMap& map) {
  Blocks blocks;
  for (const fiemap_extent& extent : map.rows())
    for (std::uint64_t at = 0; at < extent.fe_length; at += kBlockSize)
      blocks.emplace(extent.fe_logical + at, extent.fe_physical + at);
  return blocks;
}

class KernelFileSystems : public testing::Test {
protected:
  KernelFileSystems()
      : map_(static_cast<FileMap*>(::mmap(nullptr, sizeof(FileMap), PROT_READ | PROT_WRITE,
                                          MAP_SHARED | MAP_ANONYMOUS, -1, 0))) {
    IOTRAIL_CHECK(map_ != MAP_FAILED);
  }
  ~KernelFileSystems() override { ::munmap(map_, sizeof(FileMap)); }

  // Empty: the file system can be recorded.
  std::string mount(const FileSystemKind& kind) {
    system_.emplace(folder_ / "disk", folder_ / "mounted", kind);
    if (!system_->refusal().empty())
      return system_->refusal();
    kind_ = kind;
    file_ = *system_ / "file";
    device_ = system_->file_system_device();
    before_ns_ = monotonic_ns();
    return {};
  }

  void record(const std::function<int()>& body) {
    recording_ = record_on(kind_, {.layers = {schema::Layer::syscall, schema::Layer::fs}}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.status(), 0) << "the child failed";
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
    EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_allocation_untracked), 0U);
  }

  // The file's allocations, after a check of the fields that all of them share.
  std::vector<Row> allocations(std::uint64_t allocation) const {
    std::vector<Row> rows = recording_.rows_of_file("fs_allocate", file_);
    EXPECT_FALSE(rows.empty());
    for (const Row& row : rows) {
      EXPECT_GT(row.u("ts_ns"), before_ns_);
      EXPECT_LT(row.u("ts_ns"), monotonic_ns());
      EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
      EXPECT_EQ(row.u("device"), device_);
      EXPECT_EQ(row.u("allocation"), allocation);
    }
    return rows;
  }

  // Checks that all rows belong to calls of the child in `table`, and that there are `calls` of
  // them.
  void expect_under(const std::vector<Row>& rows, const std::string& table, std::size_t calls) {
    std::map<std::uint64_t, Row> by_op;
    for (const Row& call : recording_.rows_of_file(table, file_))
      by_op[call.u("op_id")] = call;
    EXPECT_EQ(by_op.size(), calls);
    for (const Row& row : rows) {
      EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
      EXPECT_EQ(row.u("tid"), static_cast<std::uint64_t>(recording_.pid()));
      ASSERT_TRUE(by_op.contains(row.u("op_id")));
      const Row& call = by_op[row.u("op_id")];
      EXPECT_EQ(row.u("parent_op"), call.u("parent_op"));
      EXPECT_GT(row.u("ts_ns"), call.u("ts_ns"));
      EXPECT_LT(row.u("ts_ns"), call.u("ts_ns") + call.u("duration_ns"));
    }
  }

  void expect_plain(const std::vector<Row>& rows) const {
    for (const Row& row : rows) {
      EXPECT_EQ(row.u("disk_bytes"), row.u("bytes"));
      EXPECT_EQ(row.u("compression"), static_cast<std::uint64_t>(IOT_fs_compression_none));
    }
    EXPECT_EQ(blocks_of(rows), blocks_of(*map_));
  }

  ScratchDirectory folder_;
  std::optional<MountedFileSystem> system_;
  FileSystemKind kind_;
  std::string file_;
  std::uint64_t device_ = 0;
  std::uint64_t before_ns_ = 0;
  Recording recording_;
  FileMap* map_;
};

class EachFileSystem : public KernelFileSystems,
                       public testing::WithParamInterface<FileSystemKind> {
protected:
  bool is(const FileSystemKind& kind) const { return GetParam().name == kind.name; }
};

#define MOUNT(kind)                                                                                \
  do {                                                                                             \
    if (const std::string refusal = mount(kind); !refusal.empty())                                 \
      GTEST_SKIP() << refusal;                                                                     \
  } while (false)

// On the mounted file system.
#define RECORD_ON_IT(event, ...)                                                                   \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    SKIP_UNLESS_SERVED(recording_, event);                                                         \
    if (recording_.hook_of(event).hook.find(kind_.name) == std::string::npos)                      \
      GTEST_SKIP() << recording_.hook_of(event).reason;                                            \
  } while (false)

INSTANTIATE_TEST_SUITE_P(KernelFileSystems, EachFileSystem, testing::Values(kExt4, kXfs, kBtrfs),
                         [](const auto& of) { return of.param.name; });

TEST_P(EachFileSystem, fs_allocate_of_buffered_writes) {
  MOUNT(GetParam());
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    int result = 0;
    for (std::uint64_t at = 0; at < kWholeBytes; at += kAppendBytes)
      result += write_at(fd, at, kAppendBytes);
    return result + ::fsync(fd) + read_map(fd, *map_);
  });
  const std::vector<Row> rows =
      allocations(is(kBtrfs) ? IOT_fs_allocation_written : IOT_fs_allocation_unwritten);
  expect_under(rows, "syscall_sync", 1);
  expect_plain(rows);
}

TEST_P(EachFileSystem, fs_allocate_of_direct_writes) {
  constexpr std::uint64_t kWrites = 4;
  MOUNT(GetParam());
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_, O_DIRECT);
    int result = 0;
    for (std::uint64_t at = 0; at < kWrites; ++at)
      result += write_at(fd, at * kAppendBytes, kAppendBytes);
    return result + read_map(fd, *map_);
  });
  const std::vector<Row> rows =
      allocations(is(kXfs) ? IOT_fs_allocation_unwritten : IOT_fs_allocation_written);
  expect_under(rows, "syscall_write", kWrites);
  expect_plain(rows);
}

TEST_P(EachFileSystem, fs_allocate_of_space_reserved_and_then_written) {
  MOUNT(GetParam());
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    return ::fallocate(fd, 0, kAppendBytes, kWholeBytes) + write_at(fd, kWholeBytes / 2, 10) +
           write_at(fd, kAppendBytes, kAppendBytes) + ::fsync(fd) + read_map(fd, *map_);
  });
  const std::vector<Row> rows = allocations(IOT_fs_allocation_unwritten);
  expect_under(rows, "syscall_truncate", 1);
  expect_plain(rows);
}

TEST_P(EachFileSystem, fs_allocate_of_appends) {
  constexpr std::uint64_t kAppends = 8;
  MOUNT(GetParam());
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    int result = 0;
    for (std::uint64_t at = 0; at < kAppends; ++at)
      result += write_at(fd, at * kBlockSize, kBlockSize) + ::fsync(fd);
    return result + read_map(fd, *map_);
  });
  const std::vector<Row> rows =
      allocations(is(kBtrfs) ? IOT_fs_allocation_written : IOT_fs_allocation_unwritten);
  expect_under(rows, "syscall_sync", kAppends);
  expect_plain(rows);
}

TEST_P(EachFileSystem, fs_allocate_by_a_thread_of_the_kernel) {
  MOUNT(GetParam());
  Bystander bystander([&] {
    const int fd = open_new(*system_ / "other");
    return write_at(fd, 0, kAppendBytes) + ::close(fd);
  });
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    return write_at(fd, 0, kWholeBytes) + (bystander.work() ? 0 : 1) + ::syncfs(fd) +
           read_map(fd, *map_);
  });
  const std::vector<Row> rows =
      allocations(is(kBtrfs) ? IOT_fs_allocation_written : IOT_fs_allocation_unwritten);
  expect_plain(rows);
  for (const Row& row : rows) {
    EXPECT_EQ(row.u("op_id"), 0U);
    EXPECT_EQ(row.u("parent_op"), 0U);
    EXPECT_EQ(row.u("pid"), row.u("tid"));
    EXPECT_TRUE(text_of("/proc/" + std::to_string(row.u("tid")) + "/comm").starts_with("kworker/"));
  }
  EXPECT_EQ(recording_.rows("fs_allocate").size(), rows.size()) << "the bystander's, too";
}

TEST_F(KernelFileSystems, fs_allocate_on_ext4_without_extents) {
  const FileSystemKind kind{"ext4", "-q -b 4096 -O ^extents,^64bit"};
  MOUNT(kind);
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    return write_at(fd, 0, kWholeBytes) + ::fsync(fd) + read_map(fd, *map_);
  });
  const std::vector<Row> rows = allocations(IOT_fs_allocation_written);
  expect_under(rows, "syscall_sync", 1);
  expect_plain(rows);
}

TEST_F(KernelFileSystems, fs_allocate_within_a_cluster_that_the_file_has) {
  const FileSystemKind kind{"ext4", "-q -b 4096 -O bigalloc -C 65536"};
  MOUNT(kind);
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    return write_at(fd, 0, kBlockSize) + ::fsync(fd) + write_at(fd, 3 * kBlockSize, kBlockSize) +
           ::fsync(fd) + read_map(fd, *map_);
  });
  const std::vector<Row> rows = allocations(IOT_fs_allocation_unwritten);
  ASSERT_EQ(rows.size(), 2U);
  expect_under(rows, "syscall_sync", 2);
  expect_plain(rows);
  EXPECT_EQ(rows[1].u("disk_offset"), rows[0].u("disk_offset") + 3 * kBlockSize);
}

TEST_F(KernelFileSystems, fs_allocate_beside_a_shared_range) {
  MOUNT(kXfs);
  RECORD_ON_IT("fs_allocate", [&] {
    const int from = open_new(*system_ / "shared");
    const int fd = open_new(file_);
    return write_at(from, 0, kWholeBytes) + ::fsync(from) + ::ioctl(fd, FICLONE, from) +
           write_at(fd, kAppendBytes, kBlockSize) + ::fsync(fd) + read_map(fd, *map_);
  });
  const std::vector<Row> rows = allocations(IOT_fs_allocation_copy_on_write);
  expect_under(rows, "syscall_sync", 1);
  const Blocks recorded = blocks_of(rows);
  const Blocks found = blocks_of(*map_);
  ASSERT_TRUE(recorded.contains(kAppendBytes));
  EXPECT_EQ(recorded.at(kAppendBytes), found.at(kAppendBytes));
  EXPECT_NE(recorded.at(kAppendBytes), found.at(kAppendBytes - kBlockSize) + kBlockSize);
}

TEST_F(KernelFileSystems, fs_allocate_of_compressed_data) {
  FileSystemKind kind = kBtrfs;
  kind.options = "compress=zstd";
  MOUNT(kind);
  RECORD_ON_IT("fs_allocate", [&] {
    const int fd = open_new(file_);
    return write_at(fd, 0, kWholeBytes) + ::fsync(fd) + read_map(fd, *map_);
  });
  using Place = std::tuple<std::uint64_t, std::uint64_t, std::uint64_t>;
  std::set<Place> recorded;
  std::set<Place> found;
  for (const Row& row : allocations(IOT_fs_allocation_written)) {
    recorded.emplace(row.u("offset"), row.u("bytes"), row.u("disk_offset"));
    EXPECT_EQ(row.u("compression"), static_cast<std::uint64_t>(IOT_fs_compression_zstd));
    EXPECT_EQ(row.u("disk_bytes"), kBlockSize);
  }
  for (const fiemap_extent& extent : map_->rows())
    found.emplace(extent.fe_logical, extent.fe_length, extent.fe_physical);
  EXPECT_EQ(recorded, found);
}

TEST_F(KernelFileSystems, fs_log_force_of_a_file_and_of_all) {
  MOUNT(kXfs);
  RECORD_ON_IT("fs_log_force", [&] {
    const int fd = open_new(file_);
    return write_at(fd, 0, kBlockSize) + ::fsync(fd) + write_at(fd, 0, kBlockSize) + ::syncfs(fd);
  });
  const std::vector<Row> calls = recording_.rows_of_file("syscall_sync", file_);
  ASSERT_EQ(calls.size(), 2U);
  for (std::size_t at = 0; at < calls.size(); ++at) {
    const std::vector<Row> rows = recording_.rows("fs_log_force", "op_id", calls[at].u("op_id"));
    ASSERT_EQ(rows.size(), 1U) << "xfs reports each force twice";
    for (const Row& row : rows) {
      EXPECT_GT(row.u("ts_ns"), calls[at].u("ts_ns"));
      EXPECT_LT(row.u("ts_ns"), calls[at].u("ts_ns") + calls[at].u("duration_ns"));
      EXPECT_EQ(row.u("parent_op"), calls[at].u("parent_op"));
      EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
      EXPECT_EQ(row.u("tid"), static_cast<std::uint64_t>(recording_.pid()));
      EXPECT_EQ(row.u("device"), device_);
      EXPECT_EQ(row.u("kernel_thread"), 0U);
    }
    const bool is_of_all = at == 1;
    EXPECT_EQ(is_of_all,
              std::ranges::any_of(rows, [](const Row& row) { return row.u("sequence") == 0; }));
  }
}

// The last transaction, from the superblock on the disk.
std::uint64_t last_btrfs_transaction(const std::string& disk) {
  constexpr std::streamoff kGeneration = 0x10000 + 0x48;
  std::ifstream file(disk, std::ios::binary);
  std::uint64_t number = 0;
  file.seekg(kGeneration).read(reinterpret_cast<char*>(&number), sizeof(number));
  return number;
}

TEST_F(KernelFileSystems, fs_transaction_commit_of_a_sync) {
  MOUNT(kBtrfs);
  RECORD_ON_IT("fs_transaction_commit", [&] {
    const int fd = open_new(file_);
    return write_at(fd, 0, kBlockSize) + ::syncfs(fd);
  });
  const std::uint64_t last = last_btrfs_transaction(folder_ / "disk");
  const std::vector<Row> calls = recording_.rows_of_file("syscall_sync", file_);
  ASSERT_EQ(calls.size(), 1U);
  const std::vector<Row>& rows = recording_.rows("fs_transaction_commit");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].u("op_id"), calls[0].u("op_id"));
  EXPECT_EQ(rows[0].u("parent_op"), calls[0].u("parent_op"));
  EXPECT_EQ(rows[0].u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_EQ(rows[0].u("tid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_GT(rows[0].u("ts_ns"), calls[0].u("ts_ns"));
  EXPECT_LT(rows[0].u("ts_ns"), calls[0].u("ts_ns") + calls[0].u("duration_ns"));
  EXPECT_EQ(rows[0].u("transaction"), last);
  EXPECT_EQ(rows[0].u("device"), device_);
  EXPECT_EQ(rows[0].u("kernel_thread"), 0U);
}

// Waits until a thread of the kernel has committed the running transaction: the next one is on the
// disk, and the threads that commit sleep again.
bool await_btrfs_commit(const std::string& disk) {
  const std::uint64_t before = last_btrfs_transaction(disk);
  return await([&] { return last_btrfs_transaction(disk) > before; }) && await([] {
           return std::ranges::none_of(running_processes(), [](const RunningProcess& process) {
             return comm_of(process.pid).starts_with("btrfs-transacti") &&
                    state_of(process.pid) != 'S';
           });
         });
}

TEST_F(KernelFileSystems, fs_transaction_commit_by_a_thread_of_the_kernel) {
  FileSystemKind kind = kBtrfs;
  kind.options = "commit=1";
  MOUNT(kind);
  const MountedFileSystem other(folder_ / "other-disk", folder_ / "other", kBtrfs);
  Bystander bystander([&] {
    const int fd = open_new(other / "file");
    return write_at(fd, 0, kBlockSize) + ::syncfs(fd) + ::close(fd);
  });
  RECORD_ON_IT("fs_transaction_commit", [&] {
    const int fd = open_new(file_);
    int result = write_at(fd, 0, kBlockSize) + ::fsync(fd) + (bystander.work() ? 0 : 1);
    // The kernel reports a commit after the disk has it: before the next one, at the latest.
    for (int commit = 0; commit < 2; ++commit)
      result += ::fchmod(fd, 0640) + (await_btrfs_commit(folder_ / "disk") ? 0 : 1);
    return result;
  });
  std::vector<Row> rows = recording_.rows("fs_transaction_commit", "kernel_thread", 1);
  ASSERT_FALSE(rows.empty());
  for (const Row& row : recording_.rows("fs_transaction_commit"))
    EXPECT_EQ(row.u("device"), device_) << "the bystander's, too";
  EXPECT_EQ(rows[0].u("op_id"), 0U);
  EXPECT_EQ(text_of("/proc/" + std::to_string(rows[0].u("tid")) + "/comm"), "btrfs-transaction\n");
}

} // namespace
} // namespace iotrail::live
