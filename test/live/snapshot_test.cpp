// SPDX-License-Identifier: BSD-3-Clause
//
// Compares snapshots of this machine with the results of other calls.
#include <gtest/gtest.h>

#include <fcntl.h>
#include <net/if.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <sys/sysmacros.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <set>

#include "base/clock.hpp"
#include "base/process.hpp"
#include "capture/selection/mounts.hpp"
#include "capture/snapshot/rows/taken_rows.hpp"
#include "capture/snapshot/snapshot_source.hpp"
#include "live_recording.hpp"

namespace iotrail::live {
namespace {

namespace fs = std::filesystem;
using capture::snapshot::read_taken_rows;
using capture::snapshot::SnapshotRow;
using Rows = std::vector<SnapshotRow>;

// A snapshot of everything, and of a directory with a file.
class Snapshots {
public:
  static const Snapshots& of_this_machine() {
    static const Snapshots snapshots;
    return snapshots;
  }
  Rows rows(std::string_view table) const { return read_taken_rows(trace_, table); }
  std::optional<SnapshotRow> row(std::string_view table, std::string_view text,
                                 std::string_view value) const {
    for (const SnapshotRow& row : rows(table))
      if (row.text(text) == value)
        return row;
    return std::nullopt;
  }
  const std::string& file() const { return file_; }
  const store::Manifest& manifest() const { return manifest_; }

private:
  Snapshots() : file_(scratch_ / "file"), trace_(scratch_ / "t.iotrail") {
    std::ofstream(file_) << "seven b";
    capture::SourceOptions options;
    options.filter.layers = {schema::Layer::snapshot};
    auto source = capture::make_snapshot_source(
        {.wanted = {{.kind = IOT_snapshot_kind_fs, .root = scratch_.path()},
                    {.kind = IOT_snapshot_kind_fs, .root = "/dev"},
                    {.kind = IOT_snapshot_kind_process, .root = {}},
                    {.kind = IOT_snapshot_kind_system, .root = {}}},
         .since = {}});
    const capture::Source* const watched = source.get();
    auto recorder = open_recorder(trace_, std::move(source), options);
    IOTRAIL_CHECK(recorder && (*recorder)->start());
    while (!watched->has_ended()) {
      (*recorder)->step(monotonic_ns());
      ::usleep(1000);
    }
    IOTRAIL_CHECK((*recorder)->stop({}).has_value());
    manifest_ = (*recorder)->manifest();
  }

