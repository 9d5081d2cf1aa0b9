// SPDX-License-Identifier: BSD-3-Clause
//
// System calls that a seccomp filter refuses: the kernel reports their end, but not their begin.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kRefused = 10;

struct Refusal {
  std::uint32_t number;
  std::uint32_t answer;
};
constexpr std::array kRefusals = {
    Refusal{SYS_mkdir, SECCOMP_RET_ERRNO | EPERM},
    Refusal{SYS_pwrite64, SECCOMP_RET_ERRNO | EACCES},
    Refusal{SYS_fsync, SECCOMP_RET_ERRNO | EIO},
    Refusal{SYS_rmdir, SECCOMP_RET_TRAP},
};

// Every other call is allowed.
bool refuse_calls() {
  std::vector<sock_filter> code = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  for (const Refusal& refusal : kRefusals) {
    code.push_back(BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, refusal.number, 0, 1));
    code.push_back(BPF_STMT(BPF_RET | BPF_K, refusal.answer));
  }
  code.push_back(BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program = {.len = static_cast<unsigned short>(code.size()),
                              .filter = code.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

class KernelSyscallRefused : public KernelSyscall {
protected:
  // The only record of a refused call. The kernel does not report when it began.
  Row refused(const std::string& table, std::uint32_t call) {
    const std::vector<Row> rows = recording_.rows(table, "call", call);
    EXPECT_EQ(rows.size(), 1U) << table;
    if (rows.size() != 1)
      return {};
    check_refused(rows.front());
    return rows.front();
  }
  void check_refused(const Row& row) {
    check_event(row);
    EXPECT_NE(row.u("op_id"), 0U);
    EXPECT_EQ(row.u("duration_ns"), 0U);
  }
};

TEST_F(KernelSyscallRefused, syscalls_that_seccomp_refuses) {
  const std::string made = directory_ / "made";
  recording_ = Recording::alone({.layers = {schema::Layer::syscall}}, [&] {
    const int fd = ::open(file_.c_str(), O_RDWR | O_CLOEXEC);
    std::signal(SIGSYS, [](int) {});
    if (fd < 0 || !refuse_calls())
      return 1;
    for (std::size_t i = 0; i < kRefused; ++i)
      if (::syscall(SYS_mkdir, made.c_str(), 0700) != -1 || errno != EPERM)
        return 2;
    ::syscall(SYS_rmdir, made.c_str()); // raises SIGSYS
    if (::pwrite(fd, "abc", 3, 4096) != -1 || errno != EACCES)
      return 3;
    return ::fsync(fd) == -1 && errno == EIO && ::close(fd) == 0 ? 0 : 4;
  });
  if (!recording_.refusal().empty())
    GTEST_SKIP() << recording_.refusal();
  check_child_and_account();
  EXPECT_LE(recording_.counter(IOT_COUNTER_kernel_call_begun_before), 1U)
      << "none but the read that waited for the recording";

  const std::vector<Row> made_rows = recording_.rows("syscall_mkdir", "call", IOT_syscall_mkdir);
  ASSERT_EQ(made_rows.size(), kRefused);
  std::uint64_t last_op = 0;
  for (const Row& row : made_rows) {
    check_refused(row);
    EXPECT_EQ(row.s("result"), -EPERM);
    EXPECT_EQ(text_of(row), made);
    EXPECT_NE(row.u("op_id"), last_op) << "each is an operation of its own";
    last_op = row.u("op_id");
  }
  const Row removed = refused("syscall_unlink", IOT_syscall_rmdir);
  EXPECT_EQ(removed.s("result"), -ENOSYS);
  EXPECT_EQ(text_of(removed), made);
  const Row written = refused("syscall_write", IOT_syscall_pwrite64);
  EXPECT_EQ(written.s("result"), -EACCES);
  EXPECT_EQ(path_of(written), file_);
  EXPECT_EQ(written.u("offset"), 4096U);
  EXPECT_EQ(written.u("bytes_requested"), 3U);
  const Row synced = refused("syscall_sync", IOT_syscall_fsync);
  EXPECT_EQ(synced.s("result"), -EIO);
  EXPECT_EQ(path_of(synced), file_);
  const std::vector<Row> closed = recording_.rows_of_file("syscall_close", file_.native());
  ASSERT_EQ(closed.size(), 1U);
  check_operation(closed[0]); // a call afterwards is as any other
}

} // namespace
} // namespace iotrail::live
