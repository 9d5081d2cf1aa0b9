// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/unfinished/call_state.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <climits>
#include <cstdlib>
#include <string>

#include <fmt/format.h>

#include "base/fd.hpp"

namespace iotrail::capture::kernel {
namespace {

TEST(call_state, a_stack_is_turned_outermost_first) {
  EXPECT_EQ(parse_kernel_stack("[<0>] request_wait_answer+0x16b/0x220 [fuse]\n"
                               "[<0>] fuse_lookup+0x6e/0x100 [fuse]\n"
                               "[<0>] do_sys_openat2+0x94/0xd0\n"),
            "do_sys_openat2;fuse_lookup;request_wait_answer");
  for (const char* const text : {"", "\n\n", "[<0>] 0xffffffff\n", "no stack", "[<0>]",
                                 "[<0>] +0x1/0x2\n", "[<0>] a;b+0x1/0x2\n", "[<0>] a b\n"})
    EXPECT_EQ(parse_kernel_stack(text), "") << text;
}

TEST(call_state, the_last_run_has_six_decimals) {
  EXPECT_EQ(parse_last_run("cat (7, #threads: 1)\n---\n"
                           "se.exec_start                                :        447269.061329\n"
                           "se.vruntime                                  :           482.384780\n"),
            447269061329U);
  for (const char* const text :
       {"", "se.exec_start", "se.exec_start :", "se.exec_start : 5", "se.exec_start : 5.1",
        "se.exec_start : x.123456", "se.exec_start : -5.123456",
        "se.exec_start : 18446744073709551615.123456"})
    EXPECT_FALSE(parse_last_run(text)) << text;
}

TEST(call_state, a_mount_has_a_device) {
  const std::string line = "36 35 0:52 /a /m1 rw,noatime master:1 - fuse src rw";
  EXPECT_EQ(parse_mount_device(line, 36), IOT_DEVICE(0, 52));
  EXPECT_FALSE(parse_mount_device(line, 35)) << "its parent";
  for (const char* const other : {"", "36", "36 35", "36 35 052", "36 35 a:b", "36 35 :"})
    EXPECT_FALSE(parse_mount_device(other, 36)) << other;
}

TEST(call_state, the_file_of_a_descriptor_is_the_one_that_stat_knows) {
  std::string path = "call_state-XXXXXX";
  const Fd fd(::mkstemp(path.data()));
  struct stat status{};
  ASSERT_EQ(::fstat(fd.get(), &status), 0);
  const auto tid = static_cast<iot_u32>(::gettid());
  auto file = file_of_descriptor(tid, fd.get());
  ASSERT_TRUE(file);
  EXPECT_TRUE(file->path.ends_with("/" + path)) << file->path;
  EXPECT_EQ(file->key.inode, status.st_ino);
  EXPECT_EQ(file->mode, iot_u32{S_IFREG});
  EXPECT_FALSE(file->is_deleted);
  const std::string whole = file->path;
  ASSERT_EQ(::unlink(path.c_str()), 0);
  file = file_of_descriptor(tid, fd.get());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path, whole);
  EXPECT_TRUE(file->is_deleted);
  EXPECT_FALSE(file_of_descriptor(tid, -1));
}

TEST(call_state, a_pipe_has_the_device_of_all_pipes) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const Fd read_end(ends[0]);
  const Fd write_end(ends[1]);
  struct stat status{};
  ASSERT_EQ(::fstat(read_end.get(), &status), 0);
  const auto file = file_of_descriptor(static_cast<iot_u32>(::gettid()), read_end.get());
  ASSERT_TRUE(file);
  EXPECT_EQ(file->path, fmt::format("pipe:[{}]", status.st_ino));
  EXPECT_EQ(file->key.inode, status.st_ino);
  EXPECT_EQ(file->key.device, IOT_DEVICE(major(status.st_dev), minor(status.st_dev)));
  EXPECT_EQ(file->mode, iot_u32{S_IFIFO});
}

TEST(call_state, a_path_is_read_to_its_end) {
  const std::string path(PATH_MAX - 1, 'p'); // lies on two pages
  const auto tid = static_cast<iot_u32>(::gettid());
  EXPECT_EQ(path_in_memory(tid, reinterpret_cast<std::uint64_t>(path.c_str())), path);
  const std::string endless(PATH_MAX, 'p');
  EXPECT_EQ(path_in_memory(tid, reinterpret_cast<std::uint64_t>(endless.c_str())), "");
  EXPECT_EQ(path_in_memory(tid, reinterpret_cast<std::uint64_t>("a/b")), "a/b");
  EXPECT_EQ(path_in_memory(tid, 8), "") << "no memory";
}

} // namespace
} // namespace iotrail::capture::kernel
