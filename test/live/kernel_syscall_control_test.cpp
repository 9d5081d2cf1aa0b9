// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer syscall: one known call in a child, every field of its
// record. Here: calls that control a descriptor or memory.
#include <fcntl.h>
#include <linux/fs.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>

#include "await.hpp"
#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

TEST_F(KernelSyscall, syscall_fcntl) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 100, .l_len = 50, .l_pid = 0};
    struct flock before = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 700, .l_len = -200, .l_pid = 0};
    return ::fcntl(fd, F_SETLK, &lock) == 0 && ::fcntl(fd, F_OFD_SETLK, &before) == 0 &&
                   ::fcntl(fd, F_GETFL) >= 0 && ::fcntl(-1, F_GETFD) < 0
               ? 0
               : 1;
  });
  const auto of_command = [&](std::uint64_t command) {
    const std::vector<Row> rows = recording_.rows("syscall_fcntl", "command", command);
    EXPECT_EQ(rows.size(), 1U);
    return rows.empty() ? Row{} : rows.front();
  };
  const Row lock = of_command(F_SETLK);
  check_operation(lock);
  EXPECT_EQ(path_of(lock), file_);
  EXPECT_EQ(lock.u("lock"), static_cast<std::uint64_t>(F_WRLCK + 1));
  EXPECT_EQ(lock.s("offset"), 100);
  EXPECT_EQ(lock.u("bytes"), 50U);
  EXPECT_EQ(lock.s("result"), 0);
  EXPECT_EQ(lock.s("fd"), one("syscall_open", IOT_syscall_openat).s("result"));
  const Row by_its_end = of_command(F_OFD_SETLK);
  EXPECT_EQ(by_its_end.s("offset"), 500);
  EXPECT_EQ(by_its_end.u("bytes"), 200U);
  const Row flags = of_command(F_GETFL);
  EXPECT_EQ(flags.u("lock"), 0U);
  EXPECT_EQ(flags.s("offset"), -1);
  EXPECT_EQ(flags.s("result") & O_ACCMODE, O_RDWR);
  EXPECT_EQ(of_command(F_GETFD).s("result"), -EBADF);
}

TEST_F(KernelSyscall, syscall_fcntl_takes_as_long_as_the_wait_for_a_lock) {
  constexpr useconds_t kHeldMicroseconds = 50'000; // at least
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 0, .l_pid = 0};
    int ready[2];
    if (::pipe(ready) != 0)
      return 1;
    const pid_t holder = ::fork();
    if (holder == 0) {
      ::fcntl(fd, F_SETLK, &lock);
      ::write(ready[1], "x", 1);
      const bool is_waiting = await([] { return sleeps_in(::getppid(), SYS_fcntl); });
      ::usleep(kHeldMicroseconds);
      ::_exit(is_waiting ? 0 : 1);
    }
    char byte = 0;
    ::read(ready[0], &byte, 1);
    const int result = ::fcntl(fd, F_SETLKW, &lock);
    int status = 0;
    ::waitpid(holder, &status, 0);
    return result + status;
  });
  const std::vector<Row> rows = recording_.rows("syscall_fcntl", "command", F_SETLKW);
  ASSERT_EQ(rows.size(), 1U);
  EXPECT_GE(rows[0].u("duration_ns"), kHeldMicroseconds * 1000U);
}

TEST_F(KernelSyscall, syscall_flock) {
  RECORD([&] { return ::flock(::open(file_.c_str(), O_RDONLY), LOCK_SH | LOCK_NB); });
  const Row row = one("syscall_flock", IOT_syscall_flock);
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.u("flags"), static_cast<std::uint64_t>(LOCK_SH | LOCK_NB));
  EXPECT_EQ(row.s("result"), 0);
}

TEST_F(KernelSyscall, syscall_ioctl) {
  RECORD([&] {
    int bytes = 0;
    return ::ioctl(::open(file_.c_str(), O_RDONLY), FIONREAD, &bytes) == 0 && bytes == 10000 ? 0
                                                                                             : 1;
  });
  const Row row = one("syscall_ioctl", IOT_syscall_ioctl);
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.u("request"), std::uint64_t{FIONREAD});
  EXPECT_NE(row.u("argument"), 0U);
  EXPECT_EQ(row.s("result"), 0);
}

TEST_F(KernelSyscall, syscall_advise) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    auto* memory = static_cast<char*>(::mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE, fd, 0));
    void* own = ::mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ::posix_fadvise(fd, 4096, 5000, POSIX_FADV_DONTNEED) == 0 &&
                   ::readahead(fd, 1, 2000) == 0 &&
                   ::madvise(memory + 4096, 4096, MADV_SEQUENTIAL) == 0 &&
                   ::madvise(own, 4096, MADV_RANDOM) == 0
               ? 0
               : 1;
  });
  const Row fadvise = one("syscall_advise", IOT_syscall_fadvise64);
  EXPECT_EQ(path_of(fadvise), file_);
  EXPECT_EQ(fadvise.s("offset"), 4096);
  EXPECT_EQ(fadvise.u("bytes"), 5000U);
  EXPECT_EQ(fadvise.u("advice"), static_cast<std::uint64_t>(POSIX_FADV_DONTNEED));
  const Row readahead = one("syscall_advise", IOT_syscall_readahead);
  EXPECT_EQ(readahead.s("offset"), 1);
  EXPECT_EQ(readahead.u("bytes"), 2000U);
  EXPECT_EQ(readahead.u("advice"), static_cast<std::uint64_t>(POSIX_FADV_WILLNEED));
  const std::vector<Row> maps = recording_.rows("syscall_mmap");
  const std::vector<Row> advised = recording_.rows("syscall_advise", "call", IOT_syscall_madvise);
  ASSERT_EQ(maps.size(), 2U);
  ASSERT_EQ(advised.size(), 2U);
  EXPECT_EQ(advised[0].u("address"), maps[0].u("address") + 4096);
  EXPECT_EQ(advised[0].s("offset"), 4096);
  EXPECT_EQ(advised[0].u("bytes"), 4096U);
  EXPECT_EQ(path_of(advised[0]), file_);
  EXPECT_EQ(advised[0].u("advice"), static_cast<std::uint64_t>(MADV_SEQUENTIAL));
  EXPECT_EQ(advised[1].u("address"), maps[1].u("address"));
  EXPECT_EQ(advised[1].s("offset"), -1);
  EXPECT_EQ(advised[1].u("file"), 0U);
}

TEST_F(KernelSyscall, syscall_dup) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    return ::dup3(fd, 100, O_CLOEXEC) == 100 && ::dup(fd) >= 0 &&
                   ::syscall(SYS_dup2, fd, 101) == 101
               ? 0
               : 1;
  });
  const Row row = one("syscall_dup", IOT_syscall_dup3);
  EXPECT_EQ(row.s("result"), 100);
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.u("flags"), static_cast<std::uint64_t>(O_CLOEXEC));
  EXPECT_EQ(one("syscall_dup", IOT_syscall_dup2).s("result"), 101);
  EXPECT_EQ(one("syscall_dup", IOT_syscall_dup).u("flags"), 0U);
}

} // namespace
} // namespace iotrail::live
