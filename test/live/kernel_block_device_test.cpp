// SPDX-License-Identifier: BSD-3-Clause
//
// Known I/O at known positions of a device of the test: the block layer records exactly that.

#include <linux/fs.h>

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <set>

#include "kernel_block_device_fixture.hpp"

namespace iotrail::live {
namespace {

class KernelBlockDeviceOfBlocks : public KernelBlockDevice,
                                  public testing::WithParamInterface<std::uint32_t> {
protected:
  void SetUp() override { make_device(GetParam()); }
};

TEST_P(KernelBlockDeviceOfBlocks, each_operation_is_at_its_sector_with_its_length) {
  constexpr std::uint64_t kWriteAt = 1000;
  constexpr std::uint64_t kReadAt = 1500;
  constexpr std::uint64_t kDiscardAt = 2000;
  RECORD_DEVICE({}, [&](DirectDevice& disk) {
    const int failed = disk.write(kWriteAt, 17);
    return failed != 0 ? failed : disk.read(kReadAt, 19) != 0 ? EIO : disk.discard(kDiscardAt, 21);
  });
  const std::uint64_t sectors = block_bytes_ / kSectorBytes;
  std::vector<Piece> expected = {
      {IOT_block_write, kWriteAt * sectors, std::uint64_t{17} * block_bytes_},
      {IOT_block_read, kReadAt * sectors, std::uint64_t{19} * block_bytes_},
      {IOT_block_discard, kDiscardAt * sectors, std::uint64_t{21} * block_bytes_}};
  std::ranges::sort(expected);
  EXPECT_EQ(pieces_of(of_device("block_queue")), expected);
  EXPECT_EQ(pieces_of(of_device("block_issue")), expected);
  if (missed() == 0) {
    EXPECT_EQ(pieces_of(of_device("block_complete")), expected);
  }
  for (const Row& row : of_device("block_complete"))
    EXPECT_EQ(row.s("error"), 0);
}

// Reads, writes and discards bucket i of 32 exactly i + 1 times.
TEST_P(KernelBlockDeviceOfBlocks, each_bucket_of_sectors_has_its_own) {
  constexpr std::uint64_t kBuckets = 32;
  constexpr std::uint64_t kBucketSectors = 256;
  constexpr std::uint64_t kBegin = 10240;
  const std::uint64_t sectors = block_bytes_ / kSectorBytes;
  RECORD_DEVICE({}, [&](DirectDevice& disk) {
    int failed = 0;
    for (std::uint64_t bucket = 0; bucket < kBuckets; ++bucket)
      for (std::uint64_t time = 0; time <= bucket && failed == 0; ++time) {
        const std::uint64_t block = (kBegin + bucket * kBucketSectors) / sectors + time;
        failed = disk.write(block, 1) + disk.read(block, 1) + disk.discard(block, 1);
      }
    return failed;
  });
  for (const std::string table : {"block_queue", "block_issue"}) {
    std::map<std::uint64_t, std::array<std::uint64_t, kBuckets>> counts;
    for (const Piece& piece : pieces_of(of_device(table))) {
      ASSERT_GE(piece.sector, kBegin);
      ASSERT_LT(piece.sector, kBegin + kBuckets * kBucketSectors);
      ++counts[piece.operation].at((piece.sector - kBegin) / kBucketSectors);
    }
    ASSERT_EQ(counts.size(), 3U) << table;
    for (const auto& [operation, by_bucket] : counts)
      for (std::uint64_t bucket = 0; bucket < kBuckets; ++bucket)
        EXPECT_EQ(by_bucket.at(bucket), bucket + 1) << table << ' ' << operation;
  }
  EXPECT_EQ(of_device("block_complete").size() + missed(), 3 * kBuckets * (kBuckets + 1) / 2);
}

INSTANTIATE_TEST_SUITE_P(Blocks, KernelBlockDeviceOfBlocks, testing::Values(512U, 4096U),
                         testing::PrintToStringParamName());

class KernelBlockDeviceThatSpins : public KernelBlockDevice,
                                   public testing::WithParamInterface<std::uint64_t> {};

TEST_P(KernelBlockDeviceThatSpins, devices_says_so) {
  if (!device_->refusal().empty())
    GTEST_SKIP() << device_->refusal();
  ASSERT_TRUE(device_->set_queue("rotational", std::to_string(GetParam())));
  recording_ = Recording::alone({.layers = {schema::Layer::block}}, [this] {
    DirectDevice disk(device_->path(), block_bytes_);
    return disk.write(0, 1);
  });
  ASSERT_EQ(recording_.refusal(), "");
  const std::vector<Row> devices = recording_.rows("devices", "device", device_->device());
  ASSERT_EQ(devices.size(), 1U);
  EXPECT_EQ(devices[0].u("rotational"), GetParam());
  EXPECT_EQ(devices[0].text("name"), device_->name());
  EXPECT_EQ(devices[0].u("logical_block_bytes"), block_bytes_);
}

INSTANTIATE_TEST_SUITE_P(Disks, KernelBlockDeviceThatSpins, testing::Values(0U, 1U),
                         testing::PrintToStringParamName());

TEST_F(KernelBlockDevice, block_split) {
  constexpr std::uint64_t kMostBytes = 64U << 10U;
  constexpr std::uint64_t kParts = 4;
  constexpr std::uint64_t kAt = 512;
  if (!device_->refusal().empty())
    GTEST_SKIP() << device_->refusal();
  ASSERT_TRUE(device_->set_queue("max_sectors_kb", std::to_string(kMostBytes / 1024)));
  RECORD_DEVICE({"block_queue", "block_split", "block_issue"}, [&](DirectDevice& disk) {
    return disk.write(kAt, kParts * kMostBytes / kBlockBytes);
  });
  const std::vector<Row> queued = of_device("block_queue");
  ASSERT_EQ(queued.size(), 1U) << "one bio, whole";
  const Row& whole = queued[0];
  EXPECT_EQ(whole.u("bytes"), kParts * kMostBytes);
  const std::vector<Row> splits = of_device("block_split");
  ASSERT_EQ(splits.size(), kParts - 1);
  for (std::uint64_t part = 0; part < splits.size(); ++part) {
    const Row& row = splits[part];
    const std::uint64_t end = (part + 1) * kMostBytes;
    EXPECT_EQ(row.u("parent_bio"), whole.u("bio"));
    EXPECT_NE(row.u("bio"), whole.u("bio"));
    EXPECT_EQ(row.u("sector"), whole.u("sector") + part * kMostBytes / kSectorBytes);
    EXPECT_EQ(row.u("bytes"), kMostBytes);
    EXPECT_EQ(row.u("rest_sector"), whole.u("sector") + end / kSectorBytes);
    EXPECT_EQ(row.u("rest_bytes"), whole.u("bytes") - end) << "the parts sum up";
    EXPECT_EQ(row.u("flags") & kOperationBits, std::uint64_t{IOT_block_write});
    EXPECT_EQ(row.u("op_id"), whole.u("op_id"));
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_EQ(recording_.path(row.u("file")), device_->path());
  }
  std::uint64_t issued_bytes = 0;
  for (const Row& row : of_device("block_issue")) {
    EXPECT_LE(row.u("bytes"), kMostBytes);
    EXPECT_EQ(row.u("op_id"), whole.u("op_id")) << "each part is the same call's";
    issued_bytes += row.u("bytes");
  }
  EXPECT_EQ(issued_bytes, whole.u("bytes"));
}

TEST_F(KernelBlockDevice, block_remap) {
  constexpr std::uint64_t kFirstSector = 2048;
  constexpr std::uint64_t kBlock = 33;
  if (!device_->refusal().empty() || !device_->add_partition(kFirstSector, 8192))
    GTEST_SKIP() << "no partition can be made on a loop device";
  const std::filesystem::path partition = device_->sysfs() / (device_->name() + "p1");
  const std::uint64_t number = device_number(partition);
  const std::string node = folder_ / "partition";
  ASSERT_EQ(::mknod(node.c_str(), S_IFBLK | 0600,
                    makedev(static_cast<unsigned>(number >> IOT_MINOR_BITS),
                            static_cast<unsigned>(number & ((1U << IOT_MINOR_BITS) - 1)))),
            0);
  record_of(node, {"block_remap", "block_queue"},
            [&](DirectDevice& disk) { return disk.read(kBlock, 3); });
  if (!refusal().empty())
    GTEST_SKIP() << refusal();
  ASSERT_EQ(recording_.status(), 0);
  const std::vector<Row> rows = recording_.rows("block_remap");
  ASSERT_EQ(rows.size(), 1U);
  const Row& row = rows[0];
  EXPECT_EQ(row.u("from_device"), number);
  EXPECT_EQ(row.u("from_sector"), kBlock * kBlockSectors);
  EXPECT_EQ(row.u("device"), device_->device());
  EXPECT_EQ(row.u("sector"), kFirstSector + kBlock * kBlockSectors);
  EXPECT_EQ(row.u("bytes"), 3 * kBlockBytes);
  EXPECT_EQ(row.u("flags") & kOperationBits, std::uint64_t{IOT_block_read});
  EXPECT_EQ(recording_.path(row.u("file")), node);
  const std::vector<Row> queued = recording_.rows("block_queue", "bio", row.u("bio"));
  ASSERT_EQ(queued.size(), 1U);
  EXPECT_EQ(queued[0].u("sector"), row.u("sector")) << "the bio continues at the remapped sector";
  EXPECT_EQ(queued[0].u("op_id"), row.u("op_id"));
}

TEST_F(KernelBlockDevice, block_remap_by_the_device_mapper) {
  constexpr std::uint64_t kShift = 1000; // sectors
  const std::string name = "iotrail-linear-" + std::to_string(::getpid());
  if (!device_->refusal().empty() || !has_module("dm_mod"))
    GTEST_SKIP() << "there is no device mapper";
  const std::string table =
      "'0 8192 linear " + device_->path() + " " + std::to_string(kShift) + "'";
  if (std::system(("dmsetup create " + name + " --table " + table).c_str()) != 0)
    GTEST_SKIP() << "dmsetup makes no device";
  record_of(mapped_device(name), {"block_remap", "block_queue"},
            [&](DirectDevice& disk) { return disk.write(7, 2); });
  EXPECT_EQ(std::system(("dmsetup remove " + name).c_str()), 0);
  if (!refusal().empty())
    GTEST_SKIP() << refusal();
  ASSERT_EQ(recording_.status(), 0);
  const std::vector<Row> rows = of_device("block_remap");
  ASSERT_EQ(rows.size(), 1U);
  const std::vector<Row> above = recording_.rows("block_queue", "device", rows[0].u("from_device"));
  ASSERT_EQ(above.size(), 1U);
  const std::vector<Row> below = of_device("block_queue");
  ASSERT_EQ(below.size(), 1U);
  EXPECT_EQ(rows[0].u("from_sector"), 7 * kBlockSectors);
  EXPECT_EQ(above[0].u("sector"), 7 * kBlockSectors);
  EXPECT_EQ(rows[0].u("sector"), kShift + 7 * kBlockSectors);
  EXPECT_EQ(below[0].u("sector"), kShift + 7 * kBlockSectors);
  EXPECT_EQ(below[0].u("bytes"), 2 * kBlockBytes);
  EXPECT_EQ(below[0].u("op_id"), above[0].u("op_id")) << "both are the call's";
  EXPECT_EQ(below[0].u("above"), rows[0].u("from_device"));
  EXPECT_EQ(above[0].u("above"), 0U);
}

TEST_F(KernelBlockDevice, block_getrq) {
  RECORD_DEVICE({"block_queue", "block_getrq"},
                [&](DirectDevice& disk) { return disk.write(5, 4); });
  const std::vector<Row> queued = of_device("block_queue");
  const std::vector<Row> rows = of_device("block_getrq");
  ASSERT_EQ(queued.size(), 1U);
  ASSERT_EQ(rows.size(), 1U);
  const Row& row = rows[0];
  EXPECT_EQ(row.u("bio"), queued[0].u("bio"));
  EXPECT_EQ(row.u("sector"), 5 * kBlockSectors);
  EXPECT_EQ(row.u("bytes"), 4 * kBlockBytes);
  EXPECT_EQ(row.u("flags"), queued[0].u("flags"));
  EXPECT_EQ(row.u("op_id"), queued[0].u("op_id"));
  EXPECT_EQ(row.u("ts_ns"), queued[0].u("ts_ns") + row.u("wait_ns"));
}

// The kernel plugs these requests of one call. None is adjacent to another.
const std::vector<std::uint64_t> kApart = {10, 20, 30, 40};

// Linux 6.1 reports unplugging only if there is a scheduler.
#define NEED_SCHEDULER()                                                                           \
  do {                                                                                             \
    if (!device_->refusal().empty() || !device_->set_queue("scheduler", "mq-deadline"))            \
      GTEST_SKIP() << "no loop device with a scheduler is to be had";                              \
  } while (false)

TEST_F(KernelBlockDevice, block_plug) {
  NEED_SCHEDULER();
  RECORD_DEVICE({"block_plug", "block_unplug", "block_issue"},
                [&](DirectDevice& disk) { return disk.write_at_once(kApart); });
  const std::vector<Row> plugged = of_device("block_plug");
  const std::vector<Row> unplugged = of_device("block_unplug");
  ASSERT_EQ(plugged.size(), 1U);
  ASSERT_FALSE(unplugged.empty());
  EXPECT_EQ(plugged[0].u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_NE(plugged[0].u("op_id"), 0U);
  EXPECT_EQ(plugged[0].u("op_id"), unplugged[0].u("op_id"));
  EXPECT_LE(plugged[0].u("ts_ns"), unplugged[0].u("ts_ns"));
}

TEST_F(KernelBlockDevice, block_unplug) {
  NEED_SCHEDULER();
  RECORD_DEVICE({"block_unplug", "block_issue"},
                [&](DirectDevice& disk) { return disk.write_at_once(kApart); });
  const std::vector<Row> rows = of_device("block_unplug");
  std::uint64_t requests = 0; // submitted at once, but separately for each CPU that the task ran on
  for (const Row& row : rows) {
    EXPECT_EQ(row.u("cause"), std::uint64_t{IOT_unplug_explicit});
    requests += row.u("requests");
  }
  EXPECT_EQ(requests, kApart.size());
  ASSERT_FALSE(rows.empty());
  const std::vector<Row> issued = of_device("block_issue");
  EXPECT_TRUE(std::ranges::all_of(issued, [&](const Row& issue) {
    return rows[0].u("ts_ns") <= issue.u("ts_ns");
  })) << "held back until then";
}

// A file system without room, below the device.
TEST_F(KernelBlockDevice, block_error) {
  const std::string full = folder_ / "full";
  std::filesystem::create_directory(full);
  ASSERT_EQ(::mount("tmpfs", full.c_str(), "tmpfs", 0, "size=64k"), 0);
  std::ofstream(full + "/filler") << std::string(64U << 10U, 'x');
  {
    const std::filesystem::path file = full + "/disk";
    std::ofstream{file}.close();
    std::filesystem::resize_file(file, kDeviceBytes);
    device_.emplace(file, kBlockBytes);
    record({}, [&](DirectDevice& disk) { return disk.write(100, 64) != 0 ? 0 : EXIT_FAILURE; });
  }
  const std::uint64_t number = device_->device();
  device_.reset();
  ::umount2(full.c_str(), MNT_DETACH);
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  ASSERT_EQ(recording_.status(), 0) << "the write fails";
  const std::vector<Row> rows = recording_.rows("block_error", "device", number);
  if (rows.empty() && missed() != 0)
    GTEST_SKIP() << "the kernel did not report the completion";
  ASSERT_EQ(rows.size(), 1U);
  const Row& row = rows[0];
  EXPECT_EQ(row.u("sector"), 100 * kBlockSectors);
  EXPECT_EQ(row.u("bytes"), 64 * kBlockBytes);
  EXPECT_EQ(row.u("flags") & kOperationBits, std::uint64_t{IOT_block_write});
  EXPECT_TRUE(row.s("error") == -EIO || row.s("error") == -ENOSPC) << row.s("error");
  const std::vector<Row> completed = recording_.rows("block_complete", "device", number);
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(completed[0].s("error"), row.s("error"));
  EXPECT_EQ(completed[0].u("request"), row.u("request"));
  EXPECT_EQ(completed[0].u("op_id"), row.u("op_id"));
  EXPECT_EQ(completed[0].u("file"), row.u("file"));
}

TEST_F(KernelBlockDevice, expensive_events_are_off_by_default) {
  RECORD_DEVICE({}, [&](DirectDevice& disk) { return disk.write_at_once(kApart); });
  EXPECT_EQ(of_device("block_queue").size(), kApart.size());
  for (const char* table : {"block_plug", "block_unplug", "block_getrq", "block_split"})
    EXPECT_TRUE(of_device(table).empty()) << table;
}

TEST_F(KernelBlockDevice, an_issue_tells_its_queue_and_how_deep_that_was) {
  RECORD_DEVICE({}, [&](DirectDevice& disk) { return disk.write_at_once(kApart); });
  const std::vector<Row> issued = of_device("block_issue");
  ASSERT_EQ(issued.size(), kApart.size());
  const std::filesystem::path queues = device_->sysfs() / "mq";
  std::uint64_t deepest = 0;
  for (const Row& row : issued) {
    EXPECT_GE(row.u("tags_in_use"), 1U) << "its own";
    EXPECT_LE(row.u("tags_in_use"), 128U) << "a loop device has no more";
    EXPECT_TRUE(std::filesystem::exists(queues / std::to_string(row.u("hardware_queue"))));
    deepest = std::max(deepest, row.u("tags_in_use"));
  }
  EXPECT_EQ(deepest, kApart.size());
  for (const Row& end : of_device("block_complete")) {
    const auto begin = std::ranges::find_if(
        issued, [&](const Row& row) { return row.u("request") == end.u("request"); });
    ASSERT_NE(begin, issued.end());
    EXPECT_EQ(end.u("tags_in_use"), begin->u("tags_in_use"));
    EXPECT_EQ(end.u("hardware_queue"), begin->u("hardware_queue"));
  }
}

TEST_F(KernelBlockDevice, a_bio_tells_its_priority) {
  constexpr int kWhoProcess = 1; // linux/ioprio.h is not for C++
  constexpr int kLevel = 3;
  RECORD_DEVICE({}, [&](DirectDevice& disk) {
    if (::syscall(SYS_ioprio_set, kWhoProcess, 0, IOT_priority_best_effort << 13 | kLevel) != 0)
      return errno;
    return disk.write(1, 1);
  });
  for (const char* table : {"block_queue", "block_issue"}) {
    const std::vector<Row> rows = of_device(table);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].u("priority_class"), std::uint64_t{IOT_priority_best_effort}) << table;
    EXPECT_EQ(rows[0].u("priority_level"), std::uint64_t{kLevel}) << table;
  }
}

// Bios have hints since 6.9, and had them before 5.18.
bool bios_have_hints() {
  utsname kernel{};
  int major = 0;
  int minor = 0;
  ::uname(&kernel);
  return std::sscanf(kernel.release, "%d.%d", &major, &minor) == 2 &&
         (major > 6 || (major == 6 && minor >= 9));
}

TEST_F(KernelBlockDevice, a_bio_tells_how_long_its_data_is_said_to_live) {
  RECORD_DEVICE({}, [&](DirectDevice& disk) {
    std::uint64_t hint = RWH_WRITE_LIFE_LONG;
    return ::fcntl(disk.fd(), F_SET_RW_HINT, &hint) == 0 ? disk.write(1, 1) : errno;
  });
  const std::uint64_t expected = bios_have_hints() ? IOT_write_hint_long : IOT_write_hint_not_set;
  for (const char* table : {"block_queue", "block_issue"}) {
    const std::vector<Row> rows = of_device(table);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].u("write_hint"), expected) << table;
  }
}

TEST_F(KernelBlockDevice, a_bio_that_must_not_wait_says_so) {
  constexpr int kWouldWait = 77;
  record({}, [&](DirectDevice& disk) {
    const int failed = disk.write(1, 1, RWF_NOWAIT);
    return failed == EAGAIN ? kWouldWait : failed;
  });
  if (!refusal().empty() || WEXITSTATUS(recording_.status()) == kWouldWait)
    GTEST_SKIP() << (refusal().empty() ? "loop devices always wait here" : refusal());
  ASSERT_EQ(recording_.status(), 0);
  const std::vector<Row> rows = of_device("block_queue");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_NE(rows[0].u("flags") & IOT_block_hint_nowait, 0U);
  EXPECT_EQ(rows[0].u("flags") & (IOT_block_hint_swap | IOT_block_hint_polled), 0U);
}

} // namespace
} // namespace iotrail::live
