// SPDX-License-Identifier: BSD-3-Clause
//
// Datagrams that a socket has no room for, by its own count of them.
#include <linux/sock_diag.h>
#include <sys/socket.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <vector>

#include "await.hpp"
#include "kernel_net_fixture.hpp"
#include "shared.hpp"

namespace iotrail::live {
namespace {

class KernelNetDatagrams : public KernelNet {};

constexpr int kDroppedLeast = 50;
constexpr int kDatagramsMost = 100'000;
constexpr std::size_t kDatagramBytes = 1000;

// Two UDP sockets; the receiver's buffer is small.
Ends bind_both(int family) {
  Ends ends;
  Address address = loopback_of(family);
  const int room_bytes = 16'384;
  ends.server = ::socket(family, SOCK_DGRAM, 0);
  ends.client = ::socket(family, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  ::setsockopt(ends.server, SOL_SOCKET, SO_RCVBUF, &room_bytes, sizeof(room_bytes));
  if (::bind(ends.server, address.get(), address.bytes) != 0 ||
      ::getsockname(ends.server, address.get(), &address.bytes) != 0 ||
      ::connect(ends.client, address.get(), address.bytes) != 0)
    ends.client = -1;
  return ends;
}

// Datagrams that this socket had no room for.
int dropped_at(int fd) {
  std::array<std::uint32_t, SK_MEMINFO_VARS> memory{};
  socklen_t bytes = sizeof(memory);
  ::getsockopt(fd, SOL_SOCKET, SO_MEMINFO, memory.data(), &bytes);
  return static_cast<int>(memory[SK_MEMINFO_DROPS]);
}

// Sends datagrams until that socket has dropped enough of them. Returns how many.
int overfill(int fd, const std::function<bool()>& send) {
  int sent = 0;
  while (dropped_at(fd) < kDroppedLeast && sent < kDatagramsMost)
    sent += send() ? 1 : 0;
  return sent;
}

int come_in(int fd) {
  std::vector<char> data(kDatagramBytes);
  int count = 0;
  while (::recv(fd, data.data(), data.size(), MSG_DONTWAIT) == static_cast<ssize_t>(kDatagramBytes))
    ++count;
  return count;
}

TEST_P(KernelNetDatagrams, net_drop_of_datagrams_that_a_socket_has_no_room_for) {
  struct Datagrams {
    int sent, received;
  };
  const Shared<Datagrams> datagrams;
  RECORD_EVENT("net_drop", [&] {
    const Ends ends = bind_both(GetParam());
    if (ends.client < 0)
      return 1;
    datagrams->sent = overfill(ends.server, [&] { return send_all(ends.client, kDatagramBytes); });
    const bool are_counted = await([&] {
      datagrams->received += come_in(ends.server);
      return datagrams->received + dropped_at(ends.server) == datagrams->sent;
    });
    return are_counted ? 0 : 1;
  });
  const std::string hook = recording_.hook_of("net_drop").hook;
  if (hook == "tp_btf/kfree_skb (no receiver)" ||
      (hook.ends_with("(no receiver)") && GetParam() == AF_INET6))
    GTEST_SKIP() << "this kernel does not report the owner of a dropped datagram";
  ASSERT_GT(datagrams->received, 0);
  const std::vector<Row>& rows = recording_.rows("net_drop");
  ASSERT_GE(rows.size(), std::size_t{kDroppedLeast});
  EXPECT_EQ(rows.size(), static_cast<std::size_t>(datagrams->sent - datagrams->received));
  const std::string host = GetParam() == AF_INET ? "127.0.0.1:" : "[::1]:";
  for (const Row& row : rows) {
    check(row, false);
    EXPECT_EQ(row.u("connection"), rows.front().u("connection"));
    EXPECT_TRUE(recording_.path(row.u("file")).starts_with("socket:["));
    EXPECT_EQ(row.u("file"), rows.front().u("file"));
    EXPECT_TRUE(text(row, "local").starts_with(host)) << text(row, "local");
    EXPECT_TRUE(text(row, "peer").starts_with(host)) << text(row, "peer");
    EXPECT_NE(text(row, "local"), text(row, "peer"));
    EXPECT_EQ(text(row, "peer"), text(rows.front(), "peer"));
    EXPECT_EQ(row.u("bytes"), kDatagramBytes);
    EXPECT_NE(row.u("kernel_reason"), 0U);
    EXPECT_EQ(row.u("reason"), static_cast<std::uint64_t>(IOT_drop_reason_SOCKET_RCVBUFF));
    EXPECT_EQ(row.u("direction"), static_cast<std::uint64_t>(IOT_net_direction_received));
    EXPECT_EQ(row.u("state"), static_cast<std::uint64_t>(IOT_tcp_state_CLOSE));
    EXPECT_EQ(row.u("family"), static_cast<std::uint64_t>(GetParam()));
    EXPECT_EQ(row.u("protocol"), static_cast<std::uint64_t>(IOT_ip_protocol_UDP));
  }
}

// The child's packets are dropped at a socket outside the recording.
TEST_P(KernelNetDatagrams, net_drop_at_a_socket_of_others_is_not_recorded) {
  const Ends others = bind_both(GetParam());
  ASSERT_GE(others.client, 0);
  Address of_others = loopback_of(GetParam());
  ASSERT_EQ(::getsockname(others.server, of_others.get(), &of_others.bytes), 0);
  RECORD_EVENT("net_drop", [&] {
    const int client = ::socket(GetParam(), SOCK_DGRAM, 0);
    const std::vector<char> data(kDatagramBytes);
    overfill(others.server, [&] {
      return ::sendto(client, data.data(), data.size(), 0, of_others.get(), of_others.bytes) > 0;
    });
    return 0;
  });
  EXPECT_GE(dropped_at(others.server), kDroppedLeast);
  EXPECT_TRUE(recording_.rows("net_drop").empty());
  for (const int fd : {others.server, others.client})
    ::close(fd);
}

INSTANTIATE_TEST_SUITE_P(OfFamily, KernelNetDatagrams, testing::Values(AF_INET, AF_INET6),
                         name_of_family);

} // namespace
} // namespace iotrail::live
