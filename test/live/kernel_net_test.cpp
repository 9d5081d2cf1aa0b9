// SPDX-License-Identifier: BSD-3-Clause
//
// One test for each event of the layer net: known connections over the loopback device, with both
// ends in one child, every field of the records.
#include <linux/filter.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "await.hpp"
#include "base/clock.hpp"
#include "kernel_net_fixture.hpp"

namespace iotrail::live {
namespace {

constexpr std::size_t kRequestBytes = 70'000;
constexpr std::size_t kAnswerBytes = 7;
constexpr useconds_t kOpenMicroseconds = 100'000; // at least

Ends connect_both(int family) {
  Ends ends;
  Address address = loopback_of(family);
  ends.listener = ::socket(family, SOCK_STREAM, 0);
  ends.client = ::socket(family, SOCK_STREAM, 0);
  if (::bind(ends.listener, address.get(), address.bytes) == 0 &&
      ::getsockname(ends.listener, address.get(), &address.bytes) == 0 &&
      ::listen(ends.listener, 5) == 0 && ::connect(ends.client, address.get(), address.bytes) == 0)
    ends.server = ::accept(ends.listener, nullptr, nullptr);
  return ends;
}

// What the kernel says about a TCP socket.
tcp_info tcp_of(int fd) {
  tcp_info info{};
  socklen_t bytes = sizeof(info);
  ::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes);
  return info;
}

bool await_state(int fd, int state) {
  return await([&] { return tcp_of(fd).tcpi_state == state; });
}

// Two ports of a connection, as the kernel lists that end of it which has the first one.
std::string ports_of(int near_fd, int far_fd) {
  std::string ports;
  for (const int fd : {near_fd, far_fd}) {
    Address address;
    address.bytes = sizeof(address.storage);
    ::getsockname(fd, address.get(), &address.bytes);
    const auto& inet = reinterpret_cast<const sockaddr_in&>(address.storage); // as in sockaddr_in6
    ports += fmt::format(":{:04X}", ntohs(inet.sin_port));
  }
  return ports;
}

// Whether the end of a connection with these ports still exists, though no descriptor leads to it.
bool is_listed(int family, const std::string& ports) {
  std::ifstream lines(family == AF_INET ? "/proc/net/tcp" : "/proc/net/tcp6");
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string number, local, peer;
    words >> number >> local >> peer;
    if (local.ends_with(ports.substr(0, ports.size() / 2)) &&
        peer.ends_with(ports.substr(ports.size() / 2)))
      return true;
  }
  return false;
}

using States = std::vector<std::uint64_t>;

