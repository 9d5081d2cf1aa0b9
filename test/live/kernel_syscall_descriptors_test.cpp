// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer syscall: one known call in a child, every field of its
// record. Here: calls that make descriptors of files without a path, watch or close several, move
// memory, and mount.
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <linux/close_range.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <string>
#include <thread>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

TEST_F(KernelSyscall, syscall_pipe) {
  RECORD([&] {
    int ends[2];
    return ::pipe2(ends, O_NONBLOCK) == 0 && ::syscall(SYS_pipe, ends) == 0 &&
                   ::pipe2(nullptr, 0) == -1
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_pipe", "call", IOT_syscall_pipe2);
  ASSERT_EQ(rows.size(), 2U);
  const Row& row = rows[0];
  EXPECT_EQ(row.s("result"), 0);
  EXPECT_GT(row.s("read_fd"), 2);
  EXPECT_EQ(row.s("write_fd"), row.s("read_fd") + 1);
  EXPECT_EQ(row.u("flags"), u(O_NONBLOCK));
  EXPECT_TRUE(path_of(row).starts_with("pipe:["));
  EXPECT_EQ(rows[1].s("result"), -EFAULT);
  EXPECT_EQ(rows[1].s("read_fd"), IOT_NO_FD);
  EXPECT_EQ(rows[1].u("file"), 0U);
  EXPECT_EQ(one("syscall_pipe", IOT_syscall_pipe).s("read_fd"), row.s("write_fd") + 1);
}

TEST_F(KernelSyscall, syscall_close_range) {
  RECORD([&] {
    const int fd = ::dup(0);
    const auto first = static_cast<unsigned>(fd);
    return ::syscall(SYS_close_range, first, first + 1, CLOSE_RANGE_CLOEXEC) == 0 &&
                   ::fcntl(fd, F_GETFD) == FD_CLOEXEC
               ? 0
               : 1;
  });
  const Row row = one("syscall_close_range", IOT_syscall_close_range);
  EXPECT_EQ(row.u("first"), one("syscall_dup", IOT_syscall_dup).u("result"));
  EXPECT_EQ(row.u("last"), row.u("first") + 1);
  EXPECT_EQ(row.u("flags"), u(CLOSE_RANGE_CLOEXEC));
  EXPECT_EQ(row.s("result"), 0);
}

TEST_F(KernelSyscall, syscall_descriptor_of_each_kind) {
  RECORD([&] {
    return ::syscall(SYS_epoll_create, 1) >= 0 && ::epoll_create1(EPOLL_CLOEXEC) >= 0 &&
                   ::eventfd(3, EFD_NONBLOCK) >= 0 && ::syscall(SYS_eventfd, 1) >= 0 &&
                   ::syscall(SYS_inotify_init) >= 0 && ::inotify_init1(IN_NONBLOCK) >= 0 &&
                   ::memfd_create("scratch", MFD_CLOEXEC) >= 0 &&
                   ::timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK) >= 0 && ::epoll_create1(-1) == -1
               ? 0
               : 1;
  });
  const auto expect = [&](std::uint32_t call, std::uint64_t flags, std::string_view path) {
    const Row row = one("syscall_descriptor", call);
    EXPECT_EQ(row.u("flags"), flags);
    EXPECT_TRUE(path_of(row).starts_with(path)) << path_of(row);
    EXPECT_GT(row.s("result"), 2);
    return row;
  };
  EXPECT_EQ(text_of(expect(IOT_syscall_memfd_create, MFD_CLOEXEC, "memfd:scratch"), "name"),
            "scratch");
  expect(IOT_syscall_epoll_create, 0, "anon_inode:");
  expect(IOT_syscall_eventfd2, EFD_NONBLOCK, "anon_inode:");
  expect(IOT_syscall_eventfd, 0, "anon_inode:");
  expect(IOT_syscall_inotify_init, 0, "anon_inode:");
  expect(IOT_syscall_inotify_init1, IN_NONBLOCK, "anon_inode:");
  EXPECT_EQ(expect(IOT_syscall_timerfd_create, TFD_NONBLOCK, "anon_inode:").u("name"), 0U);
  const std::vector<Row> epolls =
      recording_.rows("syscall_descriptor", "call", IOT_syscall_epoll_create1);
  ASSERT_EQ(epolls.size(), 2U);
  EXPECT_EQ(epolls[0].u("flags"), u(EPOLL_CLOEXEC));
  EXPECT_EQ(epolls[1].s("result"), -EINVAL);
  EXPECT_EQ(epolls[1].u("file"), 0U);
}

TEST_F(KernelSyscall, syscall_epoll_ctl) {
  RECORD([&] {
    const int epoll = ::epoll_create1(0);
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    epoll_event event{.events = EPOLLIN | EPOLLET, .data = {.u64 = 0x123456789abcULL}};
    return ::epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0 &&
                   ::epoll_ctl(epoll, EPOLL_CTL_DEL, ends[0], nullptr) == 0 &&
                   ::epoll_ctl(epoll, EPOLL_CTL_MOD, ends[0], &event) == -1
               ? 0
               : 1;
  });
  std::vector<Row> rows = recording_.rows("syscall_epoll_ctl");
  ASSERT_EQ(rows.size(), 3U);
  std::ranges::sort(rows, {}, [](const Row& row) { return row.u("ts_ns"); });
  const Row pipe = one("syscall_pipe", IOT_syscall_pipe2);
  const std::uint64_t operations[] = {EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD};
  const std::int64_t results[] = {0, 0, -ENOENT};
  for (std::size_t at = 0; at < rows.size(); ++at) {
    check_operation(rows[at]);
    EXPECT_EQ(rows[at].u("operation"), operations[at]);
    EXPECT_EQ(rows[at].s("result"), results[at]);
    EXPECT_EQ(rows[at].u("watched"), pipe.u("file"));
    EXPECT_EQ(rows[at].s("watched_fd"), pipe.s("read_fd"));
    EXPECT_EQ(rows[at].s("fd"), one("syscall_descriptor", IOT_syscall_epoll_create1).s("result"));
    EXPECT_NE(rows[at].u("file"), 0U);
    EXPECT_EQ(rows[at].u("events"), at == 1 ? 0U : std::uint64_t{EPOLLIN | EPOLLET});
    EXPECT_EQ(rows[at].u("data"), at == 1 ? 0U : 0x123456789abcULL);
  }
}

TEST_F(KernelSyscall, syscall_sockopt) {
  RECORD([&] {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    int on = 1;
    int type = 0;
    socklen_t bytes = sizeof(type);
    return ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) == 0 &&
                   ::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) == 0 &&
                   ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &on, 1) == -1
               ? 0
               : 1;
  });
  const Row get = one("syscall_sockopt", IOT_syscall_getsockopt);
  EXPECT_EQ(get.u("option"), u(IOT_socket_option_SO_TYPE));
  EXPECT_EQ(get.s("value"), SOCK_STREAM);
  EXPECT_EQ(get.u("bytes"), sizeof(int));
  const std::vector<Row> sets = recording_.rows("syscall_sockopt", "call", IOT_syscall_setsockopt);
  ASSERT_EQ(sets.size(), 2U);
  EXPECT_EQ(sets[0].u("option"), u(IOT_socket_option_TCP_NODELAY));
  EXPECT_EQ(sets[0].s("value"), 1);
  EXPECT_EQ(sets[0].u("bytes"), sizeof(int));
  EXPECT_EQ(sets[0].u("shape"), u(IOT_socket_value_int));
  EXPECT_EQ(sets[0].u("text"), 0U);
  EXPECT_EQ(sets[0].s("result"), 0);
  EXPECT_TRUE(path_of(sets[0]).starts_with("socket:["));
  EXPECT_EQ(sets[1].s("result"), -EINVAL);
  EXPECT_EQ(sets[1].s("value"), 1) << "the kernel ignores the one byte";
}

