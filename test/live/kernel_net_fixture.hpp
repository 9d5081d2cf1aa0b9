// SPDX-License-Identifier: BSD-3-Clause
//
// Shared by the tests of the layer net: sockets on the loopback device, and the recording of a child
// that has both ends.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "kernel_fixture.hpp"

namespace iotrail::live {

// An address of either family.
struct Address {
  sockaddr_storage storage{};
  socklen_t bytes = 0;

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
};

inline Address loopback_of(int family) {
  Address address;
  if (family == AF_INET) {
    auto& inet = reinterpret_cast<sockaddr_in&>(address.storage);
    inet.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.bytes = sizeof(inet);
  } else {
    auto& inet = reinterpret_cast<sockaddr_in6&>(address.storage);
    inet.sin6_addr = in6addr_loopback;
    address.bytes = sizeof(inet);
  }
  address.storage.ss_family = static_cast<sa_family_t>(family);
  return address;
}

// The two ends of a connection.
struct Ends {
  int listener = -1;
  int client = -1;
  int server = -1;

  bool are_open() const { return server >= 0; }
};

inline bool send_all(int fd, std::size_t bytes) {
  const std::vector<char> data(bytes, 'x');
  return ::send(fd, data.data(), bytes, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes);
}

inline bool receive_all(int fd, std::size_t bytes) {
  std::vector<char> data(bytes);
  return ::recv(fd, data.data(), bytes, MSG_WAITALL) == static_cast<ssize_t>(bytes);
}

class KernelNet : public KernelTest, public testing::WithParamInterface<int> {
protected:
  void record(const std::function<int()>& body) {
    set_begin();
    recording_ = Recording::among_others({.layers = {schema::Layer::net}}, body);
    if (!recording_.refusal().empty())
      return;
    check_child_and_account();
    EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_connection_unknown), 0U);
    EXPECT_EQ(recording_.counter(IOT_COUNTER_kernel_connection_untracked), 0U);
    if (is_emulated()) {
      EXPECT_EQ(missed(), 0U) << "docs/adr/0007";
    }
  }

  std::uint64_t missed() const { return recording_.counter(IOT_COUNTER_kernel_connection_missed); }

  // Retransmitted segments of a connection, by the kernel's own count.
  std::uint64_t segments_sent_again(std::uint64_t connection) const {
    std::uint64_t most = 0;
    for (const Row& row : recording_.rows("net_state", "connection", connection))
      most = std::max(most, row.u("segments_retransmitted"));
    return most;
  }

  std::vector<Row> changes(std::uint64_t old_state, std::uint64_t new_state) const {
    std::vector<Row> rows = recording_.rows("net_state", "old_state", old_state);
    std::erase_if(rows, [&](const Row& row) { return row.u("new_state") != new_state; });
    return rows;
  }

  Row change(std::uint64_t old_state, std::uint64_t new_state) const {
    const std::vector<Row> rows = changes(old_state, new_state);
    EXPECT_EQ(rows.size(), 1U) << old_state << " to " << new_state;
    return rows.size() == 1 ? rows.front() : Row();
  }

  // The states of a connection, in order.
  std::vector<std::uint64_t> states_of(std::uint64_t connection) const {
    std::vector<std::uint64_t> states;
    for (const Row& row : recording_.rows("net_state", "connection", connection))
      states.push_back(row.u("new_state"));
    return states;
  }

  void check(const Row& row, bool is_own_doing) const {
    check_event(row);
    EXPECT_EQ(row.u("op_id") != 0, is_own_doing);
    EXPECT_NE(row.u("connection"), 0U);
  }

  // Checks that the ends of a connection agree on their addresses.
  void check_addresses(const Row& client, const Row& server, int family) const {
    const std::string host = family == AF_INET ? "127.0.0.1:" : "[::1]:";
    EXPECT_TRUE(text(client, "local").starts_with(host)) << text(client, "local");
    EXPECT_TRUE(text(client, "peer").starts_with(host)) << text(client, "peer");
    EXPECT_FALSE(text(client, "local").ends_with(":0"));
    EXPECT_NE(text(client, "local"), text(client, "peer"));
    EXPECT_EQ(text(client, "local"), text(server, "peer"));
    EXPECT_EQ(text(client, "peer"), text(server, "local"));
    EXPECT_EQ(client.u("family"), static_cast<std::uint64_t>(family));
    EXPECT_EQ(server.u("family"), static_cast<std::uint64_t>(family));
  }

  std::string text(const Row& row, std::string_view column) const {
    return recording_.string(row.u(column));
  }
};

inline std::string name_of_family(const testing::TestParamInfo<int>& family) {
  return family.param == AF_INET ? "ipv4" : "ipv6";
}

} // namespace iotrail::live
