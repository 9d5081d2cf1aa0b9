// SPDX-License-Identifier: BSD-3-Clause
//
// Calls of NFS, compared with the kernel client's statistics of the mount.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "await.hpp"
#include "kernel_recording.hpp"
#include "mounted_file_system.hpp"
#include "nfs_mount.hpp"
#include "shared.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kFileBytes = 3U << 20U;

// Statistics of one procedure.
struct Calls {
  std::uint64_t calls = 0;
  std::uint64_t transmissions = 0;
  std::uint64_t call_bytes = 0;
  std::uint64_t answer_bytes = 0;

  bool operator==(const Calls&) const = default;
};

void PrintTo(const Calls& calls, std::ostream* out) {
  *out << calls.calls << " calls, sent " << calls.transmissions << " times, " << calls.call_bytes
       << " bytes, " << calls.answer_bytes << " bytes of answers";
}

using Statistics = std::map<std::string, Calls>;

// "READ: calls transmissions timeouts bytes_sent bytes_received ..." for each procedure.
Statistics statistics_of_mount() {
  std::ifstream lines("/proc/self/mountstats");
  Statistics found;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string name;
    Calls calls;
    std::uint64_t timeouts = 0;
    if (words >> name >> calls.calls >> calls.transmissions >> timeouts >> calls.call_bytes >>
            calls.answer_bytes &&
        name.ends_with(':'))
      found[name.substr(0, name.size() - 1)] = calls;
  }
  return found;
}

Calls since(const Calls& now, const Calls& before) {
  return {now.calls - before.calls, now.transmissions - before.transmissions,
          now.call_bytes - before.call_bytes, now.answer_bytes - before.answer_bytes};
}

class KernelRpc : public testing::Test {
protected:
  void record(const std::function<int()>& body) {
    before_ = statistics_of_mount();
    recording_ = Recording::of(
        [](capture::SourceOptions& options, pid_t pid) {
          options.filter.events = {"fs_rpc", "syscall_read", "syscall_sync", "syscall_open",
                                   "syscall_stat"};
          options.filter.tree_root = pid;
        },
        body);
    after_ = statistics_of_mount();
  }

  Calls recorded(const std::vector<Row>& rows, const std::string& procedure) const {
    Calls calls;
    for (const Row& row : rows)
      if (recording_.string(row.u("procedure")) == procedure) {
        ++calls.calls;
        calls.transmissions += row.u("transmissions");
        calls.call_bytes += row.u("call_bytes");
        calls.answer_bytes += row.u("answer_bytes");
      }
    return calls;
  }

  void expect_as_counted(const std::vector<Row>& rows, const std::string& procedure) {
    const Calls counted = since(after_[procedure], before_[procedure]);
    EXPECT_GT(counted.calls, 0U) << procedure;
    EXPECT_EQ(recorded(rows, procedure), counted) << procedure;
  }

  ScratchDirectory scratch_;
  NfsMount nfs_{std::filesystem::path(scratch_ / "served"),
                std::filesystem::path(scratch_ / "mounted")};
  Recording recording_;
  Statistics before_;
  Statistics after_;
};