TEST_P(KernelNet, net_state_of_both_ends) {
  RECORD_EVENT("net_state", [&] {
    const Ends ends = connect_both(GetParam());
    if (!ends.are_open() || !send_all(ends.client, kRequestBytes) ||
        !receive_all(ends.server, kRequestBytes) || !send_all(ends.server, kAnswerBytes) ||
        !receive_all(ends.client, kAnswerBytes))
      return 1;
    ::usleep(kOpenMicroseconds);
    ::shutdown(ends.client, SHUT_WR);
    if (!await_state(ends.client, TCP_FIN_WAIT2) || !await_state(ends.server, TCP_CLOSE_WAIT))
      return 1;
    const std::string server = ports_of(ends.server, ends.client);
    ::close(ends.server);
    if (!await_state(ends.client, TCP_CLOSE) ||
        !await([&] { return !is_listed(GetParam(), server); }))
      return 1;
    ::close(ends.client);
    ::close(ends.listener);
    return 0;
  });
  const Row listening = change(IOT_tcp_state_CLOSE, IOT_tcp_state_LISTEN);
  check(listening, true);
  EXPECT_TRUE(text(listening, "local")
                  .ends_with(text(change(IOT_tcp_state_LISTEN, IOT_tcp_state_CLOSE), "local")));

  const Row connecting = change(IOT_tcp_state_CLOSE, IOT_tcp_state_SYN_SENT);
  check(connecting, true);
  EXPECT_EQ(connecting.u("state_ns"), 0U);
  EXPECT_TRUE(recording_.path(connecting.u("file")).starts_with("socket:["));
  EXPECT_NE(connecting.u("file"), listening.u("file"));
  EXPECT_EQ(states_of(connecting.u("connection")),
            (States{IOT_tcp_state_SYN_SENT, IOT_tcp_state_ESTABLISHED, IOT_tcp_state_FIN_WAIT1,
                    IOT_tcp_state_FIN_WAIT2, IOT_tcp_state_CLOSE}));

  const Row accepting = change(IOT_tcp_state_LISTEN, IOT_tcp_state_SYN_RECV);
  check(accepting, false);
  EXPECT_EQ(accepting.u("file"), 0U);
  EXPECT_EQ(states_of(accepting.u("connection")),
            (States{IOT_tcp_state_SYN_RECV, IOT_tcp_state_ESTABLISHED, IOT_tcp_state_CLOSE_WAIT,
                    IOT_tcp_state_LAST_ACK, IOT_tcp_state_CLOSE}));

  const Row established = change(IOT_tcp_state_SYN_SENT, IOT_tcp_state_ESTABLISHED);
  EXPECT_EQ(established.u("connection"), connecting.u("connection"));
  EXPECT_EQ(established.u("file"), connecting.u("file"));
  EXPECT_EQ(established.u("state_ns"), established.u("ts_ns") - connecting.u("ts_ns"));
  const Row client = change(IOT_tcp_state_FIN_WAIT2, IOT_tcp_state_CLOSE);
  const Row server = change(IOT_tcp_state_LAST_ACK, IOT_tcp_state_CLOSE);
  check_addresses(client, server, GetParam());
  EXPECT_EQ(client.u("bytes_sent"), kRequestBytes);
  EXPECT_EQ(client.u("bytes_received"), kAnswerBytes);
  EXPECT_EQ(server.u("bytes_sent"), kAnswerBytes);
  EXPECT_EQ(server.u("bytes_received"), kRequestBytes) << "its peer's end is no byte";
  EXPECT_GT(client.u("rtt_ns"), 0U);
  EXPECT_LT(client.u("rtt_ns"), 10'000'000'000U);
  // On a busy machine a late acknowledgement may cause a retransmission. The kernel does not report each.
  const std::uint64_t connection = client.u("connection");
  const bool was_sent_again = !recording_.rows("net_retransmit", "connection", connection).empty();
  const std::uint64_t sent_again = client.u("segments_retransmitted");
  EXPECT_TRUE(sent_again > 0 || client.u("bytes_retransmitted") == 0) << "an end has no bytes";
  if (was_sent_again)
    EXPECT_GT(sent_again, 0U);
  else
    EXPECT_LE(sent_again, missed());
  const Row waiting = change(IOT_tcp_state_ESTABLISHED, IOT_tcp_state_CLOSE_WAIT);
  EXPECT_TRUE(recording_.path(waiting.u("file")).starts_with("socket:[")) << "known since accept";
  const Row closing = change(IOT_tcp_state_ESTABLISHED, IOT_tcp_state_FIN_WAIT1);
  check(closing, true);
  EXPECT_GT(closing.u("state_ns"), kOpenMicroseconds * 1000U);
}

// The connection belongs to the process that accepted it, not to the listener.
TEST_P(KernelNet, net_state_after_another_process_accepted) {
  RECORD_EVENT("net_state", [&] {
    Address address = loopback_of(GetParam());
    const int listener = ::socket(GetParam(), SOCK_STREAM, 0);
    const int client = ::socket(GetParam(), SOCK_STREAM, 0);
    if (::bind(listener, address.get(), address.bytes) != 0 ||
        ::getsockname(listener, address.get(), &address.bytes) != 0 || ::listen(listener, 5) != 0)
      return 1;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(client);
      const int server = ::accept(listener, nullptr, nullptr);
      ::_exit(send_all(server, 1) ? 0 : 1);
    }
    const bool is_answered =
        ::connect(client, address.get(), address.bytes) == 0 && receive_all(client, 1);
    int status = 0;
    ::waitpid(child, &status, 0);
    return is_answered ? status : 1;
  });
  const auto pid = static_cast<std::uint64_t>(recording_.pid());
  EXPECT_EQ(change(IOT_tcp_state_LISTEN, IOT_tcp_state_SYN_RECV).u("pid"), pid);
  EXPECT_EQ(change(IOT_tcp_state_CLOSE, IOT_tcp_state_SYN_SENT).u("pid"), pid);
  const Row closing = changes(IOT_tcp_state_ESTABLISHED, IOT_tcp_state_FIN_WAIT1).at(0);
  EXPECT_NE(closing.u("pid"), pid);
  EXPECT_EQ(closing.u("connection"),
            change(IOT_tcp_state_LISTEN, IOT_tcp_state_SYN_RECV).u("connection"));
}

