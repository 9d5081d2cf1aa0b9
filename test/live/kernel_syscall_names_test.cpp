// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer syscall: one known call in a child, every field of its
// record. Here: calls on names, attributes and directories.
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

TEST_F(KernelSyscall, syscall_link) {
  const std::string hard = directory_ / "hard";
  const std::string soft = directory_ / "soft";
  RECORD([&] {
    const int at = ::open(directory_.c_str(), O_DIRECTORY | O_RDONLY);
    return ::link(file_.c_str(), hard.c_str()) == 0 && ::symlink("any text", soft.c_str()) == 0 &&
                   ::linkat(at, "file", at, "other", AT_SYMLINK_FOLLOW) == 0 &&
                   ::symlinkat("x", at, "file") < 0
               ? 0
               : 1;
  });
  const Row link = one("syscall_link", IOT_syscall_link);
  EXPECT_EQ(link.s("result"), 0);
  EXPECT_EQ(text_of(link, "target"), file_);
  EXPECT_EQ(text_of(link), hard);
  EXPECT_EQ(link.s("target_fd"), AT_FDCWD);
  EXPECT_EQ(link.s("fd"), AT_FDCWD);
  const Row symlink = one("syscall_link", IOT_syscall_symlink);
  EXPECT_EQ(text_of(symlink, "target"), "any text");
  EXPECT_EQ(text_of(symlink), soft);
  const std::int64_t at = one("syscall_open", IOT_syscall_openat).s("result");
  const Row linkat = one("syscall_link", IOT_syscall_linkat);
  EXPECT_EQ(text_of(linkat, "target"), "file");
  EXPECT_EQ(text_of(linkat), "other");
  EXPECT_EQ(linkat.s("target_fd"), at);
  EXPECT_EQ(linkat.s("fd"), at);
  EXPECT_EQ(linkat.u("flags"), AT_SYMLINK_FOLLOW);
  const Row symlinkat = one("syscall_link", IOT_syscall_symlinkat);
  EXPECT_EQ(symlinkat.s("result"), -EEXIST);
  EXPECT_EQ(text_of(symlinkat, "target"), "x");
  EXPECT_EQ(text_of(symlinkat), "file");
  EXPECT_EQ(symlinkat.s("fd"), at);
}

TEST_F(KernelSyscall, syscall_access) {
  RECORD([&] {
    return ::access(file_.c_str(), R_OK | W_OK) == 0 &&
                   ::syscall(SYS_faccessat2, AT_FDCWD, "/nowhere", F_OK, AT_EACCESS) < 0 &&
                   ::syscall(SYS_faccessat, AT_FDCWD, "/", X_OK) == 0
               ? 0
               : 1;
  });
  const Row access = one("syscall_access", IOT_syscall_access);
  EXPECT_EQ(text_of(access), file_);
  EXPECT_EQ(access.u("mode"), static_cast<std::uint64_t>(R_OK | W_OK));
  EXPECT_EQ(access.s("fd"), AT_FDCWD);
  const Row second = one("syscall_access", IOT_syscall_faccessat2);
  EXPECT_EQ(second.s("result"), -ENOENT);
  EXPECT_EQ(text_of(second), "/nowhere");
  EXPECT_EQ(second.u("mode"), 0U);
  EXPECT_EQ(second.u("flags"), static_cast<std::uint64_t>(AT_EACCESS));
  EXPECT_EQ(one("syscall_access", IOT_syscall_faccessat).u("mode"),
            static_cast<std::uint64_t>(X_OK));
}

TEST_F(KernelSyscall, syscall_readlink) {
  const std::string soft = directory_ / "soft";
  ASSERT_EQ(::symlink("any text", soft.c_str()), 0);
  RECORD([&] {
    char text[50];
    return ::readlink(soft.c_str(), text, sizeof(text)) == 8 &&
                   ::readlinkat(AT_FDCWD, file_.c_str(), text, 40) < 0
               ? 0
               : 1;
  });
  const Row row = one("syscall_readlink", IOT_syscall_readlink);
  EXPECT_EQ(row.s("result"), 8);
  EXPECT_EQ(row.u("bytes_requested"), 50U);
  EXPECT_EQ(text_of(row), soft);
  const Row second = one("syscall_readlink", IOT_syscall_readlinkat);
  EXPECT_EQ(second.s("result"), -EINVAL);
  EXPECT_EQ(second.u("bytes_requested"), 40U);
  EXPECT_EQ(second.s("fd"), AT_FDCWD);
}

