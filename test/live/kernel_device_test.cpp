// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer device: commands to devices that kernel modules emulate,
// only in an emulated machine.

#include <sys/mount.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <set>

#include <fmt/format.h>

#include "await.hpp"
#include "block_device.hpp"
#include "kernel_recording.hpp"

namespace iotrail::live {
namespace {

void write_to(const std::filesystem::path& file, const std::string& text) {
  std::ofstream(file) << text << std::flush;
}

// The first disk below /sys/block that satisfies `is_it`; empty: none appears.
std::filesystem::path await_disk(const std::function<bool(const std::filesystem::path&)>& is_it) {
  std::filesystem::path found;
  await([&] {
    for (const auto& disk : std::filesystem::directory_iterator("/sys/block"))
      if (is_it(disk.path()))
        found = disk.path();
    return !found.empty();
  });
  return found;
}

class KernelDevice : public testing::Test {
protected:
  void record(const std::function<int(DirectDevice&)>& body) {
    block_bytes_ =
        static_cast<std::uint32_t>(std::stoul(text_of(disk_ / "queue/logical_block_size")));
    recording_ =
        Recording::of({schema::Layer::syscall, schema::Layer::block, schema::Layer::device}, [&] {
          DirectDevice disk("/dev/" + disk_.filename().string(), block_bytes_);
          return disk.fd() < 0 ? errno : body(disk);
        });
    ASSERT_TRUE(recording_.refusal().empty()) << recording_.refusal();
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }

  std::vector<Row> commands(const std::string& table) const {
    std::vector<Row> rows = recording_.rows(table, "device", device_number(disk_));
    std::ranges::sort(rows, {}, [](const Row& row) { return row.u("ts_ns"); });
    return rows;
  }

  // Writes 17 blocks at 1000, reads 19 at 1500, discards 21 at 2000.
  void record_three() {
    record([](DirectDevice& disk) {
      const int failed = disk.write(1000, 17);
      return failed != 0 ? failed : disk.read(1500, 19) != 0 ? EIO : disk.discard(2000, 21);
    });
    ASSERT_EQ(recording_.status(), 0);
  }

  void expect_three(const std::vector<Row>& rows, const std::vector<std::uint64_t>& opcodes) {
    constexpr std::uint64_t kFirst[] = {1000, 1500, 2000};
    constexpr std::uint64_t kBlocks[] = {17, 19, 21};
    constexpr std::uint64_t kOperations[] = {IOT_block_write, IOT_block_read, IOT_block_discard};
    ASSERT_EQ(rows.size(), 3U);
    for (std::size_t at = 0; at < rows.size(); ++at) {
      const Row& row = rows[at];
      EXPECT_EQ(row.u("sector"), kFirst[at] * block_bytes_ / kSectorBytes);
      EXPECT_EQ(row.u("bytes"), kBlocks[at] * block_bytes_);
      EXPECT_EQ(row.u("flags") & 0xff, kOperations[at]);
      EXPECT_EQ(row.u("opcode"), opcodes[at]);
      EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
      EXPECT_NE(row.u("op_id"), 0U);
      const std::vector<Row> request = recording_.rows("block_complete", "sector", row.u("sector"));
      ASSERT_EQ(request.size(), 1U);
      EXPECT_EQ(request[0].u("request"), row.u("request"));
      EXPECT_EQ(request[0].u("op_id"), row.u("op_id"));
      EXPECT_GE(row.u("ts_ns"), request[0].u("ts_ns"));
      EXPECT_GT(row.u("duration_ns"), 0U);
      EXPECT_LE(row.u("ts_ns") + row.u("duration_ns"),
                request[0].u("ts_ns") + request[0].u("duration_ns"));
    }
  }

  std::filesystem::path disk_; // in sysfs
  std::uint32_t block_bytes_ = 0;
  Recording recording_;
};

class KernelScsi : public KernelDevice {
protected:
  void SetUp() override {
    if (!is_emulated() ||
        std::system("modprobe -q sd_mod; modprobe -q scsi_debug dev_size_mb=32 lbpu=1 opts=2") != 0)
      GTEST_SKIP() << "no SCSI disk can be made, but in an emulated machine";
    disk_ = await_disk([](const std::filesystem::path& disk) {
      return text_of(disk / "device/model").starts_with("scsi_debug");
    });
    ASSERT_FALSE(disk_.empty());
  }

