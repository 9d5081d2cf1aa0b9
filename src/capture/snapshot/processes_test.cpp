// SPDX-License-Identifier: BSD-3-Clause
#include "capture/snapshot/processes.hpp"

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "capture/snapshot/rows/test_run.hpp"

namespace iotrail::capture::snapshot {
namespace {

namespace fs = std::filesystem;

class ProcessesTest : public TakingTest {
protected:
  ProcessesTest() { fs::create_directory(proc_); }

  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((proc_ / name).parent_path());
    std::ofstream(proc_ / name, std::ios::binary) << text;
  }
  void add_process(const std::string& pid, const std::string& name,
                   int virtual_bytes = 8192) const {
    write(pid + "/stat", pid + " (" + name + ") S 1 1 1 0 -1 0 9 0 5 0 250 50 0 0 20 0 4 0 1000 " +
                             std::to_string(virtual_bytes) +
                             " 2 0 0 0 0 0 0 0 0 0 0 0 0 0 17 1 0 0 33 0 0\n");
  }
  std::vector<SnapshotRow> processes() {
    Processes processes(proc_);
    take([&](SnapshotRun& run) { EXPECT_TRUE(processes.take(run)); });
    return rows("snapshot_process");
  }

  fs::path proc_ = folder_ / "proc";
};

TEST_F(ProcessesTest, each_fact_of_proc_is_in_its_field) {
  add_process("7", "my prog");
  write("7/status",
        "Name:\tUid: 9\nUid:\t1000\t0\t0\t0\nVmRSS:\t     300 kB\nVmSwap:\t      12 kB\n");
  write("7/io", "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\n"
                "cancelled_write_bytes: 7\n");
  write("7/cmdline", std::string("a\0b c\0", 6));
  write("7/cgroup", "4:memory:/old\n0::/lxc/web/a:b\n");
  fs::create_symlink("/bin/prog", proc_ / "7/exe");
  fs::create_directory(proc_ / "7/ns");
  fs::create_symlink("mnt:[4026531841]", proc_ / "7/ns/mnt");
  const auto found = processes();
  ASSERT_EQ(found.size(), 1U);
  const SnapshotRow& row = found[0];
  EXPECT_EQ(row["pid"], 7);
  EXPECT_EQ(row["tid"], 7);
  EXPECT_EQ(row.text("name"), "my prog");
  EXPECT_EQ(row.text("command"), "a b c");
  EXPECT_EQ(row.text("exe"), "/bin/prog");
  EXPECT_EQ(row.text("cgroup"), "/lxc/web/a:b");
  EXPECT_EQ(row.text("container"), "web");
  EXPECT_EQ(row["uid"], 1000);
  EXPECT_EQ(row["resident_bytes"], 300 * 1024);
  EXPECT_EQ(row["swap_bytes"], 12 * 1024);
  EXPECT_EQ(row["call_bytes_read"], 1);
  EXPECT_EQ(row["call_bytes_written"], 2);
  EXPECT_EQ(row["read_calls"], 3);
  EXPECT_EQ(row["write_calls"], 4);
  EXPECT_EQ(row["device_bytes_read"], 5);
  EXPECT_EQ(row["device_bytes_written"], 6);
  EXPECT_EQ(row["cancelled_bytes"], 7);
  EXPECT_EQ(row["mount_namespace"], 4026531841);
  EXPECT_EQ(row["state"], 'S');
  EXPECT_EQ(row["threads"], 4);
  EXPECT_EQ(row["error"], 0);
}

TEST_F(ProcessesTest, a_kernel_thread_has_no_command) {
  add_process("2", "kthreadd", 0);
  write("2/cmdline", "not read");
  const auto found = processes();
  EXPECT_EQ(found.at(0).text("command"), "");
  EXPECT_EQ(found.at(0).text("container"), "");
}

TEST_F(ProcessesTest, names_are_hostile) {
  add_process("7", "a) R 99 (\n\x1b[31m\xff");
  write("7/cmdline", std::string(300'000, 'x'));
  write("7/status", "");
  write("7/io", "rchar: 99999999999999999999999\nwchar: -1\nsyscr:");
  write("7/cgroup", ":::\n");
  const auto found = processes();
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].text("name"), "a) R 99 (\n\x1b[31m\xff");
  EXPECT_EQ(found[0].text("command").size(), store::kTextBytesMax);
  EXPECT_EQ(found[0]["parent_pid"], 1);
  EXPECT_EQ(found[0]["call_bytes_read"], 0);
  EXPECT_EQ(found[0]["call_bytes_written"], 0);
}

TEST_F(ProcessesTest, entries_that_are_no_process_are_skipped) {
  add_process("7", "a");
  write("8/stat", "garbage");
  write("self/stat", "7 (a) S 1 ");
  write("7x/stat", "7 (a) S 1 ");
  write("99999999999999/stat", "7 (a) S 1 ");
  fs::create_directory(proc_ / "9"); // it ended meanwhile
  write("10", "a file");
  EXPECT_EQ(processes().size(), 1U);
  EXPECT_EQ(found_, 1U);
}

TEST_F(ProcessesTest, without_proc_there_are_none) {
  fs::remove_all(proc_);
  EXPECT_TRUE(processes().empty());
}

TEST_F(ProcessesTest, this_process_is_among_those_of_the_machine) {
  Processes processes;
  take([&](SnapshotRun& run) { EXPECT_TRUE(processes.take(run)); });
  bool is_there = false;
  for (const SnapshotRow& row : rows("snapshot_process"))
    if (row["pid"] == ::getpid()) {
      is_there = true;
      EXPECT_EQ(row["parent_pid"], ::getppid());
      EXPECT_EQ(row["error"], 0);
      EXPECT_EQ(row.text("exe"), fs::read_symlink("/proc/self/exe"));
      EXPECT_GT(row["resident_bytes"], 0);
      EXPECT_GT(row["pid_namespace"], 0);
      EXPECT_GE(row["cpu_1h_permille"], 0); // it is younger
    }
  EXPECT_TRUE(is_there);
}

} // namespace
} // namespace iotrail::capture::snapshot