  ScratchDirectory scratch_;
  std::string file_;
  fs::path trace_;
  store::Manifest manifest_;
};

const Snapshots& all() {
  return Snapshots::of_this_machine();
}

iot_s64 ns_of(const timespec& time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

TEST(snapshot_begin, has_subject_and_path) {
  const Rows begins = all().rows("snapshot_begin");
  ASSERT_EQ(begins.size(), 4U);
  const auto files =
      all().row("snapshot_begin", "path", fs::path(all().file()).parent_path().native());
  ASSERT_TRUE(files);
  EXPECT_EQ((*files)["of"], IOT_snapshot_kind_fs);
  EXPECT_EQ((*files)["is_delta"], 0);
  EXPECT_EQ(files->text("base"), "");
  EXPECT_GE((*files)["snapshot"], 1);
  EXPECT_LE((*files)["snapshot"], 4);
}

TEST(snapshot_end, has_the_number_of_rows) {
  const Rows ends = all().rows("snapshot_end");
  ASSERT_EQ(ends.size(), 4U);
  for (const SnapshotRow& end : ends) {
    EXPECT_EQ(end["is_complete"], 1);
    EXPECT_GT(end["found"], 0);
    EXPECT_GT(end["took_ns"], 0);
    if (end["of"] == IOT_snapshot_kind_process) {
      EXPECT_EQ(end["found"], static_cast<iot_s64>(all().rows("snapshot_process").size()));
    }
  }
}

TEST(snapshot_file, has_the_fields_of_stat) {
  const auto file = all().row("snapshot_file", "path", all().file());
  ASSERT_TRUE(file);
  struct stat status{};
  ASSERT_EQ(::stat(all().file().c_str(), &status), 0);
  EXPECT_EQ((*file)["bytes"], 7);
  EXPECT_EQ((*file)["allocated_bytes"], status.st_blocks * 512);
  EXPECT_EQ((*file)["inode"], static_cast<iot_s64>(status.st_ino));
  EXPECT_EQ((*file)["mode"], status.st_mode);
  EXPECT_EQ((*file)["links"], 1);
  EXPECT_EQ((*file)["uid"], status.st_uid);
  EXPECT_EQ((*file)["gid"], status.st_gid);
  EXPECT_EQ((*file)["device"], IOT_DEVICE(major(status.st_dev), minor(status.st_dev)));
  EXPECT_EQ((*file)["node_device"], 0);
  EXPECT_EQ((*file)["modified_ns"], ns_of(status.st_mtim));
  EXPECT_EQ((*file)["changed_ns"], ns_of(status.st_ctim));
  EXPECT_EQ((*file)["accessed_ns"], ns_of(status.st_atim));
  EXPECT_LE((*file)["born_ns"], ns_of(status.st_ctim));
  EXPECT_EQ((*file)["error"], 0);
  EXPECT_EQ((*file)["difference"], IOT_snapshot_difference_none);
}

TEST(snapshot_file, of_a_device_node_has_its_number) {
  const auto null = all().row("snapshot_file", "path", "/dev/null");
  if (!null)
    GTEST_SKIP() << "this machine has no /dev/null, or mounted something on it";
  EXPECT_EQ((*null)["node_device"], IOT_DEVICE(1, 3));
  EXPECT_TRUE(S_ISCHR((*null)["mode"]));
}

TEST(snapshot_left_out, names_other_file_systems) {
  std::set<std::string> mounts_below; // one may cover another
  for (const capture::Mount& mount : capture::read_mounts()) {
    if (!mount.point.starts_with("/dev/") ||
        fs::path(mount.point).parent_path() != "/dev") // one may cover another
      continue;
    mounts_below.insert(mount.point);
    const auto left_out = all().row("snapshot_left_out", "path", mount.point);
    ASSERT_TRUE(left_out) << mount.point;
    EXPECT_EQ((*left_out)["reason"], IOT_snapshot_reason_other_file_system);
    EXPECT_EQ((*left_out)["error"], 0);
    struct stat status{};
    ASSERT_EQ(::stat(mount.point.c_str(), &status), 0);
    EXPECT_EQ((*left_out)["device"], IOT_DEVICE(major(status.st_dev), minor(status.st_dev)));
  }
  if (mounts_below.empty())
    GTEST_SKIP() << "nothing is mounted below /dev";
  EXPECT_GE(counter_of(all().manifest(), IOT_COUNTER_snapshot_other_file_system),
            mounts_below.size());
}

TEST(snapshot_process, has_the_counters_of_a_process) {
  std::optional<SnapshotRow> self;
  for (SnapshotRow& row : all().rows("snapshot_process"))
    if (row["pid"] == ::getpid())
      self = std::move(row);
  ASSERT_TRUE(self);
  EXPECT_EQ((*self)["tid"], ::getpid());
  EXPECT_EQ((*self)["parent_pid"], ::getppid());
  EXPECT_EQ((*self)["uid"], ::getuid());
  EXPECT_GE((*self)["threads"], 2); // one thread takes the snapshot
  EXPECT_GT((*self)["start_ns"], 0);
  EXPECT_LT((*self)["start_ns"], static_cast<iot_s64>(all().manifest().begin_ns));
  EXPECT_GT((*self)["virtual_bytes"], (*self)["resident_bytes"]);
  EXPECT_GT((*self)["resident_bytes"], 0);
  EXPECT_GT((*self)["call_bytes_read"], 0);
  EXPECT_GT((*self)["read_calls"], 0);
  EXPECT_EQ(self->text("exe"), fs::read_symlink("/proc/self/exe"));
  EXPECT_TRUE(self->text("command").contains("live"));
  EXPECT_FALSE(self->text("name").empty());
  const auto inode_of = [](const char* path) {
    struct stat status{};
    return ::stat(path, &status) == 0 ? static_cast<iot_s64>(status.st_ino) : 0;
  };
  for (const auto& [field, file] :
       std::map<std::string, std::string>{{"cgroup_namespace", "cgroup"},
                                          {"ipc_namespace", "ipc"},
                                          {"mount_namespace", "mnt"},
                                          {"network_namespace", "net"},
                                          {"pid_namespace", "pid"},
                                          {"time_namespace", "time"},
                                          {"user_namespace", "user"},
                                          {"uts_namespace", "uts"}})
    EXPECT_EQ((*self)[field], inode_of(("/proc/self/ns/" + file).c_str())) << field;
}

TEST(snapshot_system, is_this_machine) {
  const Rows rows = all().rows("snapshot_system");
  ASSERT_EQ(rows.size(), 1U);
  utsname names{};
  ASSERT_EQ(::uname(&names), 0);
  EXPECT_EQ(rows[0].text("kernel"), names.release);
  EXPECT_EQ(rows[0].text("kernel_build"), names.version);
  EXPECT_EQ(rows[0].text("machine"), names.machine);
  EXPECT_EQ(rows[0].text("host"), names.nodename);
  EXPECT_EQ(rows[0]["cpus"], ::sysconf(_SC_NPROCESSORS_ONLN));
  EXPECT_GE(rows[0]["cpus_present"], rows[0]["cpus"]);
  EXPECT_GT(rows[0]["running_ns"], 0);
}

TEST(snapshot_memory, is_that_of_this_machine) {
  const Rows rows = all().rows("snapshot_memory");
  ASSERT_EQ(rows.size(), 1U);
  struct sysinfo info{};
  ASSERT_EQ(::sysinfo(&info), 0);
  EXPECT_EQ(rows[0]["total_bytes"], static_cast<iot_s64>(info.totalram * info.mem_unit));
  EXPECT_EQ(rows[0]["swap_total_bytes"], static_cast<iot_s64>(info.totalswap * info.mem_unit));
  EXPECT_GT(rows[0]["free_bytes"], 0);
  EXPECT_LE(rows[0]["available_bytes"], rows[0]["total_bytes"]);
  EXPECT_GT(rows[0]["cached_bytes"], 0);
}

TEST(snapshot_disk, is_there_for_each_disk_with_a_size) {
  std::size_t disks = 0;
  for (const auto& entry : fs::directory_iterator("/sys/block")) {
    std::uint64_t sectors = 0;
    std::ifstream(entry.path() / "size") >> sectors;
    if (sectors == 0)
      continue;
    ++disks;
    const auto disk = all().row("snapshot_disk", "name", entry.path().filename().native());
    if (!disk) // other tests make disks meanwhile
      continue;
    EXPECT_EQ((*disk)["parent_device"], (*disk)["device"]);
    EXPECT_GT((*disk)["bytes"], 0);
    EXPECT_GE((*disk)["physical_block_bytes"], (*disk)["logical_block_bytes"]);
    EXPECT_GE((*disk)["logical_block_bytes"], 512);
    EXPECT_GE((*disk)["hardware_max_bytes"], (*disk)["request_max_bytes"]);
    EXPECT_FALSE(disk->text("write_cache").empty());
  }
  if (disks == 0)
    GTEST_SKIP() << "this machine has no disk";
  EXPECT_FALSE(all().rows("snapshot_disk").empty());
}

TEST(snapshot_mount, has_the_root) {
  const auto root = all().row("snapshot_mount", "path", "/");
  ASSERT_TRUE(root);
  EXPECT_FALSE(root->text("type").empty());
  EXPECT_TRUE(root->text("options").starts_with("r")); // rw or ro
  EXPECT_FALSE(root->text("root").empty());
}

TEST(snapshot_network, has_the_loopback_interface) {
  if (::if_nametoindex("lo") == 0)
    GTEST_SKIP() << "this network namespace has no loopback interface";
  const auto loopback = all().row("snapshot_network", "name", "lo");
  ASSERT_TRUE(loopback);
  EXPECT_EQ(loopback->text("address"), "00:00:00:00:00:00");
  EXPECT_EQ(loopback->text("driver"), "");
  EXPECT_GT((*loopback)["packet_max_bytes"], 0);
  EXPECT_LE((*loopback)["received_bytes"], (*loopback)["sent_bytes"]); // read later
}

TEST(snapshot_setting, has_the_value_of_the_kernel) {
  std::string swappiness;
  std::ifstream("/proc/sys/vm/swappiness") >> swappiness;
  const auto setting = all().row("snapshot_setting", "name", "vm.swappiness");
  ASSERT_EQ(setting.has_value(), !swappiness.empty());
  if (!setting)
    GTEST_SKIP() << "this kernel does not show vm.swappiness";
  EXPECT_EQ(setting->text("setting"), swappiness);
}

// A process with the command line of QEMU and an image open, until this object ends.
class Machine {
public:
  explicit Machine(const std::string& image) {
    int ends[2];
    IOTRAIL_CHECK(::pipe2(ends, O_CLOEXEC) == 0);
    const std::string drive = "file=" + image + ",format=raw,if=none,id=disk0";
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(ends[0], STDIN_FILENO);
      if (::open(image.c_str(), O_RDONLY) < 0)
        ::_exit(1);
      ::execl("/bin/sh", "sh", "-c", "read line", "-name", "guest=here", "-drive", drive.c_str(),
              nullptr);
      ::_exit(1);
    }
    ::close(ends[0]);
    stdin_ = ends[1];
    while (comm_of(pid_) != "sh")
      ::usleep(1000);
  }
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine() {
    ::close(stdin_);
    ::waitpid(pid_, nullptr, 0);
  }
  pid_t pid() const { return pid_; }

private:
  pid_t pid_ = 0;
  int stdin_ = -1;
};

class VirtualMachine : public ::testing::Test {
protected:
  void SetUp() override {
    std::ofstream(image_) << "seven b";
    const Machine machine(image_);
    pid_ = machine.pid();
    capture::SourceOptions options;
    options.filter.layers = {schema::Layer::snapshot};
    options.filter.machines = {pid_};
    auto recorder = open_recorder(trace_, capture::make_snapshot_source({}), options);
    ASSERT_TRUE(recorder && (*recorder)->start());
    ASSERT_TRUE((*recorder)->stop({}));
  }
  Rows rows(std::string_view table) const { return read_taken_rows(trace_, table); }

