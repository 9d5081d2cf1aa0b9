// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer syscall: one known call in a child, every field of its
// record. Here: calls on sockets, over the loopback device and within a process, and calls that
// wait for descriptors.
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "kernel_syscall_fixture.hpp"

namespace iotrail::live {
namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

template <class Address> sockaddr* any(Address& address) {
  return reinterpret_cast<sockaddr*>(&address);
}

// Binds a socket to a port that the kernel chooses, and returns the port.
std::uint16_t bind_somewhere(int fd) {
  sockaddr_in address = loopback(0);
  socklen_t bytes = sizeof(address);
  if (::bind(fd, any(address), bytes) != 0 || ::getsockname(fd, any(address), &bytes) != 0)
    return 0;
  return ntohs(address.sin_port);
}

TEST_F(KernelSyscall, syscall_socket) {
  RECORD([&] {
    int pair[2];
    return ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, IPPROTO_UDP) >= 0 &&
                   ::socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0 && ::socket(12345, 0, 0) < 0
               ? 0
               : 1;
  });
  const std::vector<Row> rows = recording_.rows("syscall_socket", "call", IOT_syscall_socket);
  ASSERT_EQ(rows.size(), 2U);
  check_operation(rows[0]);
  EXPECT_GE(rows[0].s("result"), 0);
  EXPECT_TRUE(path_of(rows[0]).starts_with("socket:["));
  EXPECT_EQ(rows[0].u("family"), static_cast<std::uint64_t>(AF_INET));
  EXPECT_EQ(rows[0].u("type"), static_cast<std::uint64_t>(SOCK_DGRAM | SOCK_CLOEXEC));
  EXPECT_EQ(rows[0].u("protocol"), static_cast<std::uint64_t>(IPPROTO_UDP));
  EXPECT_EQ(rows[1].s("result"), -EAFNOSUPPORT);
  EXPECT_EQ(rows[1].u("file"), 0U);
  const Row pair = one("syscall_socket", IOT_syscall_socketpair);
  EXPECT_EQ(pair.s("result"), 0);
  EXPECT_EQ(pair.u("family"), static_cast<std::uint64_t>(AF_UNIX));
}

TEST_F(KernelSyscall, syscall_connection_and_its_data) {
  RECORD([&] {
    const int listener = ::socket(AF_INET, SOCK_STREAM, 0);
    const int client = ::socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address = loopback(bind_somewhere(listener));
    sockaddr_in peer{};
    socklen_t bytes = sizeof(peer);
    char buffer[100];
    if (::listen(listener, 3) != 0 || ::connect(client, any(address), sizeof(address)) != 0)
      return 1;
    const int server = ::accept4(listener, any(peer), &bytes, SOCK_CLOEXEC);
    return ::send(client, "hello", 5, MSG_NOSIGNAL) == 5 && ::recv(server, buffer, 70, 0) == 5 &&
                   ::shutdown(client, SHUT_WR) == 0 && ::recv(server, buffer, 70, 0) == 0
               ? 0
               : 1;
  });
  const Row bound = one("syscall_connection", IOT_syscall_bind);
  EXPECT_EQ(text_of(bound, "address"), "127.0.0.1:0");
  const Row listening = one("syscall_connection", IOT_syscall_listen);
  EXPECT_EQ(listening.u("argument"), 3U);
  EXPECT_EQ(listening.u("file"), bound.u("file"));
  const Row connected = one("syscall_connection", IOT_syscall_connect);
  EXPECT_TRUE(text_of(connected, "address").starts_with("127.0.0.1:"));
  const Row accepted = one("syscall_connection", IOT_syscall_accept4);
  EXPECT_TRUE(text_of(accepted, "address").starts_with("127.0.0.1:"));
  EXPECT_NE(text_of(accepted, "address"), text_of(connected, "address"));
  EXPECT_EQ(accepted.u("file"), bound.u("file"));
  EXPECT_EQ(accepted.u("argument"), static_cast<std::uint64_t>(SOCK_CLOEXEC));
  const Row sent = one("syscall_send", IOT_syscall_sendto);
  EXPECT_EQ(sent.s("result"), 5);
  EXPECT_EQ(sent.u("bytes_requested"), 5U);
  EXPECT_EQ(sent.u("file"), connected.u("file"));
  EXPECT_EQ(sent.u("flags"), static_cast<std::uint64_t>(MSG_NOSIGNAL));
  EXPECT_EQ(sent.u("address"), 0U);
  const std::vector<Row> received =
      recording_.rows("syscall_receive", "call", IOT_syscall_recvfrom);
  ASSERT_EQ(received.size(), 2U);
  EXPECT_EQ(received[0].s("result"), 5);
  EXPECT_EQ(received[0].u("bytes_requested"), 70U);
  EXPECT_EQ(received[0].u("file"), accepted.u("accepted"));
  EXPECT_EQ(received[0].s("fd"), accepted.s("result"));
  EXPECT_EQ(received[1].s("result"), 0);
  EXPECT_EQ(one("syscall_connection", IOT_syscall_shutdown).u("argument"),
            static_cast<std::uint64_t>(SHUT_WR));
}

