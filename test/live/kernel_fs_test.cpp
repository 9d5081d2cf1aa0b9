// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer fs: known changes to an ext4 of the test, every field of the
// records.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "base/clock.hpp"
#include "block_device.hpp"
#include "bystander.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"

namespace iotrail::live {
namespace {

constexpr std::uint64_t kFsBlockBytes = 4096;
constexpr const char* kNoCommitByTime = "commit=600"; // as after 5 seconds else

// 0: success. Creates the file, writes this many blocks, and syncs them by `sync`.
int write_and_sync(const std::string& path, int blocks, int (*sync)(int)) {
  const int fd = ::open(path.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::string block(kFsBlockBytes, 'x');
  for (int done = 0; done < blocks; ++done)
    if (::write(fd, block.data(), block.size()) != static_cast<ssize_t>(block.size()))
      return 1;
  const int result = sync(fd);
  ::close(fd);
  return fd < 0 || result != 0 ? 1 : 0;
}

class KernelFs : public testing::Test {
protected:
  void SetUp() override {
    system_.emplace(folder_ / "disk", folder_ / "mounted", kind());
    before_ns_ = monotonic_ns();
  }
  virtual FileSystemKind kind() const {
    FileSystemKind kind = kJournalledExt4;
    kind.options = kNoCommitByTime;
    return kind;
  }

  // Records these events in addition to the defaults.
  void record(const std::vector<std::string>& added, const std::function<int()>& body) {
    if (!system_->refusal().empty())
      return;
    std::vector<std::string> events;
    if (!added.empty())
      events = {"syscall_sync", "fs_sync", "fs_journal_commit"};
    std::ranges::copy(added, std::back_inserter(events));
    recording_ = Recording::among_others(
        {.layers = {schema::Layer::syscall, schema::Layer::fs}, .events = events}, body);
    if (!recording_.refusal().empty())
      return;
    EXPECT_EQ(recording_.status(), 0) << "the child failed";
    EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
    EXPECT_EQ(recording_.lost(), 0U);
  }

  std::vector<Row> of_device(const std::string& table) const {
    return recording_.rows(table, "device", system_->device().device());
  }

  void check_header(const Row& row) const {
    EXPECT_GT(row.u("ts_ns"), before_ns_);
    EXPECT_LT(row.u("ts_ns") + row.u("duration_ns"), monotonic_ns());
    EXPECT_GT(row.u("duration_ns"), 0U);
    EXPECT_LT(row.u("cpu"), static_cast<std::uint64_t>(::sysconf(_SC_NPROCESSORS_CONF)));
  }

  ScratchDirectory folder_;
  std::optional<MountedFileSystem> system_;
  std::uint64_t before_ns_ = 0;
  Recording recording_;
};

#define RECORD_JOURNAL(event, ...)                                                                 \
  do {                                                                                             \
    record(__VA_ARGS__);                                                                           \
    if (!system_->refusal().empty())                                                               \
      GTEST_SKIP() << system_->refusal();                                                          \
    SKIP_UNLESS_SERVED(recording_, event);                                                         \
  } while (false)

bool is_within(const Row& inner, const Row& outer) {
  return inner.u("ts_ns") >= outer.u("ts_ns") &&
         inner.u("ts_ns") + inner.u("duration_ns") <= outer.u("ts_ns") + outer.u("duration_ns");
}

TEST_F(KernelFs, fs_sync_of_a_file) {
  RECORD_JOURNAL("fs_sync", {}, [&] {
    return write_and_sync(*system_ / "whole", 3, ::fsync) +
           write_and_sync(*system_ / "data", 1, ::fdatasync);
  });
  for (const bool is_data : {false, true}) {
    const std::string path = *system_ / (is_data ? "data" : "whole");
    SCOPED_TRACE(path);
    const std::vector<Row> rows = recording_.rows_of_file("fs_sync", path);
    const std::vector<Row> calls = recording_.rows_of_file("syscall_sync", path);
    ASSERT_EQ(rows.size(), 1U);
    ASSERT_EQ(calls.size(), 1U);
    check_header(rows[0]);
    EXPECT_EQ(rows[0].u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_EQ(rows[0].u("tid"), static_cast<std::uint64_t>(recording_.pid()));
    EXPECT_EQ(rows[0].u("op_id"), calls[0].u("op_id"));
    EXPECT_EQ(rows[0].u("parent_op"), calls[0].u("parent_op"));
    EXPECT_TRUE(is_within(rows[0], calls[0]));
    EXPECT_EQ(rows[0].s("result"), 0);
    EXPECT_EQ(rows[0].u("device"), system_->device().device());
    EXPECT_EQ(rows[0].u("datasync"), is_data ? 1U : 0U);
    std::vector<Row> commits = of_device("fs_journal_commit");
    std::erase_if(commits,
                  [&](const Row& row) { return row.u("transaction") != rows[0].u("transaction"); });
    ASSERT_EQ(commits.size(), 1U);
    EXPECT_TRUE(is_within(commits[0], rows[0]));
  }
}

// A number from the kernel's own statistics of a journal, by its words: "  0ms running
// transaction".
std::uint64_t journal_figure(const LoopDevice& device, const std::string& words) {
  std::istringstream lines(text_of("/proc/fs/jbd2/" + device.name() + "-8/info"));
  for (std::string line; std::getline(lines, line);)
    if (line.find(words) != line.npos)
      return std::strtoull(line.c_str(), nullptr, 10);
  ADD_FAILURE() << words;
  return 0;
}

TEST_F(KernelFs, fs_journal_commit_as_the_kernel_counts_it) {
  constexpr useconds_t kRunningMicroseconds = 60'000; // at least
  if (system_->refusal().empty()) {
    ASSERT_EQ(journal_figure(system_->device(), "transactions ("), 0U);
  }
  RECORD_JOURNAL("fs_journal_commit", {"fs_journal_handle"}, [&] {
    const int fd = ::open((*system_ / "file").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    ::usleep(kRunningMicroseconds);
    return ::write(fd, "x", 1) == 1 && ::fsync(fd) == 0 ? 0 : 1;
  });
  const std::vector<Row> rows = of_device("fs_journal_commit");
  ASSERT_EQ(rows.size(), 1U);
  const Row& row = rows[0];
  check_header(row);
  const std::vector<Row> syncs = of_device("fs_sync");
  ASSERT_EQ(syncs.size(), 1U);
  EXPECT_EQ(row.u("op_id"), syncs[0].u("op_id"));
  EXPECT_EQ(row.u("parent_op"), syncs[0].u("parent_op"));
  EXPECT_EQ(row.u("transaction"), syncs[0].u("transaction"));
  EXPECT_EQ(row.u("pid"), row.u("tid"));
  EXPECT_EQ(text_of("/proc/" + std::to_string(row.u("tid")) + "/comm"),
            "jbd2/" + system_->device().name() + "-8\n");
  EXPECT_EQ(row.u("locked_ns") + row.u("flushing_ns") + row.u("logging_ns"), row.u("duration_ns"));
  EXPECT_GT(row.u("locked_ns"), 0U);
  EXPECT_GT(row.u("flushing_ns"), 0U);
  EXPECT_GT(row.u("logging_ns"), 0U);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_GE(row.u("running_ns"), kRunningMicroseconds * 1000U / 2); // it counts in ticks

  const LoopDevice& device = system_->device();
  ASSERT_EQ(journal_figure(device, "transactions ("), 1U);
  constexpr std::uint64_t kMillisecond = 1'000'000;
  EXPECT_EQ(row.u("running_ns") / kMillisecond, journal_figure(device, "running transaction"));
  EXPECT_EQ(row.u("request_delay_ns") / kMillisecond, journal_figure(device, "request delay"));
  EXPECT_EQ(row.u("handle_wait_ns") / kMillisecond,
            journal_figure(device, "waiting for transaction"));
  EXPECT_EQ(row.u("handles"), journal_figure(device, "handles per transaction"));
  EXPECT_EQ(row.u("blocks"), journal_figure(device, " blocks per transaction"));
  EXPECT_EQ(row.u("blocks_logged"), journal_figure(device, "logged blocks per transaction"));
  const auto handles = recording_.rows("fs_journal_handle", "transaction", row.u("transaction"));
  EXPECT_GT(row.u("traced_handles"), 0U);
  EXPECT_EQ(row.u("traced_handles"), handles.size());
  EXPECT_LE(row.u("traced_handles"), row.u("handles"));
}

TEST_F(KernelFs, fs_journal_commit_of_others_where_a_traced_task_changed_something) {
  const MountedFileSystem other(folder_ / "other-disk", folder_ / "other");
  Bystander bystander([&] {
    return write_and_sync(other / "file", 1, ::fsync) +
           write_and_sync(*system_ / "file", 1, ::fsync);
  });
  RECORD_JOURNAL("fs_journal_commit", {}, [&] {
    const int fd = ::open((*system_ / "mine").c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    return fd >= 0 && bystander.work() ? 0 : 1;
  });
  const std::vector<Row> rows = of_device("fs_journal_commit");
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_EQ(rows[0].u("op_id"), 0U);
  EXPECT_GT(rows[0].u("traced_handles"), 0U);
  EXPECT_LT(rows[0].u("traced_handles"), rows[0].u("handles"));
  EXPECT_TRUE(of_device("fs_sync").empty());
  EXPECT_TRUE(recording_.rows("fs_journal_commit", "device", other.device().device()).empty());
}

TEST_F(KernelFs, fs_journal_handle_of_each_change) {
  RECORD_JOURNAL(
      "fs_journal_handle", {"fs_journal_handle", "syscall_mkdir", "syscall_unlink"}, [&] {
        const std::string directory = *system_ / "directory";
        return ::mkdir(directory.c_str(), 0700) == 0 && ::rmdir(directory.c_str()) == 0 ? 0 : 1;
      });
  const std::vector<Row>& made = recording_.rows("syscall_mkdir");
  ASSERT_EQ(made.size(), 1U);
  const auto rows = recording_.rows("fs_journal_handle", "op_id", made[0].u("op_id"));
  ASSERT_EQ(rows.size(), 1U);
  check_header(rows[0]);
  EXPECT_TRUE(is_within(rows[0], made[0]));
  EXPECT_EQ(rows[0].u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_EQ(rows[0].u("tid"), static_cast<std::uint64_t>(recording_.pid()));
  EXPECT_EQ(rows[0].u("parent_op"), made[0].u("parent_op"));
  EXPECT_GT(rows[0].u("wait_ns"), 0U);
  EXPECT_LT(rows[0].u("wait_ns"), rows[0].u("duration_ns"));
  EXPECT_EQ(rows[0].u("device"), system_->device().device());
  EXPECT_GT(rows[0].u("transaction"), 0U);
  EXPECT_EQ(rows[0].u("type"), static_cast<std::uint64_t>(IOT_ext4_handle_directory));
  EXPECT_GT(rows[0].u("blocks_dirtied"), 2U); // the directory, its inode, its parent's inode
  EXPECT_GE(rows[0].u("blocks_requested"), rows[0].u("blocks_dirtied"));
  EXPECT_EQ(rows[0].u("sync"), 0U);
}

// The smallest possible journal, so that changes fill it before the kernel writes them back by
// itself.
class KernelFsFull : public KernelFs {
protected:
  FileSystemKind kind() const override {
    return {"ext4",
            "-q -b 1024 -O ^fast_commit -E lazy_itable_init=0,lazy_journal_init=0 -J size=1",
            kNoCommitByTime};
  }

  // 0: success. Makes directories, since each changes blocks of its own.
  int fill_journal(const std::string& name) const {
    constexpr int kDirectories = 1500;
    const std::string parent = *system_ / name;
    int failed = ::mkdir(parent.c_str(), 0700);
    for (int number = 0; number < kDirectories; ++number)
      failed |= ::mkdir((parent + '/' + std::to_string(number)).c_str(), 0700);
    return failed != 0 ? 1 : 0;
  }
};

TEST_F(KernelFsFull, fs_journal_checkpoint_of_a_journal_without_room) {
  RECORD_JOURNAL("fs_journal_checkpoint", {"fs_journal_checkpoint", "syscall_mkdir"},
                 [&] { return fill_journal("mine"); });
  const std::vector<Row> rows = of_device("fs_journal_checkpoint");
  ASSERT_FALSE(rows.empty());
  std::uint64_t written = 0;
  std::uint64_t transaction = 0;
  for (const Row& row : rows) {
    check_header(row);
    EXPECT_GT(row.u("transaction"), transaction) << "transactions are written home in their order";
    transaction = row.u("transaction");
    written += row.u("blocks_written");
    EXPECT_LE(row.u("commits_awaited"), row.u("blocks_written") + 1);
  }
  EXPECT_GT(written, 0U);
  // The test's own task needed the room during a call, which waited at least as long.
  const auto in_call =
      std::ranges::find_if(rows, [](const Row& row) { return row.u("op_id") != 0; });
  ASSERT_NE(in_call, rows.end());
  EXPECT_EQ(in_call->u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  const auto calls = recording_.rows("syscall_mkdir", "op_id", in_call->u("op_id"));
  ASSERT_EQ(calls.size(), 1U);
  EXPECT_TRUE(is_within(*in_call, calls[0]));
}

TEST_F(KernelFsFull, fs_journal_checkpoint_of_others_where_a_traced_task_changed_something) {
  Bystander bystander([&] { return fill_journal("theirs"); });
  RECORD_JOURNAL("fs_journal_checkpoint", {"fs_journal_checkpoint", "syscall_mkdir"}, [&] {
    return ::mkdir((*system_ / "mine").c_str(), 0700) == 0 && bystander.work() ? 0 : 1;
  });
  const std::vector<Row> rows = of_device("fs_journal_checkpoint");
  ASSERT_FALSE(rows.empty());
  for (const Row& row : rows) {
    EXPECT_EQ(row.u("op_id"), 0U);
    EXPECT_NE(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  }
}

TEST_F(KernelFsFull, fs_journal_checkpoint_of_a_file_system_that_no_traced_task_uses_is_left_out) {
  Bystander bystander([&] { return fill_journal("theirs"); });
  RECORD_JOURNAL("fs_journal_checkpoint", {"fs_journal_checkpoint"},
                 [&] { return bystander.work() ? 0 : 1; });
  EXPECT_TRUE(of_device("fs_journal_checkpoint").empty());
}

} // namespace
} // namespace iotrail::live