constexpr int kTimeoutNew = 66; // SO_RCVTIMEO_NEW

// Sets and reads options of all shapes. False: a result was unexpected.
bool use_options(int fd, int unix_fd) {
  const auto set = [fd](int level, int option, const void* value, std::size_t bytes) {
    return ::setsockopt(fd, level, option, value, static_cast<socklen_t>(bytes)) == 0;
  };
  const auto get = [](int socket, int level, int option, std::size_t bytes) {
    char room[64] = {};
    auto length = static_cast<socklen_t>(bytes);
    return ::getsockopt(socket, level, option, room, &length) == 0;
  };
  const linger on{.l_onoff = 1, .l_linger = 7};
  const linger off{.l_onoff = 0, .l_linger = 7};
  const timeval receive{.tv_sec = 2, .tv_usec = 500'000};
  const timeval send{.tv_sec = 1, .tv_usec = 0};
  const timeval newer{.tv_sec = 3, .tv_usec = 1};
  const std::uint64_t rate = 5'000'000'000; // 8 bytes, or the first 4 of them
  const std::uint8_t hops = 200;
  return set(SOL_SOCKET, SO_LINGER, &on, sizeof(on)) &&
         get(fd, SOL_SOCKET, SO_LINGER, sizeof(on)) &&
         set(SOL_SOCKET, SO_LINGER, &off, sizeof(off)) && !set(SOL_SOCKET, SO_LINGER, &on, 4) &&
         set(SOL_SOCKET, SO_RCVTIMEO, &receive, sizeof(receive)) &&
         get(fd, SOL_SOCKET, SO_RCVTIMEO, sizeof(receive)) &&
         set(SOL_SOCKET, SO_SNDTIMEO, &send, sizeof(send)) &&
         set(SOL_SOCKET, kTimeoutNew, &newer, sizeof(newer)) &&
         !set(SOL_SOCKET, SO_RCVTIMEO, &receive, 8) &&
         !set(SOL_SOCKET, SO_RCVTIMEO, nullptr, sizeof(receive)) &&
         set(IPPROTO_TCP, TCP_CONGESTION, "reno and more", 4) &&
         get(fd, IPPROTO_TCP, TCP_CONGESTION, 16) && set(SOL_SOCKET, SO_BINDTODEVICE, "lo", 3) &&
         get(fd, SOL_SOCKET, SO_BINDTODEVICE, 16) && set(SOL_SOCKET, SO_BINDTODEVICE, "", 0) &&
         !set(IPPROTO_TCP, TCP_ULP, "no-such", 7) &&
         get(unix_fd, SOL_SOCKET, SO_PEERCRED, sizeof(ucred)) &&
         set(SOL_SOCKET, SO_MAX_PACING_RATE, &rate, sizeof(rate)) &&
         set(SOL_SOCKET, SO_MAX_PACING_RATE, &rate, 4) && set(IPPROTO_IP, IP_TTL, &hops, 1);
}

TEST_F(KernelSyscall, syscall_sockopt_values_of_all_shapes) {
  RECORD([&] {
    int pair[2];
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    return ::socketpair(AF_UNIX, SOCK_STREAM, 0, pair) == 0 && use_options(fd, pair[0]) ? 0 : 1;
  });
  constexpr auto kSet = IOT_syscall_setsockopt;
  constexpr auto kGet = IOT_syscall_getsockopt;
  const struct {
    std::uint32_t call, option, shape;
    std::int64_t value;
    std::uint32_t bytes;
    std::int64_t result = 0;
    std::string text;
  } expected[] = {
      {kSet, IOT_socket_option_SO_LINGER, IOT_socket_value_linger_s, 7, 8, 0, ""},
      {kGet, IOT_socket_option_SO_LINGER, IOT_socket_value_linger_s, 7, 8, 0, ""},
      {kSet, IOT_socket_option_SO_LINGER, IOT_socket_value_linger_s, -1, 8, 0, ""},
      {kSet, IOT_socket_option_SO_LINGER, IOT_socket_value_linger_s, 0, 4, -EINVAL, ""},
      {kSet, IOT_socket_option_SO_RCVTIMEO, IOT_socket_value_duration_ns, 2'500'000'000, 16, 0, ""},
      {kGet, IOT_socket_option_SO_RCVTIMEO, IOT_socket_value_duration_ns, 2'500'000'000, 16, 0, ""},
      {kSet, IOT_socket_option_SO_SNDTIMEO, IOT_socket_value_duration_ns, 1'000'000'000, 16, 0, ""},
      {kSet, IOT_socket_option_SO_RCVTIMEO_NEW, IOT_socket_value_duration_ns, 3'000'001'000, 16, 0,
       ""},
      {kSet, IOT_socket_option_SO_RCVTIMEO, IOT_socket_value_duration_ns, 0, 8, -EINVAL, ""},
      {kSet, IOT_socket_option_SO_RCVTIMEO, IOT_socket_value_duration_ns, 0, 16, -EFAULT, ""},
      {kSet, IOT_socket_option_TCP_CONGESTION, IOT_socket_value_text, 0, 4, 0, "reno"},
      {kGet, IOT_socket_option_TCP_CONGESTION, IOT_socket_value_text, 0, 16, 0, "reno"},
      {kSet, IOT_socket_option_SO_BINDTODEVICE, IOT_socket_value_text, 0, 3, 0, "lo"},
      {kGet, IOT_socket_option_SO_BINDTODEVICE, IOT_socket_value_text, 0, 3, 0, "lo"},
      {kSet, IOT_socket_option_SO_BINDTODEVICE, IOT_socket_value_text, 0, 0, 0, ""},
      {kSet, IOT_socket_option_TCP_ULP, IOT_socket_value_text, 0, 7, -ENOENT, "no-such"},
      {kGet, IOT_socket_option_SO_PEERCRED, IOT_socket_value_pid, recording_.pid(), 12, 0, ""},
      {kSet, IOT_socket_option_SO_MAX_PACING_RATE, IOT_socket_value_u64, 5'000'000'000, 8, 0, ""},
      {kSet, IOT_socket_option_SO_MAX_PACING_RATE, IOT_socket_value_u64, 705'032'704, 4, 0, ""},
      {kSet, IOT_socket_option_IP_TTL, IOT_socket_value_int, 200, 1, 0, ""},
  };
  const std::vector<Row>& rows = recording_.rows("syscall_sockopt");
  ASSERT_EQ(rows.size(), std::size(expected));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    SCOPED_TRACE(i);
    check_operation(rows[i]);
    EXPECT_EQ(rows[i].u("call"), expected[i].call);
    EXPECT_EQ(rows[i].u("option"), expected[i].option);
    EXPECT_EQ(rows[i].u("shape"), expected[i].shape);
    EXPECT_EQ(rows[i].s("value"), expected[i].value);
    EXPECT_EQ(rows[i].u("bytes"), expected[i].bytes);
    EXPECT_EQ(rows[i].s("result"), expected[i].result);
    EXPECT_EQ(text_of(rows[i], "text"), expected[i].text);
    EXPECT_EQ(rows[i].u("text") == 0, expected[i].text.empty());
    EXPECT_EQ(rows[i].s("fd") == rows[0].s("fd"),
              expected[i].option != IOT_socket_option_SO_PEERCRED);
    EXPECT_TRUE(path_of(rows[i]).starts_with("socket:["));
  }
}

TEST_F(KernelSyscall, syscall_mremap) {
  RECORD([&] {
    void* memory =
        ::mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    void* longer = ::mremap(memory, 8192, 1 << 20, MREMAP_MAYMOVE);
    const int fd = ::open(file_.c_str(), O_RDONLY);
    void* of_file = ::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 4096);
    return longer != MAP_FAILED && ::mremap(longer, 4095, ~0UL >> 1, 0) == MAP_FAILED &&
                   ::mremap(of_file, 4096, 8192, MREMAP_MAYMOVE) != MAP_FAILED
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_mremap");
  ASSERT_EQ(rows.size(), 3U);
  check_operation(rows[0]);
  EXPECT_NE(rows[0].u("address"), 0U);
  EXPECT_EQ(rows[0].u("bytes"), 8192U);
  EXPECT_EQ(rows[0].u("new_bytes"), 1U << 20);
  EXPECT_EQ(rows[0].u("flags"), u(MREMAP_MAYMOVE));
  EXPECT_EQ(rows[0].s("result"), 0);
  EXPECT_EQ(rows[1].u("address"), rows[0].u("new_address"));
  EXPECT_EQ(rows[1].u("new_address"), 0U);
  EXPECT_LT(rows[1].s("result"), 0);
  for (const int number : {0, 1}) {
    EXPECT_EQ(rows[number].u("file"), 0U);
    EXPECT_EQ(rows[number].s("offset"), -1);
  }
  EXPECT_EQ(path_of(rows[2]), file_);
  EXPECT_EQ(rows[2].s("offset"), 4096);
}

// Another thread holds the lock of the process's memory most of the time. A call with an unknown
// file is counted.
TEST_F(KernelSyscall, syscall_munmap_beside_a_thread_that_changes_memory) {
  constexpr std::uint64_t kTimes = 500;
  constexpr std::size_t kOtherBytes = 64U << 20U;
  RECORD([&] {
    void* memory = ::mmap(nullptr, kOtherBytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    std::atomic<bool> is_over = false;
    std::thread other([&] {
      for (int prot = PROT_READ; !is_over; prot ^= PROT_WRITE)
        ::mprotect(memory, kOtherBytes, prot);
    });
    const int fd = ::open(file_.c_str(), O_RDONLY);
    for (std::uint64_t i = 0; i < kTimes; ++i)
      ::munmap(::mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fd, 0), 4096);
    is_over = true;
    other.join();
    return 0;
  });
  std::uint64_t known = 0;
  std::uint64_t unknown = 0;
  for (const Row& row : recording_.rows("syscall_munmap", "bytes", 4096)) {
    if (row.u("file") == 0)
      ++unknown;
    else
      ++known;
  }
  EXPECT_EQ(known + unknown, kTimes);
  EXPECT_GE(recording_.counter(IOT_COUNTER_kernel_map_unread), unknown);
  RecordProperty("unknown", static_cast<int>(unknown));
}

TEST_F(KernelSyscall, syscall_mount_in_a_namespace_of_its_own) {
  const std::string directory = directory_.string();
  RECORD([&] {
    if (::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0)
      return 77;
    return ::mount("scratch", directory.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, nullptr) == 0 &&
                   ::umount2(directory.c_str(), MNT_DETACH) == 0
               ? 0
               : 1;
  });
  const std::vector<Row> mounts = recording_.rows("syscall_mount", "call", IOT_syscall_mount);
  ASSERT_EQ(mounts.size(), 2U);
  EXPECT_EQ(mounts[0].u("flags"), u(MS_REC | MS_PRIVATE));
  EXPECT_EQ(mounts[0].u("source"), 0U);
  EXPECT_EQ(mounts[0].u("type"), 0U);
  EXPECT_EQ(text_of(mounts[1], "source"), "scratch");
  EXPECT_EQ(text_of(mounts[1], "type"), "tmpfs");
  EXPECT_EQ(text_of(mounts[1]), directory);
  EXPECT_EQ(mounts[1].u("flags"), u(MS_NOSUID | MS_NODEV));
  EXPECT_EQ(mounts[1].u("unmount_flags"), 0U);
  const Row unmount = one("syscall_mount", IOT_syscall_umount2);
  EXPECT_EQ(text_of(unmount), directory);
  EXPECT_EQ(unmount.u("unmount_flags"), u(MNT_DETACH));
  EXPECT_EQ(unmount.u("flags"), 0U);
  EXPECT_EQ(unmount.u("source"), 0U);
}

TEST_F(KernelSyscall, syscall_aio_context) {
  RECORD([&] {
    aio_context_t context = 0;
    iocb none{};
    io_event event{};
    return ::syscall(SYS_io_setup, 8, &context) == 0 &&
                   ::syscall(SYS_io_cancel, context, &none, &event) == -1 &&
                   ::syscall(SYS_io_destroy, context) == 0 &&
                   ::syscall(SYS_io_setup, 0, &context) == -1
               ? 0
               : 1;
  });
  const std::vector<Row> setups =
      recording_.rows("syscall_aio_context", "call", IOT_syscall_io_setup);
  ASSERT_EQ(setups.size(), 2U);
  EXPECT_EQ(setups[0].u("entries"), 8U);
  EXPECT_NE(setups[0].u("context"), 0U);
  EXPECT_EQ(setups[1].u("context"), 0U);
  EXPECT_LT(setups[1].s("result"), 0);
  const Row cancel = one("syscall_aio_context", IOT_syscall_io_cancel);
  EXPECT_EQ(cancel.u("context"), setups[0].u("context"));
  EXPECT_NE(cancel.u("iocb"), 0U);
  EXPECT_EQ(cancel.s("result"), -EINVAL);
  const Row destroy = one("syscall_aio_context", IOT_syscall_io_destroy);
  EXPECT_EQ(destroy.u("context"), setups[0].u("context"));
  EXPECT_EQ(destroy.s("result"), 0);
  EXPECT_EQ(destroy.u("entries"), 0U);
}

TEST_F(KernelSyscall, syscall_copy_from_pipe_to_pipe) {
  RECORD([&] {
    int from[2];
    int to[2];
    return ::pipe(from) == 0 && ::pipe(to) == 0 && ::write(from[1], "abcde", 5) == 5 &&
                   ::tee(from[0], to[1], 100, SPLICE_F_NONBLOCK) == 5
               ? 0
               : 1;
  });
  const Row row = one("syscall_copy", IOT_syscall_tee);
  EXPECT_EQ(row.u("bytes_requested"), 100U);
  EXPECT_EQ(row.s("result"), 5);
  EXPECT_EQ(row.u("flags"), u(SPLICE_F_NONBLOCK));
  EXPECT_TRUE(path_of(row, "in_file").starts_with("pipe:["));
  EXPECT_NE(row.u("in_file"), row.u("out_file"));
  EXPECT_EQ(row.s("out_fd"), row.s("in_fd") + 3);
}

TEST_F(KernelSyscall, syscall_copy_between_memory_and_a_pipe) {
  RECORD([&] {
    int ends[2];
    char bytes[] = "abcde";
    iovec parts[] = {{bytes, 2}, {bytes + 2, 3}};
    return ::pipe(ends) == 0 && ::vmsplice(ends[1], parts, 2, SPLICE_F_NONBLOCK) == 5 &&
                   ::vmsplice(ends[0], parts, 1, 0) == 2
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_copy", "call", IOT_syscall_vmsplice);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].u("bytes_requested"), 5U);
  EXPECT_EQ(rows[0].s("result"), 5);
  EXPECT_EQ(rows[0].u("flags"), u(SPLICE_F_NONBLOCK));
  EXPECT_EQ(rows[0].u("in_file"), 0U);
  EXPECT_EQ(rows[0].s("in_fd"), IOT_NO_FD);
  EXPECT_TRUE(path_of(rows[0], "out_file").starts_with("pipe:["));
  EXPECT_EQ(rows[1].u("bytes_requested"), 2U);
  EXPECT_EQ(rows[1].s("result"), 2);
  EXPECT_TRUE(path_of(rows[1], "in_file").starts_with("pipe:["));
  EXPECT_EQ(rows[1].s("out_fd"), IOT_NO_FD);
}

} // namespace
} // namespace iotrail::live
