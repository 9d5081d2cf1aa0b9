// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer syscall: one known call in a child, every field of its
// record. Here: calls on whole files, by path or descriptor. kernel_syscall_test.cpp has calls that
// move data.
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

TEST_F(KernelSyscall, syscall_open) {
  const std::string made = directory_ / "made";
  const std::string missing = directory_ / "missing";
  RECORD([&] {
    const int fd = ::openat(AT_FDCWD, made.c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0640);
    ::close(fd);
    return ::open(missing.c_str(), O_RDONLY) < 0 && fd >= 0 ? 0 : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_open", "call", IOT_syscall_openat);
  ASSERT_EQ(rows.size(), 2U);
  check_operation(rows[0]);
  EXPECT_GE(rows[0].s("result"), 0);
  EXPECT_EQ(path_of(rows[0]), made);
  EXPECT_EQ(text_of(rows[0]), made);
  EXPECT_EQ(rows[0].s("fd"), AT_FDCWD);
  EXPECT_EQ(rows[0].u("flags") & (O_CREAT | O_RDWR | O_CLOEXEC), O_CREAT | O_RDWR | O_CLOEXEC);
  EXPECT_EQ(rows[0].u("mode"), 0640U);
  EXPECT_EQ(rows[1].s("result"), -ENOENT);
  EXPECT_EQ(rows[1].u("file"), 0U);
  EXPECT_EQ(text_of(rows[1]), missing);
  EXPECT_EQ(rows[1].u("mode"), 0U);
}

TEST_F(KernelSyscall, syscall_open_of_a_long_path) {
  const std::string long_path = directory_.string() + std::string(1000, '/') + "file";
  RECORD([&] { return ::open(long_path.c_str(), O_RDONLY) >= 0 ? 0 : 1; });
  const Row row = one("syscall_open", IOT_syscall_openat);
  EXPECT_EQ(text_of(row), long_path);
  EXPECT_EQ(path_of(row), file_);
}

TEST_F(KernelSyscall, syscall_open_by_openat2_and_creat) {
  const std::string made = directory_ / "made";
  RECORD([&] {
    open_how how{.flags = O_CREAT | O_WRONLY, .mode = 0604, .resolve = 0};
    const long first = ::syscall(SYS_openat2, AT_FDCWD, made.c_str(), &how, sizeof(how));
    const long second = ::syscall(SYS_creat, made.c_str(), 0600);
    return first >= 0 && second >= 0 ? 0 : 1;
  });
  const Row row = one("syscall_open", IOT_syscall_openat2);
  EXPECT_EQ(row.u("flags"), u(O_CREAT | O_WRONLY));
  EXPECT_EQ(row.u("mode"), 0604U);
  EXPECT_EQ(path_of(row), made);
  const Row created = one("syscall_open", IOT_syscall_creat);
  EXPECT_EQ(created.u("flags"), u(O_CREAT | O_WRONLY | O_TRUNC));
  EXPECT_EQ(created.u("mode"), 0600U);
  EXPECT_EQ(created.s("fd"), AT_FDCWD);
  EXPECT_EQ(created.u("file"), row.u("file"));
}

TEST_F(KernelSyscall, syscall_open_by_handle) {
  union {
    file_handle handle;
    char room[sizeof(file_handle) + MAX_HANDLE_SZ];
  } of{};
  of.handle.handle_bytes = MAX_HANDLE_SZ;
  int mount_id = 0;
  if (::name_to_handle_at(AT_FDCWD, file_.c_str(), &of.handle, &mount_id, 0) != 0)
    GTEST_SKIP() << "the file system gives no handles";
  RECORD([&] {
    const int directory = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY);
    return ::open_by_handle_at(directory, &of.handle, O_RDONLY) >= 0 ? 0 : 1;
  });
  const Row row = one("syscall_open", IOT_syscall_open_by_handle_at);
  EXPECT_GE(row.s("result"), 0);
  EXPECT_EQ(path_of(row), file_);
  EXPECT_EQ(row.u("path"), 0U);
  EXPECT_GE(row.s("fd"), 0);
  EXPECT_EQ(row.u("mode"), 0U);
}

TEST_F(KernelSyscall, syscall_close) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    const int good = ::close(fd);
    return good == 0 && ::close(1000) < 0 ? 0 : 1;
  });
  const Row opened = one("syscall_open", IOT_syscall_openat);
  const auto of_file = recording_.rows("syscall_close", "fd", opened.u("result"));
  ASSERT_FALSE(of_file.empty());
  const Row& row = of_file.back();
  check_operation(row);
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_EQ(path_of(row), file_);
  const auto bad = recording_.rows("syscall_close", "fd", 1000);
  ASSERT_EQ(bad.size(), 1U);
  EXPECT_EQ(bad[0].s("result"), -EBADF);
  EXPECT_EQ(bad[0].u("file"), 0U);
}

TEST_F(KernelSyscall, syscall_truncate) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDWR);
    return ::ftruncate(fd, 5000) == 0 && ::truncate(file_.c_str(), 6000) == 0 &&
                   ::fallocate(fd, 0, 1000, 20000) == 0
               ? 0
               : 1;
  });
  const Row by_fd = one("syscall_truncate", IOT_syscall_ftruncate);
  EXPECT_EQ(by_fd.s("offset"), -1);
  EXPECT_EQ(by_fd.u("bytes"), 5000U);
  EXPECT_EQ(by_fd.s("result"), 0);
  EXPECT_EQ(path_of(by_fd), file_);
  EXPECT_EQ(by_fd.u("path"), 0U);
  const Row by_path = one("syscall_truncate", IOT_syscall_truncate);
  EXPECT_EQ(by_path.u("bytes"), 6000U);
  EXPECT_EQ(text_of(by_path), file_);
  EXPECT_EQ(by_path.u("file"), 0U);
  EXPECT_EQ(by_path.s("fd"), -1);
  const Row reserved = one("syscall_truncate", IOT_syscall_fallocate);
  EXPECT_EQ(reserved.s("offset"), 1000);
  EXPECT_EQ(reserved.u("bytes"), 20000U);
  EXPECT_EQ(reserved.u("fd"), by_fd.u("fd"));
}

