// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/system.hpp"

#include <filesystem>
#include <fstream>

#include "capture/snapshot/rows/test_run.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;

class SystemTest : public TakingTest {
protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }
  void take_system_of_test() {
    const SystemFiles files{folder_ / "proc", folder_ / "sys", folder_ / "etc"};
    take([&](SnapshotRun& run) { EXPECT_TRUE(take_system(run, files)); });
  }
};

TEST_F(SystemTest, the_machine) {
  write("proc/uptime", "12.34 99.00\n");
  write("proc/cpuinfo",
        "processor\t: 0\nmodel name\t: Fast  CPU\nprocessor\t: 1\nmodel name\t: x\n");
  write("proc/cmdline", "root=/dev/vda1 quiet\n");
  write("proc/sys/kernel/hostname", "here\n");
  write("proc/sys/kernel/osrelease", "6.1.0\n");
  write("proc/sys/kernel/version", "#1 SMP\n");
  write("sys/devices/system/cpu/online", "0-2,5\n");
  write("sys/devices/system/cpu/present", "0-7\n");
  write("sys/class/dmi/id/sys_vendor", "Maker\n");
  write("sys/class/dmi/id/product_name", "Thing \n");
  write("etc/os-release", "NAME=x\nPRETTY_NAME=\"Some OS 1\"\n");
  take_system_of_test();
  const SnapshotRow row = rows("snapshot_system").at(0);
  EXPECT_EQ(row["running_ns"], 12'340'000'000);
  EXPECT_EQ(row["cpus"], 4);
  EXPECT_EQ(row["cpus_present"], 8);
  EXPECT_EQ(row.text("cpu_model"), "Fast  CPU");
  EXPECT_EQ(row.text("hardware"), "Maker Thing");
  EXPECT_EQ(row.text("host"), "here");
  EXPECT_EQ(row.text("os"), "Some OS 1");
  EXPECT_EQ(row.text("kernel"), "6.1.0");
  EXPECT_EQ(row.text("kernel_build"), "#1 SMP");
  EXPECT_EQ(row.text("kernel_command"), "root=/dev/vda1 quiet");
}

// The kernel's lines, in its order, among others with similar names.
TEST_F(SystemTest, each_kind_of_memory_has_its_line) {
  const std::pair<const char*, const char*> lines[] = {
      {"MemTotal", "total_bytes"},
      {"MemFree", "free_bytes"},
      {"MemAvailable", "available_bytes"},
      {"Buffers", "buffer_bytes"},
      {"Cached", "cached_bytes"},
      {"SwapCached", "swap_cached_bytes"},
      {"Active", ""},
      {"Inactive", ""},
      {"Active(anon)", ""},
      {"Inactive(anon)", ""},
      {"Active(file)", "active_file_bytes"},
      {"Inactive(file)", "inactive_file_bytes"},
      {"SwapTotal", "swap_total_bytes"},
      {"SwapFree", "swap_free_bytes"},
      {"Dirty", "dirty_bytes"},
      {"Writeback", "writeback_bytes"},
      {"AnonPages", "anonymous_bytes"},
      {"Shmem", "shared_bytes"},
      {"KReclaimable", ""},
      {"Slab", ""},
      {"SReclaimable", "slab_reclaimable_bytes"},
      {"WritebackTmp", ""},
      {"AnonHugePages", ""},
      {"ShmemHugePages", ""},
      {"Hugetlb", "huge_page_bytes"},
  };
  std::string text;
  int amount = 1000;
  for (const auto& [name, column] : lines)
    text += std::string(name) + ":       " + std::to_string(++amount) + " kB\n";
  write("proc/meminfo", text);
  take_system_of_test();
  const SnapshotRow row = rows("snapshot_memory").at(0);
  amount = 1000;
  for (const auto& [name, column] : lines) {
    ++amount;
    if (*column != 0) {
      EXPECT_EQ(row[column], amount * 1024) << column;
    }
  }
}

TEST_F(SystemTest, memory) {
  write("proc/meminfo",
        "MemTotal:       100 kB\nSwapCached:      7 kB\nCached:   3 kB\nDirty: 1 kB\n");
  take_system_of_test();
  const SnapshotRow row = rows("snapshot_memory").at(0);
  EXPECT_EQ(row["total_bytes"], 100 * 1024);
  EXPECT_EQ(row["cached_bytes"], 3 * 1024);
  EXPECT_EQ(row["swap_cached_bytes"], 7 * 1024);
  EXPECT_EQ(row["dirty_bytes"], 1024);
  EXPECT_EQ(row["free_bytes"], 0);
}

TEST_F(SystemTest, disks_with_their_queues_and_partitions) {
  write("sys/block/sda/size", "2048\n");
  write("sys/block/sda/dev", "8:0\n");
  write("sys/block/sda/removable", "1\n");
  write("sys/block/sda/device/model", "Disk 1   \n");
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"scheduler", "none [mq-deadline] kyber"},
                                          {"nr_requests", "64"},
                                          {"read_ahead_kb", "128"},
                                          {"max_sectors_kb", "1280"},
                                          {"max_hw_sectors_kb", "32767"},
                                          {"logical_block_size", "512"},
                                          {"physical_block_size", "4096"},
                                          {"minimum_io_size", "4096"},
                                          {"optimal_io_size", "0"},
                                          {"rotational", "1"},
                                          {"fua", "1"},
                                          {"nomerges", "2"},
                                          {"write_cache", "write back"},
                                          {"zoned", "none"},
                                          {"discard_max_bytes", "2147450880"},
                                          {"wbt_lat_usec", "75000"}})
    write("sys/block/sda/queue/" + name, value + "\n");
  fs::create_directories(folder_ / "sys/block/sda/mq/0");
  fs::create_directories(folder_ / "sys/block/sda/mq/1");
  write("sys/block/sda/sda1/partition", "1\n");
  write("sys/block/sda/sda1/size", "1024\n");
  write("sys/block/sda/sda1/dev", "8:1\n");
  write("sys/block/sda/sda1/ro", "1\n");
  write("sys/block/dm-0/size", "8\n");
  write("sys/block/dm-0/dev", "253:0\n");
  fs::create_directories(folder_ / "sys/block/dm-0/slaves/sda1");
  fs::create_directories(folder_ / "sys/block/dm-0/slaves/nvme0n1");
  write("sys/block/loop0/size", "0\n");
  take_system_of_test();
  const auto disks = rows("snapshot_disk");
  ASSERT_EQ(disks.size(), 3U);
  EXPECT_EQ(disks[0].text("name"), "dm-0");
  EXPECT_EQ(disks[0].text("below"), "nvme0n1 sda1");
  const SnapshotRow& disk = disks[1];
  EXPECT_EQ(disk.text("name"), "sda");
  EXPECT_EQ(disk.text("model"), "Disk 1");
  EXPECT_EQ(disk.text("scheduler"), "mq-deadline");
  EXPECT_EQ(disk.text("write_cache"), "write back");
  EXPECT_EQ(disk.text("zones"), "none");
  EXPECT_EQ(disk["bytes"], 2048 * 512);
  EXPECT_EQ(disk["device"], IOT_DEVICE(8, 0));
  EXPECT_EQ(disk["queue_requests"], 64);
  EXPECT_EQ(disk["hardware_queues"], 2);
  EXPECT_EQ(disk["read_ahead_bytes"], 128 * 1024);
  EXPECT_EQ(disk["request_max_bytes"], 1280 * 1024);
  EXPECT_EQ(disk["hardware_max_bytes"], 32767 * 1024);
  EXPECT_EQ(disk["logical_block_bytes"], 512);
  EXPECT_EQ(disk["physical_block_bytes"], 4096);
  EXPECT_EQ(disk["io_min_bytes"], 4096);
  EXPECT_EQ(disk["rotational"], 1);
  EXPECT_EQ(disk["fua"], 1);
  EXPECT_EQ(disk["no_merges"], 2);
  EXPECT_EQ(disk["discard_max_bytes"], 2147450880);
  EXPECT_EQ(disk["throttle_ns"], 75'000'000);
  EXPECT_EQ(disk["is_removable"], 1);
  EXPECT_EQ(disk["is_read_only"], 0);
  const SnapshotRow& partition = disks[2];
  EXPECT_EQ(partition.text("name"), "sda1");
  EXPECT_EQ(partition["parent_device"], IOT_DEVICE(8, 0));
  EXPECT_EQ(partition["bytes"], 1024 * 512);
  EXPECT_EQ(partition["is_read_only"], 1);
  EXPECT_EQ(partition.text("scheduler"), "mq-deadline");
}