TEST_F(KernelSyscall, syscall_setattr) {
  RECORD([&] {
    const int fd = ::open(file_.c_str(), O_RDONLY);
    const timespec times[2] = {};
    return ::chmod(file_.c_str(), 0640) == 0 && ::fchmod(fd, 0600) == 0 &&
                   ::fchownat(AT_FDCWD, file_.c_str(), ::getuid(), static_cast<gid_t>(-1),
                              AT_SYMLINK_NOFOLLOW) == 0 &&
                   ::futimens(fd, times) == 0
               ? 0
               : 1;
  });
  const Row chmod = one("syscall_setattr", IOT_syscall_chmod);
  EXPECT_EQ(text_of(chmod), file_);
  EXPECT_EQ(chmod.u("mode"), 0640U);
  EXPECT_EQ(chmod.s("uid"), -1);
  const Row fchmod = one("syscall_setattr", IOT_syscall_fchmod);
  EXPECT_EQ(path_of(fchmod), file_);
  EXPECT_EQ(fchmod.u("path"), 0U);
  EXPECT_EQ(fchmod.u("mode"), 0600U);
  const Row chown = one("syscall_setattr", IOT_syscall_fchownat);
  EXPECT_EQ(text_of(chown), file_);
  EXPECT_EQ(chown.s("uid"), static_cast<std::int64_t>(::getuid()));
  EXPECT_EQ(chown.s("gid"), -1);
  EXPECT_EQ(chown.u("flags"), static_cast<std::uint64_t>(AT_SYMLINK_NOFOLLOW));
  const Row times = one("syscall_setattr", IOT_syscall_utimensat);
  EXPECT_EQ(path_of(times), file_);
  EXPECT_EQ(times.u("path"), 0U);
  EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_path_unread), 0U) << "there is none to read";
}

TEST_F(KernelSyscall, syscall_xattr) {
  RECORD([&] {
    char value[30];
    const int fd = ::open(file_.c_str(), O_RDONLY);
    // A file system without attributes refuses them, but the calls are still recorded.
    ::setxattr(file_.c_str(), "user.iotrail", "12345", 5, 0);
    ::fgetxattr(fd, "user.iotrail", value, sizeof(value));
    ::flistxattr(fd, value, 20);
    ::lremovexattr(file_.c_str(), "user.iotrail");
    return 0;
  });
  const Row set = one("syscall_xattr", IOT_syscall_setxattr);
  EXPECT_EQ(text_of(set), file_);
  EXPECT_EQ(text_of(set, "name"), "user.iotrail");
  EXPECT_EQ(set.u("bytes_requested"), 5U);
  const bool has_attributes = set.s("result") == 0;
  const Row get = one("syscall_xattr", IOT_syscall_fgetxattr);
  EXPECT_EQ(path_of(get), file_);
  EXPECT_EQ(text_of(get, "name"), "user.iotrail");
  EXPECT_EQ(get.u("bytes_requested"), 30U);
  EXPECT_EQ(get.s("result"), has_attributes ? 5 : set.s("result"));
  const Row list = one("syscall_xattr", IOT_syscall_flistxattr);
  EXPECT_EQ(list.u("name"), 0U);
  EXPECT_EQ(list.u("bytes_requested"), 20U);
  const Row removed = one("syscall_xattr", IOT_syscall_lremovexattr);
  EXPECT_EQ(text_of(removed), file_);
  EXPECT_EQ(removed.u("bytes_requested"), 0U);
}

TEST_F(KernelSyscall, syscall_statfs) {
  RECORD([&] {
    struct statfs about{};
    const int fd = ::open(file_.c_str(), O_RDONLY);
    return ::statfs(directory_.c_str(), &about) == 0 && ::fstatfs(fd, &about) == 0 ? 0 : 1;
  });
  EXPECT_EQ(text_of(one("syscall_statfs", IOT_syscall_statfs)), directory_);
  EXPECT_EQ(path_of(one("syscall_statfs", IOT_syscall_fstatfs)), file_);
}

TEST_F(KernelSyscall, syscall_readdir) {
  RECORD([&] {
    char entries[4000];
    const int fd = ::open(directory_.c_str(), O_DIRECTORY | O_RDONLY);
    return ::syscall(SYS_getdents64, fd, entries, sizeof(entries)) > 0 &&
                   ::syscall(SYS_getdents64, fd, entries, sizeof(entries)) == 0
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_readdir", "call", IOT_syscall_getdents64);
  ASSERT_EQ(rows.size(), 2U);
  check_operation(rows[0]);
  EXPECT_EQ(path_of(rows[0]), directory_);
  EXPECT_EQ(rows[0].u("bytes_requested"), 4000U);
  EXPECT_GT(rows[0].s("result"), 0);
  EXPECT_EQ(rows[1].s("result"), 0);
}

TEST_F(KernelSyscall, syscall_chdir) {
  RECORD([&] {
    const int fd = ::open("/", O_DIRECTORY | O_RDONLY);
    return ::chdir(directory_.c_str()) == 0 && ::fchdir(fd) == 0 && ::chroot("/nowhere") < 0 ? 0
                                                                                             : 1;
  });
  EXPECT_EQ(text_of(one("syscall_chdir", IOT_syscall_chdir)), directory_);
  EXPECT_EQ(path_of(one("syscall_chdir", IOT_syscall_fchdir)), "/");
  EXPECT_EQ(one("syscall_chdir", IOT_syscall_chroot).s("result"), -ENOENT);
}

TEST_F(KernelSyscall, syscall_mkdir_of_a_node) {
  const std::string pipe = directory_ / "pipe";
  RECORD([&] {
    return ::syscall(SYS_mknodat, AT_FDCWD, pipe.c_str(), S_IFIFO | 0620, 0) == 0 ? 0 : 1;
  });
  const Row row = one("syscall_mkdir", IOT_syscall_mknodat);
  EXPECT_EQ(text_of(row), pipe);
  EXPECT_EQ(row.s("fd"), AT_FDCWD);
  EXPECT_EQ(row.u("mode"), static_cast<std::uint64_t>(S_IFIFO | 0620));
}

} // namespace
} // namespace iotrail::live