TEST_F(KernelSyscall, syscall_unlink) {
  const std::string sub = directory_ / "sub";
  RECORD([&] {
    return ::mkdir(sub.c_str(), 0700) == 0 &&
                   ::unlinkat(AT_FDCWD, sub.c_str(), AT_REMOVEDIR) == 0 &&
                   ::unlink(file_.c_str()) == 0 && ::rmdir(sub.c_str()) < 0
               ? 0
               : 1;
  });
  const Row at = one("syscall_unlink", IOT_syscall_unlinkat);
  EXPECT_EQ(text_of(at), sub);
  EXPECT_EQ(at.u("flags"), u(AT_REMOVEDIR));
  EXPECT_EQ(at.s("fd"), AT_FDCWD);
  EXPECT_EQ(at.s("result"), 0);
  const Row plain = one("syscall_unlink", IOT_syscall_unlink);
  EXPECT_EQ(text_of(plain), file_);
  EXPECT_EQ(plain.u("flags"), 0U);
  EXPECT_EQ(one("syscall_unlink", IOT_syscall_rmdir).s("result"), -ENOENT);
}

TEST_F(KernelSyscall, syscall_rename) {
  const std::string first = directory_ / "first";
  const std::string second = directory_ / "second";
  RECORD([&] {
    const int at = ::open(directory_.c_str(), O_RDONLY | O_DIRECTORY);
    return ::rename(file_.c_str(), first.c_str()) == 0 &&
                   ::renameat2(at, "first", AT_FDCWD, second.c_str(), RENAME_NOREPLACE) == 0
               ? 0
               : 1;
  });
  const Row plain = one("syscall_rename", IOT_syscall_rename);
  EXPECT_EQ(text_of(plain), file_);
  EXPECT_EQ(text_of(plain, "new_path"), first);
  EXPECT_EQ(plain.s("fd"), AT_FDCWD);
  EXPECT_EQ(plain.s("new_fd"), AT_FDCWD);
  EXPECT_EQ(plain.u("flags"), 0U);
  const Row at = one("syscall_rename", IOT_syscall_renameat2);
  EXPECT_EQ(text_of(at), "first");
  EXPECT_EQ(text_of(at, "new_path"), second);
  EXPECT_EQ(at.u("fd"), one("syscall_open", IOT_syscall_openat).u("result"));
  EXPECT_EQ(at.s("new_fd"), AT_FDCWD);
  EXPECT_EQ(at.u("flags"), u(RENAME_NOREPLACE));
  EXPECT_EQ(at.s("result"), 0);
}

TEST_F(KernelSyscall, syscall_mkdir) {
  const std::string made = directory_ / "made";
  RECORD([&] {
    return ::mkdir(made.c_str(), 0750) == 0 && ::mkdirat(AT_FDCWD, made.c_str(), 0700) < 0 ? 0 : 1;
  });
  const Row row = one("syscall_mkdir", IOT_syscall_mkdir);
  EXPECT_EQ(text_of(row), made);
  EXPECT_EQ(row.u("mode"), 0750U);
  EXPECT_EQ(row.s("fd"), AT_FDCWD);
  EXPECT_EQ(row.s("result"), 0);
  const Row at = one("syscall_mkdir", IOT_syscall_mkdirat);
  EXPECT_EQ(at.s("result"), -EEXIST);
  EXPECT_EQ(at.u("mode"), 0700U);
}

TEST_F(KernelSyscall, syscall_stat) {
  RECORD([&] {
    struct stat status{};
    struct statx extended{};
    const int fd = ::open(file_.c_str(), O_RDONLY);
    return ::syscall(SYS_fstat, fd, &status) == 0 &&
                   ::syscall(SYS_newfstatat, fd, "", &status, AT_EMPTY_PATH) == 0 &&
                   ::statx(AT_FDCWD, file_.c_str(), AT_SYMLINK_NOFOLLOW, STATX_SIZE, &extended) ==
                       0 &&
                   ::syscall(SYS_lstat, "/missing", &status) < 0
               ? 0
               : 1;
  });
  const Row by_fd = one("syscall_stat", IOT_syscall_fstat);
  EXPECT_EQ(path_of(by_fd), file_);
  EXPECT_EQ(by_fd.u("path"), 0U);
  EXPECT_EQ(by_fd.u("flags"), 0U);
  const Row by_empty_path = one("syscall_stat", IOT_syscall_newfstatat);
  EXPECT_EQ(by_empty_path.u("file"), by_fd.u("file"));
  EXPECT_EQ(by_empty_path.u("flags"), u(AT_EMPTY_PATH));
  EXPECT_EQ(by_empty_path.u("fd"), by_fd.u("fd"));
  const Row by_path = one("syscall_stat", IOT_syscall_statx);
  EXPECT_EQ(text_of(by_path), file_);
  EXPECT_EQ(by_path.u("flags"), u(AT_SYMLINK_NOFOLLOW));
  EXPECT_EQ(by_path.s("fd"), AT_FDCWD);
  EXPECT_EQ(one("syscall_stat", IOT_syscall_lstat).s("result"), -ENOENT);
}

} // namespace
} // namespace iotrail::live