TEST_F(SystemTest, mounts_with_options) {
  write("proc/self/mountinfo",
        "36 35 98:3 /sub /mnt/a\\040b rw,noatime - ext4 /dev/vda1 rw,data=x\n");
  take_system_of_test();
  const SnapshotRow row = rows("snapshot_mount").at(0);
  EXPECT_EQ(row["mount"], 36);
  EXPECT_EQ(row["parent_mount"], 35);
  EXPECT_EQ(row["device"], IOT_DEVICE(98, 3));
  EXPECT_EQ(row.text("path"), "/mnt/a b");
  EXPECT_EQ(row.text("root"), "/sub");
  EXPECT_EQ(row.text("type"), "ext4");
  EXPECT_EQ(row.text("source"), "/dev/vda1");
  EXPECT_EQ(row.text("options"), "rw,noatime");
  EXPECT_EQ(row.text("file_system_options"), "rw,data=x");
}

TEST_F(SystemTest, network_interfaces) {
  for (const auto& [name, value] :
       std::map<std::string, std::string>{{"operstate", "up"},
                                          {"address", "02:00:00:00:00:01"},
                                          {"speed", "1000"},
                                          {"mtu", "1500"},
                                          {"tx_queue_len", "500"},
                                          {"statistics/rx_bytes", "1"},
                                          {"statistics/rx_packets", "2"},
                                          {"statistics/rx_errors", "3"},
                                          {"statistics/rx_dropped", "4"},
                                          {"statistics/tx_bytes", "5"},
                                          {"statistics/tx_packets", "6"},
                                          {"statistics/tx_errors", "7"},
                                          {"statistics/tx_dropped", "8"}})
    write("sys/class/net/eth0/" + name, value + "\n");
  fs::create_directories(folder_ / "sys/class/net/eth0/device");
  fs::create_symlink("../../drivers/virtio_net", folder_ / "sys/class/net/eth0/device/driver");
  write("sys/class/net/bonding_masters", "\n");
  take_system_of_test();
  const auto interfaces = rows("snapshot_network");
  ASSERT_EQ(interfaces.size(), 1U);
  const SnapshotRow& row = interfaces[0];
  EXPECT_EQ(row.text("name"), "eth0");
  EXPECT_EQ(row.text("state"), "up");
  EXPECT_EQ(row.text("address"), "02:00:00:00:00:01");
  EXPECT_EQ(row.text("driver"), "virtio_net");
  EXPECT_EQ(row["speed_bits"], 1'000'000'000);
  EXPECT_EQ(row["packet_max_bytes"], 1500);
  EXPECT_EQ(row["queue_packets"], 500);
  const char* const counters[] = {"received_bytes", "received_packets", "receive_errors",
                                  "receive_drops",  "sent_bytes",       "sent_packets",
                                  "send_errors",    "send_drops"};
  for (std::size_t i = 0; i < std::size(counters); ++i)
    EXPECT_EQ(row[counters[i]], static_cast<std::int64_t>(i + 1)) << counters[i];
}

TEST_F(SystemTest, settings_that_there_are) {
  write("proc/sys/vm/swappiness", "60\n");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  take_system_of_test();
  const auto settings = rows("snapshot_setting");
  ASSERT_EQ(settings.size(), 2U);
  EXPECT_EQ(settings[0].text("name"), "vm.swappiness");
  EXPECT_EQ(settings[0].text("setting"), "60");
  EXPECT_EQ(settings[1].text("name"), "kernel/mm/transparent_hugepage/enabled");
  EXPECT_EQ(settings[1].text("setting"), "always [madvise] never");
}

TEST_F(SystemTest, garbage_does_no_harm) {
  write("proc/uptime", "-x.");
  write("proc/cpuinfo", "model name");
  write("proc/meminfo", "MemTotal: 99999999999999999999999 kB\nDirty:");
  write("proc/self/mountinfo", "x y z\n");
  write("sys/devices/system/cpu/online", "9-2,,-");
  write("sys/block/sda/size", "1");
  write("sys/block/sda/dev", "8");
  write("sys/block/sda/queue/scheduler", "] [none");
  write("sys/block/sda/queue/max_sectors_kb", "18446744073709551615");
  write("etc/os-release", "PRETTY_NAME=\"");
  take_system_of_test();
  EXPECT_EQ(rows("snapshot_system").at(0)["running_ns"], 0);
  EXPECT_EQ(rows("snapshot_system").at(0)["cpus"], 0);
  EXPECT_EQ(rows("snapshot_memory").at(0)["total_bytes"], 0);
  EXPECT_EQ(rows("snapshot_disk").at(0)["device"], 0);
}

} // namespace
} // namespace iotrail::capture::snapshot
