// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/socket_address.hpp"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace iotrail::capture::kernel {
namespace {

template <class Address>
std::string text_of(const Address& address, std::size_t bytes = sizeof(Address)) {
  return socket_address_text(std::as_bytes(std::span(&address, 1)).first(bytes));
}

TEST(SocketAddress, internet) {
  sockaddr_in four{.sin_family = AF_INET,
                   .sin_port = htons(80),
                   .sin_addr = {htonl(0xc0000201)},
                   .sin_zero = {}};
  EXPECT_EQ(text_of(four), "192.0.2.1:80");
  sockaddr_in6 six{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(443);
  ASSERT_EQ(::inet_pton(AF_INET6, "2001:db8::1", &six.sin6_addr), 1);
  EXPECT_EQ(text_of(six), "[2001:db8::1]:443");
}

TEST(SocketAddress, unix_domain) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  EXPECT_EQ(text_of(address, sizeof(sa_family_t)), "unix:");
  std::memcpy(address.sun_path, "/run/x", 7);
  EXPECT_EQ(text_of(address), "unix:/run/x");
  EXPECT_EQ(text_of(address, sizeof(sa_family_t) + 4), "unix:/run") << "no NUL";
  std::memcpy(address.sun_path, "\0name", 5);
  EXPECT_EQ(text_of(address, sizeof(sa_family_t) + 5), "unix:@name");
}

TEST(SocketAddress, others) {
  sockaddr_nl netlink{};
  netlink.nl_family = AF_NETLINK;
  netlink.nl_pid = 7;
  EXPECT_EQ(text_of(netlink), "netlink:7");
  const sockaddr vsock{.sa_family = AF_VSOCK, .sa_data = {}};
  EXPECT_EQ(text_of(vsock), "family 40");
}

TEST(SocketAddress, any_bytes_of_any_length_have_a_text) {
  std::mt19937 random(1);
  for (std::size_t bytes = 0; bytes <= 128; ++bytes)
    for (const int number : {AF_UNSPEC, AF_UNIX, AF_INET, AF_INET6, AF_NETLINK}) {
      const auto family = static_cast<sa_family_t>(number);
      std::vector<std::byte> address(bytes);
      for (std::byte& byte : address)
        byte = static_cast<std::byte>(random());
      const auto of_family = std::as_bytes(std::span(&family, 1));
      std::ranges::copy(of_family.first(std::min(bytes, of_family.size())), address.begin());
      EXPECT_FALSE(socket_address_text(address).empty());
    }
}

} // namespace
} // namespace iotrail::capture::kernel