  ScratchDirectory scratch_;
  std::string image_ = scratch_ / "image";
  fs::path trace_ = scratch_ / "t.iotrail";
  pid_t pid_ = 0;
};

TEST_F(VirtualMachine, snapshot_vm_image_is_its_open_file) {
  const Rows images = rows("snapshot_vm_image");
  ASSERT_EQ(images.size(), 2U) << "at the begin and at the end";
  struct stat status{};
  ASSERT_EQ(::stat(image_.c_str(), &status), 0);
  for (const SnapshotRow& image : images) {
    EXPECT_EQ(image["pid"], pid_);
    EXPECT_EQ(image.text("machine"), "here");
    EXPECT_EQ(image.text("drive"), "disk0");
    EXPECT_EQ(image.text("path"), fs::canonical(image_).native());
    EXPECT_EQ(image.text("backing"), "");
    EXPECT_EQ(image["inode"], static_cast<iot_s64>(status.st_ino));
    EXPECT_NE(image["device"], 0);
    EXPECT_EQ(image["guest_bytes"], 7);
    EXPECT_EQ(image["format"], IOT_vm_format_raw);
    EXPECT_EQ(image["depth"], 0);
    EXPECT_EQ(image["is_mapped"], 1);
  }
}

TEST_F(VirtualMachine, snapshot_vm_map_of_a_raw_image_is_the_file) {
  const Rows map = rows("snapshot_vm_map");
  ASSERT_EQ(map.size(), 2U);
  for (const SnapshotRow& range : map) {
    EXPECT_EQ(range["image"], 1);
    EXPECT_EQ(range["offset"], 0);
    EXPECT_EQ(range["guest_offset"], 0);
    EXPECT_EQ(range["bytes"], INT64_MAX);
    EXPECT_EQ(range["content"], IOT_vm_content_data);
  }
}

} // namespace
} // namespace iotrail::live
