// SPDX-License-Identifier: BSD-3-Clause
//
// Operations of devices besides reads, writes and discards: zeroing without data, durable writes,
// and zones. The device itself reports the expected result.
#include <linux/blkzoned.h>
#include <linux/falloc.h>
#include <linux/fs.h>

#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstdlib>

#include "kernel_block_device_fixture.hpp"
#include "null_disk.hpp"

namespace iotrail::live {
namespace {

class KernelBlockOperations : public KernelBlockDevice {
protected:
  // Each was queued, sent and completed exactly so, by the child.
  void expect_pieces(std::uint64_t device, std::vector<Piece> expected) const {
    std::ranges::sort(expected);
    for (const std::string table : {"block_queue", "block_issue", "block_complete"}) {
      const std::vector<Row> rows = recording_.rows(table, "device", device);
      EXPECT_EQ(pieces_of(rows), expected) << table;
      for (const Row& row : rows) {
        EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid())) << table;
        EXPECT_NE(row.u("op_id"), 0U) << table;
      }
    }
  }
};

TEST_F(KernelBlockOperations, zeroes_are_written_without_data) {
  constexpr std::uint64_t kKept = 100, kZeroed = 200, kPunched = 300; // blocks
  const ScratchDirectory on_disk(std::filesystem::current_path());    // tmpfs cannot zero ranges
  make_device_over(on_disk / "disk", kBlockBytes, kDeviceBytes);
  RECORD_DEVICE({}, [&](DirectDevice& disk) {
    std::uint64_t range[] = {kKept * kBlockBytes, 5 * kBlockBytes};
    const auto at = [](std::uint64_t block) { return static_cast<off_t>(block * kBlockBytes); };
    return ::ioctl(disk.fd(), BLKZEROOUT, range) == 0 &&
                   ::fallocate(disk.fd(), FALLOC_FL_ZERO_RANGE | FALLOC_FL_KEEP_SIZE, at(kZeroed),
                               at(6)) == 0 &&
                   ::fallocate(disk.fd(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at(kPunched),
                               at(7)) == 0
               ? 0
               : errno;
  });
  if (missed() != 0)
    GTEST_SKIP() << "the kernel did not report a completion";
  expect_pieces(device_->device(),
                {{IOT_block_write_zeroes, kKept * kBlockSectors, 5 * kBlockBytes},
                 {IOT_block_write_zeroes, kZeroed * kBlockSectors, 6 * kBlockBytes},
                 {IOT_block_write_zeroes, kPunched * kBlockSectors, 7 * kBlockBytes}});
  for (const Row& row : of_device("block_queue")) {
    const bool gives_back = row.u("sector") == kPunched * kBlockSectors;
    EXPECT_EQ(row.u("flags") & IOT_block_hint_nounmap, gives_back ? 0U : IOT_block_hint_nounmap);
    EXPECT_EQ(row.u("io_class"), std::uint64_t{IOT_io_class_no_data});
  }
}

TEST_F(KernelBlockOperations, a_write_that_is_durable_at_once_says_so) {
  MAKE_NULL_DISK(disk, "gb=1 bs=4096 cache_size=16");
  ASSERT_EQ(text_of(NullDisk::sysfs() / "queue/fua"), "1\n");
  record_of(NullDisk::path(), {}, [](DirectDevice& direct) {
    return direct.write(10, 2, RWF_DSYNC) + direct.write(20, 3);
  });
  ASSERT_EQ(refusal(), "");
  ASSERT_EQ(recording_.status(), 0);
  // The call also flushes afterwards: the device may hold more data than this.
  const std::vector<Piece> writes = {{IOT_block_write, 10 * kBlockSectors, 2 * kBlockBytes},
                                     {IOT_block_write, 20 * kBlockSectors, 3 * kBlockBytes}};
  for (const std::string table : {"block_queue", "block_issue", "block_complete"}) {
    std::vector<Row> rows = recording_.rows(table, "device", NullDisk::device());
    const auto is_flush = [](const Row& row) { return row.u("bytes") == 0; };
    EXPECT_EQ(std::ranges::count_if(rows, is_flush), 1) << table;
    std::erase_if(rows, is_flush);
    EXPECT_EQ(pieces_of(rows), writes) << table;
    for (const Row& row : rows)
      EXPECT_EQ(row.u("flags") & IOT_block_hint_fua,
                row.u("sector") == 10 * kBlockSectors ? IOT_block_hint_fua : 0U)
          << table;
  }
}

constexpr std::uint64_t kZoneSectors = 8192;
const std::string kZoned = "zoned=1 zone_size=4 gb=1 bs=4096";

// The device's own report.
blk_zone zone_at(int fd, std::uint64_t sector) {
  alignas(blk_zone_report) std::byte bytes[sizeof(blk_zone_report) + sizeof(blk_zone)]{};
  auto& report = *reinterpret_cast<blk_zone_report*>(bytes);
  report.sector = sector;
  report.nr_zones = 1;
  return ::ioctl(fd, BLKREPORTZONE, bytes) == 0 && report.nr_zones == 1 ? *report.zones
                                                                        : blk_zone{};
}

bool manage(int fd, unsigned long request, std::uint64_t sector, std::uint64_t sectors) {
  blk_zone_range range{sector, sectors};
  return ::ioctl(fd, request, &range) == 0;
}

TEST_F(KernelBlockOperations, zones_are_managed_as_the_device_says) {
  constexpr std::uint64_t kZone = 3 * kZoneSectors;
  MAKE_NULL_DISK(disk, kZoned);
  record_of(NullDisk::path(), {}, [](DirectDevice& direct) {
    const int fd = direct.fd();
    const auto is = [&](unsigned condition, std::uint64_t sectors_written) {
      const blk_zone zone = zone_at(fd, kZone);
      return zone.cond == condition && zone.start == kZone &&
             (condition == BLK_ZONE_COND_FULL || zone.wp == kZone + sectors_written);
    };
    if (!manage(fd, BLKOPENZONE, kZone, kZoneSectors) || !is(BLK_ZONE_COND_EXP_OPEN, 0))
      return 1;
    if (direct.write(kZone / kBlockSectors, 4) != 0 ||
        !is(BLK_ZONE_COND_EXP_OPEN, 4 * kBlockSectors))
      return 2;
    if (!manage(fd, BLKCLOSEZONE, kZone, kZoneSectors) ||
        !is(BLK_ZONE_COND_CLOSED, 4 * kBlockSectors))
      return 3;
    if (!manage(fd, BLKFINISHZONE, kZone, kZoneSectors) || !is(BLK_ZONE_COND_FULL, 0))
      return 4;
    if (!manage(fd, BLKRESETZONE, kZone, kZoneSectors) || !is(BLK_ZONE_COND_EMPTY, 0))
      return 5;
    return manage(fd, BLKRESETZONE, 0, (1U << 30U) / kSectorBytes) ? 0 : 6;
  });
  ASSERT_EQ(refusal(), "");
  ASSERT_EQ(WEXITSTATUS(recording_.status()), 0) << "the zone is not as it must be after this step";
  expect_pieces(NullDisk::device(), {{IOT_block_zone_open, kZone, 0},
                                     {IOT_block_write, kZone, 4 * kBlockBytes},
                                     {IOT_block_zone_close, kZone, 0},
                                     {IOT_block_zone_finish, kZone, 0},
                                     {IOT_block_zone_reset, kZone, 0},
                                     {IOT_block_zone_reset_all, 0, 0}});
}

// Only the device knows the position of an append to a zone: the completion has it.
TEST_F(KernelBlockOperations, appends_to_a_zone_are_where_the_device_put_them) {
  constexpr std::size_t kBytes = 1U << 20U;
  MAKE_NULL_DISK(disk, kZoned);
  const std::string mounted = folder_ / "mounted";
  std::filesystem::create_directory(mounted);
  if (!has_module("btrfs") ||
      std::system(("mkfs.btrfs -q -f -O zoned " + disk.path() + " >/dev/null 2>&1").c_str()) != 0 ||
      ::mount(disk.path().c_str(), mounted.c_str(), "btrfs", 0, nullptr) != 0)
    GTEST_SKIP() << "there is no btrfs for zones";
  const std::string file = mounted + "/file";
  const std::string text(kBytes, 'x');
  recording_ =
      Recording::among_others({.layers = {schema::Layer::syscall, schema::Layer::block}}, [&] {
        const int fd = ::open(file.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
        return ::write(fd, text.data(), kBytes) == static_cast<ssize_t>(kBytes) && ::fsync(fd) == 0
                   ? 0
                   : 1;
      });
  const Fd device(::open(disk.path().c_str(), O_RDONLY | O_CLOEXEC));
  const auto zone_of = [&](const Row& row) {
    return row.u("sector") / kZoneSectors * kZoneSectors;
  };
  ASSERT_EQ(recording_.refusal(), "");
  EXPECT_EQ(recording_.status(), 0);
  EXPECT_EQ(recording_.lost(), 0U);
  const auto is_append = [](const Row& row) {
    return (row.u("flags") & kOperationBits) == IOT_block_zone_append;
  };
  std::uint64_t queued_bytes = 0;
  for (const Row& row : recording_.rows_of_file("block_queue", file))
    if (is_append(row)) {
      EXPECT_EQ(row.u("sector"), zone_of(row)) << "of the zone";
      EXPECT_EQ(row.u("io_class"), std::uint64_t{IOT_io_class_data});
      queued_bytes += row.u("bytes");
    }
  EXPECT_EQ(queued_bytes, kBytes);
  std::map<std::uint64_t, std::vector<Piece>> by_zone;
  std::uint64_t completed_bytes = 0;
  for (const Row& row : recording_.rows_of_file("block_complete", file))
    if (is_append(row)) {
      by_zone[zone_of(row)].push_back({0, row.u("sector"), row.u("bytes")});
      completed_bytes += row.u("bytes");
    }
  EXPECT_EQ(completed_bytes, kBytes);
  for (auto& [zone, pieces] : by_zone) {
    std::ranges::sort(pieces);
    for (std::size_t at = 1; at < pieces.size(); ++at)
      EXPECT_EQ(pieces[at].sector, pieces[at - 1].sector + pieces[at - 1].bytes / kSectorBytes);
    EXPECT_EQ(zone_at(device.get(), zone).wp,
              pieces.back().sector + pieces.back().bytes / kSectorBytes);
  }
  ::umount2(mounted.c_str(), MNT_DETACH);
}

} // namespace
} // namespace iotrail::live