TEST_P(KernelNet, net_reset_without_a_listener) {
  RECORD_EVENT("net_reset", [&] {
    Address address = loopback_of(GetParam());
    const int holder = ::socket(GetParam(), SOCK_STREAM, 0); // has the port but does not listen
    const int client = ::socket(GetParam(), SOCK_STREAM, 0);
    return ::bind(holder, address.get(), address.bytes) == 0 &&
                   ::getsockname(holder, address.get(), &address.bytes) == 0 &&
                   ::connect(client, address.get(), address.bytes) != 0 && errno == ECONNREFUSED
               ? 0
               : 1;
  });
  const std::vector<Row>& resets = recording_.rows("net_reset");
  ASSERT_EQ(resets.size(), 1U);
  const Row& reset = resets.front();
  EXPECT_EQ(reset.u("direction"), static_cast<std::uint64_t>(IOT_net_direction_received));
  EXPECT_EQ(reset.u("state"), static_cast<std::uint64_t>(IOT_tcp_state_SYN_SENT));
  EXPECT_EQ(reset.u("reason"), static_cast<std::uint64_t>(IOT_reset_reason_unknown));
  EXPECT_EQ(reset.u("family"), static_cast<std::uint64_t>(GetParam()));
  EXPECT_EQ(reset.u("pid"), static_cast<std::uint64_t>(recording_.pid()));
  const Row closed = change(IOT_tcp_state_SYN_SENT, IOT_tcp_state_CLOSE);
  EXPECT_EQ(reset.u("connection"), closed.u("connection"));
  EXPECT_EQ(text(reset, "local"), text(closed, "local"));
  EXPECT_EQ(text(reset, "peer"), text(closed, "peer"));
  EXPECT_TRUE(recording_.path(reset.u("file")).starts_with("socket:["));
}

TEST_P(KernelNet, net_reset_by_a_close_that_does_not_linger) {
  RECORD_EVENT("net_reset", [&] {
    const Ends ends = connect_both(GetParam());
    const linger none = {.l_onoff = 1, .l_linger = 0};
    if (!ends.are_open() ||
        ::setsockopt(ends.client, SOL_SOCKET, SO_LINGER, &none, sizeof(none)) != 0)
      return 1;
    ::close(ends.client);
    return await_state(ends.server, TCP_CLOSE) ? 0 : 1;
  });
  const std::vector<Row> sent = recording_.rows("net_reset", "direction", IOT_net_direction_sent);
  const std::vector<Row> received =
      recording_.rows("net_reset", "direction", IOT_net_direction_received);
  ASSERT_EQ(sent.size(), 1U);
  ASSERT_EQ(received.size(), 1U);
  check(sent.front(), sent.front().u("op_id") != 0); // before 6.6 a close is done after its call
  check(received.front(), false);
  check_addresses(sent.front(), received.front(), GetParam());
  EXPECT_EQ(received.front().u("state"), static_cast<std::uint64_t>(IOT_tcp_state_ESTABLISHED));
  EXPECT_NE(sent.front().u("connection"), received.front().u("connection"));
}

// Makes a socket drop all packets by a filter; the peer retransmits them.
bool let_nothing_in(int fd, bool is_on) {
  sock_filter refuse = {.code = BPF_RET | BPF_K, .jt = 0, .jf = 0, .k = 0};
  const int unused = 0;
  const sock_fprog program = {.len = 1, .filter = &refuse};
  return is_on ? ::setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof(program)) == 0
               : ::setsockopt(fd, SOL_SOCKET, SO_DETACH_FILTER, &unused, sizeof(unused)) == 0;
}