int write_and_read(const std::string& path) {
  std::vector<char> data(kFileBytes, 'x');
  const Fd file(::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (::write(file.get(), data.data(), kFileBytes) != ssize_t{kFileBytes} ||
      ::fsync(file.get()) != 0 || ::posix_fadvise(file.get(), 0, 0, POSIX_FADV_DONTNEED) != 0)
    return 1;
  return ::pread(file.get(), data.data(), kFileBytes, 0) == ssize_t{kFileBytes} ? 0 : 2;
}

TEST_F(KernelRpc, fs_rpc_for_each_call_that_the_client_counts) {
  if (!nfs_.refusal().empty())
    GTEST_SKIP() << nfs_.refusal();
  const std::string path = nfs_ / "file";
  record([&] {
    return write_and_read(path) == 0 && ::access((nfs_ / "none").c_str(), F_OK) != 0 ? 0 : 1;
  });
  SKIP_UNLESS_SERVED(recording_, "fs_rpc");
  ASSERT_EQ(recording_.status(), 0);
  EXPECT_EQ(recording_.lost(), 0U);
  EXPECT_EQ(recording_.produced(), recording_.written());
  const std::vector<Row>& rows = recording_.rows("fs_rpc");
  for (const char* procedure : {"READ", "WRITE", "OPEN", "LOOKUP", "CLOSE"})
    expect_as_counted(rows, procedure);

  const std::uint64_t sync = recording_.rows("syscall_sync").at(0).u("op_id");
  const std::uint64_t read = recording_.rows("syscall_read", "result", kFileBytes).at(0).u("op_id");
  std::set<std::uint64_t> numbers;
  for (const Row& row : rows) {
    const std::string procedure = recording_.string(row.u("procedure"));
    SCOPED_TRACE(procedure);
    EXPECT_EQ(recording_.string(row.u("program")), "nfs");
    EXPECT_EQ(recording_.string(row.u("server")), "127.0.0.1");
    EXPECT_EQ(row.u("version"), 4U);
    EXPECT_EQ(row.u("transmissions"), 1U);
    EXPECT_EQ(row.u("timeouts"), 0U);
    EXPECT_TRUE(numbers.insert(row.u("xid")).second) << "each has a number of its own";
    EXPECT_GT(row.u("rtt_ns"), 0U);
    EXPECT_GE(row.u("duration_ns"), row.u("queued_ns") + row.u("rtt_ns"));
    const bool moves = procedure == "READ" || procedure == "WRITE" || procedure == "COMMIT";
    EXPECT_EQ(recording_.path(row.u("file")), moves ? path : "");
    if (moves) {
      EXPECT_EQ(row.u("op_id"), procedure == "READ" ? read : sync);
    }
    EXPECT_EQ(row.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
    if (procedure == "LOOKUP")
      EXPECT_EQ(row.s("result"), -ENOENT);
    else
      EXPECT_GE(row.s("result"), 0);
  }
}

// A server that does not answer: its disk's file system is frozen.
class KernelRpcOfAFrozenServer : public testing::Test {
protected:
  // Records the calls of a process that writes and syncs a file meanwhile. `is_left`: its parent,
  // the recorded child, does not wait for it. No other process has the file open, since closing it
  // would wait too.
  void record(bool is_left, const std::function<void()>& meanwhile) {
    const std::string path = nfs_ / "file";
    ASSERT_GE(Fd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)).get(), 0);
    ASSERT_TRUE(freeze(true));
    const std::jthread other(meanwhile);
    ::prctl(PR_SET_CHILD_SUBREAPER, 1);
    recording_ = Recording::of(
        [](capture::SourceOptions& options, pid_t pid) {
          options.filter.events = {"fs_rpc", "syscall_write", "syscall_sync"};
          options.filter.tree_root = pid;
        },
        [&] {
          if (is_left && ::fork() != 0) {
            wait_in_the_sync();
            return 0;
          }
          const int file = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
          const bool is_written = ::write(file, "abc", 3) == 3;
          *syncing_ = ::getpid();
          return is_written && ::fsync(file) == 0 ? 0 : 1;
        });
    *syncing_ = kNone; // for a refused recording, where no child has begun
    ASSERT_TRUE(freeze(false));
    // A child that was left ends only when the server answers.
    while (::waitpid(-1, nullptr, 0) > 0) {
    }
  }

  // Waits until the child has been in its fsync for a known time.
  void wait_in_the_sync() const {
    await([&] { return *syncing_ == kNone || sleeps_in(*syncing_, SYS_fsync); });
    std::this_thread::sleep_for(2 * kFrozen);
  }

  bool freeze(bool is_frozen) const {
    const Fd root(::open(served_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    return ::ioctl(root.get(), is_frozen ? FIFREEZE : FITHAW, 0) == 0 || !is_frozen;
  }

  std::vector<Row> of_procedure(const std::string& procedure) const {
    std::vector<Row> found;
    for (const Row& row : recording_.rows("fs_rpc"))
      if (recording_.string(row.u("procedure")) == procedure)
        found.push_back(row);
    return found;
  }

  static constexpr std::chrono::milliseconds kFrozen{500}; // at least

  // Shared with the children.
  static constexpr pid_t kNone = -1;
  Shared<std::atomic<pid_t>> syncing_;
  ScratchDirectory scratch_;
  MountedFileSystem disk_{scratch_ / "disk", scratch_ / "served"};
  std::filesystem::path served_{scratch_ / "served"};
  NfsMount nfs_{served_, std::filesystem::path(scratch_ / "mounted")};
  Recording recording_;
};

TEST_F(KernelRpcOfAFrozenServer, fs_rpc_takes_as_long_as_the_server_is_silent) {
  if (!nfs_.refusal().empty())
    GTEST_SKIP() << nfs_.refusal();
  record(false, [&] {
    wait_in_the_sync();
    freeze(false);
  });
  SKIP_UNLESS_SERVED(recording_, "fs_rpc");
  EXPECT_EQ(recording_.status(), 0);
  const std::vector<Row> writes = of_procedure("WRITE");
  ASSERT_EQ(writes.size(), 1U);
  const Row& write = writes.front();
  const Row& sync = recording_.rows("syscall_sync").at(0);
  const std::uint64_t frozen_ns = std::chrono::nanoseconds(kFrozen).count();
  EXPECT_EQ(write.u("op_id"), sync.u("op_id"));
  EXPECT_EQ(write.s("result"), 3);
  EXPECT_EQ(write.u("transmissions"), 1U);
  EXPECT_GT(write.u("rtt_ns"), frozen_ns);
  EXPECT_GE(write.u("duration_ns"), write.u("rtt_ns"));
  EXPECT_GE(sync.u("duration_ns"), write.u("duration_ns"));
}

TEST_F(KernelRpcOfAFrozenServer, fs_rpc_that_is_not_answered_is_unfinished) {
  if (!nfs_.refusal().empty())
    GTEST_SKIP() << nfs_.refusal();
  record(true, [] {});
  SKIP_UNLESS_SERVED(recording_, "fs_rpc");
  EXPECT_EQ(recording_.produced(), recording_.written() + recording_.lost());
  const std::vector<Row> writes = of_procedure("WRITE");
  ASSERT_EQ(writes.size(), 1U);
  const Row& write = writes.front();
  const Row& sync = recording_.rows("syscall_sync").at(0);
  EXPECT_EQ(sync.s("result"), IOT_UNFINISHED);
  EXPECT_EQ(write.s("result"), IOT_UNFINISHED);
  EXPECT_EQ(write.u("op_id"), sync.u("op_id"));
  EXPECT_EQ(recording_.path(write.u("file")), nfs_ / "file");
  EXPECT_EQ(recording_.string(write.u("server")), "127.0.0.1");
  EXPECT_EQ(write.u("transmissions"), 0U) << "recorded only when the call is over";
  EXPECT_GT(write.u("duration_ns"), 0U);
  EXPECT_LE(write.u("duration_ns"), sync.u("duration_ns"));
}

} // namespace
} // namespace iotrail::live