  // The disk's errors, and at which commands, by the module's documentation.
  static void misbehave(int how, int every) {
    const std::filesystem::path settings = "/sys/bus/pseudo/drivers/scsi_debug";
    write_to(settings / "opts", std::to_string(how));
    write_to(settings / "every_nth", std::to_string(every));
  }
  static constexpr int kLoseCommands = 4;
  static constexpr int kRefuseCommands = 0x8000;

  std::uint64_t count(const std::vector<Row>& rows, iot_value outcome) const {
    return static_cast<std::uint64_t>(std::ranges::count_if(
        rows, [&](const Row& row) { return row.u("outcome") == std::uint64_t{outcome}; }));
  }
};

TEST_F(KernelScsi, device_scsi) {
  ASSERT_NO_FATAL_FAILURE(record_three());
  const std::vector<Row> rows = commands("device_scsi");
  ASSERT_EQ(rows.size(), 3U) << recording_.hook_of("device_scsi").reason;
  expect_three(rows, {IOT_scsi_opcode_WRITE_10, IOT_scsi_opcode_READ_10, IOT_scsi_opcode_UNMAP});
  const std::string address = std::filesystem::canonical(disk_ / "device").filename();
  for (const Row& row : rows) {
    EXPECT_EQ(
        fmt::format("{}:{}:{}:{}", row.u("host"), row.u("channel"), row.u("target"), row.u("lun")),
        address);
    EXPECT_EQ(row.u("outcome"), std::uint64_t{IOT_scsi_outcome_done});
    EXPECT_EQ(row.u("status"), std::uint64_t{IOT_scsi_status_GOOD});
    EXPECT_EQ(row.u("host_status"), std::uint64_t{IOT_scsi_host_status_OK});
  }
}

TEST_F(KernelScsi, device_scsi_that_cannot_read_and_block_error) {
  constexpr std::uint64_t kBadSector = 0x1234; // bad in this module while `opts` is 2
  misbehave(2, 0);
  record([](DirectDevice& disk) { return disk.read(kBadSector, 1) != 0 ? 0 : EXIT_FAILURE; });
  ASSERT_EQ(recording_.status(), 0) << "the read fails";
  const std::vector<Row> rows = commands("device_scsi");
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) {
    EXPECT_EQ(row.u("sector"), kBadSector);
    EXPECT_EQ(row.u("opcode"), std::uint64_t{IOT_scsi_opcode_READ_10});
    EXPECT_EQ(row.u("status"), std::uint64_t{IOT_scsi_status_CHECK_CONDITION});
    EXPECT_EQ(row.u("outcome"), std::uint64_t{IOT_scsi_outcome_done});
  }
  const std::vector<Row> failed = recording_.rows("block_error");
  const std::vector<Row> completed = recording_.rows("block_complete");
  ASSERT_EQ(failed.size(), 1U);
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(failed[0].u("sector"), kBadSector);
  EXPECT_EQ(failed[0].u("bytes"), block_bytes_);
  EXPECT_EQ(failed[0].s("error"), -ENODATA) << "a medium error";
  EXPECT_EQ(completed[0].s("error"), failed[0].s("error"));
  EXPECT_EQ(completed[0].u("request"), failed[0].u("request"));
}

TEST_F(KernelScsi, device_scsi_of_an_adapter_that_refuses) {
  constexpr int kWrites = 10;
  misbehave(kRefuseCommands, 2);
  record([](DirectDevice& disk) {
    int failed = 0;
    for (std::uint64_t block = 0; block < kWrites && failed == 0; ++block)
      failed = disk.write(block, 1);
    return failed;
  });
  misbehave(2, 0);
  ASSERT_EQ(recording_.status(), 0);
  const std::vector<Row> rows = commands("device_scsi");
  EXPECT_EQ(count(rows, IOT_scsi_outcome_done), std::uint64_t{kWrites}) << "each in the end";
  EXPECT_GT(count(rows, IOT_scsi_outcome_refused), 0U);
  EXPECT_LE(count(rows, IOT_scsi_outcome_refused),
            recording_.rows("block_requeue", "device", device_number(disk_)).size());
}

TEST_F(KernelScsi, device_scsi_that_does_not_answer) {
  constexpr int kWrites = 12;
  constexpr int kEvery = 8;
  write_to(disk_ / "device/timeout", "2"); // seconds
  misbehave(kLoseCommands, kEvery);
  record([](DirectDevice& disk) {
    int failed = 0;
    for (std::uint64_t block = 0; block < kWrites && failed == 0; ++block)
      failed = disk.write(block, 1);
    return failed;
  });
  misbehave(2, 0);
  write_to(disk_ / "device/timeout", "30");
  ASSERT_EQ(recording_.status(), 0);
  const std::vector<Row> rows = commands("device_scsi");
  EXPECT_EQ(count(rows, IOT_scsi_outcome_done), std::uint64_t{kWrites}) << "each in the end";
  EXPECT_GT(count(rows, IOT_scsi_outcome_timeout), 0U);
  for (const Row& row : rows)
    if (row.u("outcome") == IOT_scsi_outcome_timeout) {
      EXPECT_GE(row.u("duration_ns"), 1'000'000'000U);
    }
}

// A controller that the kernel itself emulates, connected to the machine itself.
class KernelNvme : public KernelDevice {
protected:
  static constexpr const char* kName = "iotrail";
  static constexpr const char* kAddress = "transport=tcp,traddr=127.0.0.1,trsvcid=4420,nqn=";

  void SetUp() override {
    if (!is_emulated() ||
        std::system("modprobe -q nvme_core multipath=N; modprobe -qa nvmet-tcp nvme-tcp") != 0)
      GTEST_SKIP() << "no NVMe disk can be made, but in an emulated machine";
    const std::filesystem::path file = folder_ / "disk";
    std::ofstream{file}.close();
    std::filesystem::resize_file(file, 16U << 20U);
    if (!std::filesystem::exists(config_)) {
      ASSERT_EQ(::mount("configfs", "/sys/kernel/config", "configfs", 0, nullptr), 0);
    }
    const std::filesystem::path subsystem = config_ / "subsystems" / kName;
    std::filesystem::create_directories(subsystem / "namespaces/1");
    write_to(subsystem / "attr_allow_any_host", "1");
    write_to(subsystem / "namespaces/1/device_path", file);
    write_to(subsystem / "namespaces/1/buffered_io", "1");
    write_to(subsystem / "namespaces/1/enable", "1");
    const std::filesystem::path port = config_ / "ports/1";
    std::filesystem::create_directory(port);
    write_to(port / "addr_adrfam", "ipv4");
    write_to(port / "addr_trtype", "tcp");
    write_to(port / "addr_traddr", "127.0.0.1");
    write_to(port / "addr_trsvcid", "4420");
    std::filesystem::create_directory_symlink(subsystem, port / "subsystems" / kName);
    write_to("/dev/nvme-fabrics", kAddress + std::string(kName));
    disk_ = await_disk([](const std::filesystem::path& disk) {
      return disk.filename().string().starts_with("nvme") && device_number(disk) != 0;
    });
    ASSERT_FALSE(disk_.empty());
  }

  ScratchDirectory folder_;
  std::filesystem::path config_ = "/sys/kernel/config/nvmet";
};

TEST_F(KernelNvme, device_nvme) {
  ASSERT_NO_FATAL_FAILURE(record_three());
  const std::vector<Row> rows = commands("device_nvme");
  expect_three(rows,
               {IOT_nvme_opcode_write, IOT_nvme_opcode_read, IOT_nvme_opcode_dataset_management});
  std::set<std::uint64_t> commands;
  for (const Row& row : rows) {
    // Ids are tags of the queue. Since 5.14 the upper bits count how often the tag was used.
    EXPECT_LT(row.u("command") & 0xfff, 128U) << "the connection's queue has no more";
    EXPECT_TRUE(commands.insert(row.u("command")).second) << "each is another command";
    EXPECT_EQ(fmt::format("nvme{}n{}", row.u("controller"), row.u("name_space")),
              disk_.filename().string());
    EXPECT_GE(row.u("queue"), 1U) << "0 is for administration";
    EXPECT_EQ(row.u("status"), std::uint64_t{IOT_nvme_status_success});
    EXPECT_EQ(row.u("retries"), 0U);
  }
  const std::vector<Row> issued = recording_.rows("block_issue", "request", rows[0].u("request"));
  ASSERT_FALSE(issued.empty());
  EXPECT_EQ(rows[0].u("ts_ns"), issued[0].u("ts_ns")) << "it starts when its request is issued";
  EXPECT_EQ(rows[0].u("queue"), issued[0].u("hardware_queue") + 1);
}

} // namespace
} // namespace iotrail::live