int send_to_a_deaf_peer(int family) {
  const Ends ends = connect_both(family);
  if (!ends.are_open() || !let_nothing_in(ends.server, true) ||
      !send_all(ends.client, kAnswerBytes))
    return 1;
  return await([&] { return tcp_of(ends.client).tcpi_total_retrans >= 3; }) &&
                 let_nothing_in(ends.server, false) && receive_all(ends.server, kAnswerBytes)
             ? 0
             : 1;
}

// Three times: the first one may come early, by a probe, and the second one as late as that.
TEST_P(KernelNet, net_retransmit) {
  RECORD_EVENT("net_retransmit", [&] { return send_to_a_deaf_peer(GetParam()); });
  const std::vector<Row>& rows = recording_.rows("net_retransmit");
  ASSERT_GE(rows.size(), 2U);
  const Row connected = change(IOT_tcp_state_SYN_SENT, IOT_tcp_state_ESTABLISHED);
  for (const Row& row : rows) {
    check(row, false);
    EXPECT_EQ(row.u("connection"), connected.u("connection"));
    EXPECT_EQ(row.u("file"), connected.u("file"));
    EXPECT_EQ(text(row, "local"), text(connected, "local"));
    EXPECT_EQ(text(row, "peer"), text(connected, "peer"));
    EXPECT_EQ(row.u("family"), static_cast<std::uint64_t>(GetParam()));
    EXPECT_EQ(row.u("bytes"), kAnswerBytes);
    EXPECT_EQ(row.u("segments"), 1U);
    EXPECT_EQ(row.u("sequence"), rows.front().u("sequence"));
    EXPECT_EQ(row.u("result"), 0U);
    EXPECT_EQ(row.u("state"), static_cast<std::uint64_t>(IOT_tcp_state_ESTABLISHED));
    EXPECT_GE(row.u("congestion_window"), 1U);
    EXPECT_GT(row.u("rtt_ns"), 0U);
    EXPECT_GE(row.u("timeout_ns"), 100'000'000U);
    EXPECT_LT(row.u("timeout_ns"), 120'000'000'000U);
  }
  EXPECT_GT(rows.back().u("timeout_ns"), rows.front().u("timeout_ns"))
      << "it waits longer each time";
  const std::uint64_t sent_again = segments_sent_again(connected.u("connection"));
  EXPECT_LE(rows.size(), sent_again);
  EXPECT_EQ(rows.size() < sent_again, missed() != 0);
}

TEST_P(KernelNet, net_drop) {
  RECORD_EVENT("net_drop", [&] { return send_to_a_deaf_peer(GetParam()); });
  if (recording_.hook_of("net_drop").hook.ends_with("(no receiver)"))
    GTEST_SKIP() << "this kernel does not report the owner of a dropped packet";
  const std::vector<Row> rows =
      recording_.rows("net_drop", "reason", IOT_drop_reason_SOCKET_FILTER);
  const Row accepted = change(IOT_tcp_state_SYN_RECV, IOT_tcp_state_ESTABLISHED);
  const Row connected = change(IOT_tcp_state_SYN_SENT, IOT_tcp_state_ESTABLISHED);
  const std::uint64_t sent_again = segments_sent_again(connected.u("connection"));
  EXPECT_LE(rows.size(), sent_again) << "the first, all but the last";
  EXPECT_GE(rows.size(), is_emulated() ? sent_again : 1U) << "docs/adr/0007";
  for (const Row& row : rows) {
    check(row, false);
    EXPECT_EQ(row.u("connection"), accepted.u("connection"));
    EXPECT_TRUE(recording_.path(row.u("file")).starts_with("socket:["));
    check_addresses(connected, row, GetParam());
    EXPECT_EQ(row.u("direction"), static_cast<std::uint64_t>(IOT_net_direction_received));
    EXPECT_EQ(row.u("state"), static_cast<std::uint64_t>(IOT_tcp_state_ESTABLISHED));
    EXPECT_GE(row.u("bytes"), kAnswerBytes);
    EXPECT_NE(row.u("kernel_reason"), 0U);
    EXPECT_EQ(row.u("protocol"), static_cast<std::uint64_t>(IOT_ip_protocol_TCP));
  }
}

INSTANTIATE_TEST_SUITE_P(OfFamily, KernelNet, testing::Values(AF_INET, AF_INET6), name_of_family);

} // namespace
} // namespace iotrail::live