TEST_F(KernelSyscall, syscall_send_of_datagrams_names_the_peer) {
  RECORD([&] {
    const int to = ::socket(AF_INET, SOCK_DGRAM, 0);
    const int from = ::socket(AF_INET, SOCK_DGRAM, 0);
    sockaddr_in address = loopback(bind_somewhere(to));
    sockaddr_in peer{};
    char room[30];
    iovec two[2] = {{room, 10}, {room + 10, 7}};
    msghdr message{};
    message.msg_name = &address;
    message.msg_namelen = sizeof(address);
    message.msg_iov = two;
    message.msg_iovlen = 2;
    mmsghdr many[2] = {{.msg_hdr = message, .msg_len = 0}, {.msg_hdr = message, .msg_len = 0}};
    if (::sendmsg(from, &message, 0) != 17 || ::sendmmsg(from, many, 2, 0) != 2)
      return 1;
    socklen_t bytes = sizeof(peer);
    return ::recvfrom(to, room, 30, MSG_DONTWAIT, any(peer), &bytes) == 17 &&
                   ::recvmmsg(to, many, 2, 0, nullptr) == 2
               ? 0
               : 1;
  });
  const Row one_message = one("syscall_send", IOT_syscall_sendmsg);
  EXPECT_EQ(one_message.s("result"), 17);
  EXPECT_EQ(one_message.u("bytes_requested"), 17U);
  EXPECT_TRUE(text_of(one_message, "address").starts_with("127.0.0.1:"));
  const Row many = one("syscall_send", IOT_syscall_sendmmsg);
  EXPECT_EQ(many.s("result"), 34);
  EXPECT_EQ(many.u("bytes_requested"), 17U);
  const Row received = one("syscall_receive", IOT_syscall_recvfrom);
  EXPECT_EQ(received.u("flags"), static_cast<std::uint64_t>(MSG_DONTWAIT));
  EXPECT_TRUE(text_of(received, "address").starts_with("127.0.0.1:"));
  EXPECT_NE(text_of(received, "address"), text_of(one_message, "address"));
  EXPECT_EQ(one("syscall_receive", IOT_syscall_recvmmsg).s("result"), 34);
}

TEST_F(KernelSyscall, syscall_receive_where_nothing_has_come) {
  RECORD([&] {
    int pair[2];
    char byte = 0;
    return ::socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 &&
                   ::recv(pair[0], &byte, 1, MSG_DONTWAIT) < 0
               ? 0
               : 1;
  });
  const Row row = one("syscall_receive", IOT_syscall_recvfrom);
  EXPECT_EQ(row.s("result"), -EAGAIN);
  EXPECT_EQ(row.u("address"), 0U);
  EXPECT_TRUE(path_of(row).starts_with("socket:["));
}

TEST_F(KernelSyscall, syscall_connection_to_a_path) {
  RECORD([&] {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, "/nowhere/socket", 16);
    return ::connect(::socket(AF_UNIX, SOCK_STREAM, 0), any(address), sizeof(address)) < 0 ? 0 : 1;
  });
  const Row row = one("syscall_connection", IOT_syscall_connect);
  EXPECT_EQ(text_of(row, "address"), "unix:/nowhere/socket");
  EXPECT_EQ(row.s("result"), -ENOENT);
}

constexpr std::int64_t kMillisecond_ns = 1'000'000;

TEST_F(KernelSyscall, syscall_poll) {
  RECORD([&] {
    int ends[2];
    if (::pipe(ends) != 0 || ::write(ends[1], "x", 1) != 1)
      return 1;
    pollfd two[2] = {{.fd = ends[0], .events = POLLIN, .revents = 0},
                     {.fd = ends[1], .events = POLLOUT, .revents = 0}};
    fd_set readable;
    FD_ZERO(&readable);
    FD_SET(ends[0], &readable);
    timeval none{};
    const int epoll = ::epoll_create1(0);
    epoll_event event = {.events = EPOLLIN, .data = {}};
    epoll_event events[5];
    return ::syscall(SYS_poll, two, 2, 0) == 2 &&
                   ::syscall(SYS_select, ends[0] + 1, &readable, nullptr, nullptr, &none) == 1 &&
                   ::epoll_ctl(epoll, EPOLL_CTL_ADD, ends[0], &event) == 0 &&
                   ::syscall(SYS_epoll_wait, epoll, events, 5, 0) == 1
               ? 0
               : 1;
  });
  const Row poll = one("syscall_poll", IOT_syscall_poll);
  EXPECT_EQ(poll.s("result"), 2);
  EXPECT_EQ(poll.u("watched"), 2U);
  EXPECT_EQ(poll.s("fd"), -1);
  EXPECT_EQ(poll.s("timeout_ns"), 0);
  const Row select = one("syscall_poll", IOT_syscall_select);
  EXPECT_EQ(select.s("result"), 1);
  EXPECT_EQ(select.s("timeout_ns"), 0);
  const Row epoll = one("syscall_poll", IOT_syscall_epoll_wait);
  EXPECT_EQ(epoll.s("result"), 1);
  EXPECT_EQ(epoll.u("watched"), 5U);
  EXPECT_EQ(epoll.s("timeout_ns"), 0);
  EXPECT_GE(epoll.s("fd"), 0);
  EXPECT_TRUE(path_of(epoll).starts_with("anon_inode:")) << "such files share one inode";
}

// The kernel overwrites some timeouts with the remaining time.
TEST_F(KernelSyscall, syscall_poll_has_the_given_timeout) {
  RECORD([&] {
    int ends[2];
    if (::pipe(ends) != 0)
      return 1;
    const int epoll = ::epoll_create1(0);
    epoll_event event = {};
    timeval micro{.tv_sec = 0, .tv_usec = 2001};
    timespec left[3] = {{0, 2'000'003}, {0, 2'000'007}, {0, 2'000'009}};
    return ::syscall(SYS_poll, nullptr, 0, 3) == 0 &&
                   ::syscall(SYS_select, 0, nullptr, nullptr, nullptr, &micro) == 0 &&
                   ::syscall(SYS_pselect6, 0, nullptr, nullptr, nullptr, &left[0], nullptr) == 0 &&
                   ::syscall(SYS_ppoll, nullptr, 0, &left[1], nullptr, 0) == 0 &&
                   micro.tv_usec == 0 && left[0].tv_nsec == 0 && left[1].tv_nsec == 0 &&
                   ::syscall(SYS_epoll_wait, epoll, &event, 1, 4) == 0 &&
                   ::syscall(SYS_epoll_pwait2, epoll, &event, 1, &left[2], nullptr, 0) == 0 &&
                   ::epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1],
                               &(event = {.events = EPOLLOUT, .data = {}})) == 0 &&
                   ::syscall(SYS_epoll_pwait, epoll, &event, 1, -5, nullptr, 0) == 1
               ? 0
               : 1;
  });
  const auto timeout_ns = [&](auto call) { return one("syscall_poll", call).s("timeout_ns"); };
  EXPECT_EQ(timeout_ns(IOT_syscall_poll), 3 * kMillisecond_ns);
  EXPECT_EQ(timeout_ns(IOT_syscall_select), 2'001'000);
  EXPECT_EQ(timeout_ns(IOT_syscall_pselect6), 2'000'003);
  EXPECT_EQ(timeout_ns(IOT_syscall_ppoll), 2'000'007);
  EXPECT_EQ(timeout_ns(IOT_syscall_epoll_wait), 4 * kMillisecond_ns);
  EXPECT_EQ(timeout_ns(IOT_syscall_epoll_pwait2), 2'000'009);
  EXPECT_EQ(timeout_ns(IOT_syscall_epoll_pwait), -1) << "until something is ready";
}

} // namespace
} // namespace iotrail::live
