// SPDX-License-Identifier: BSD-3-Clause
#include "capture/kernel/collect/socket_address.hpp"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

namespace iotrail::capture::kernel {
namespace {

// Missing bytes read as zeros.
template <class Address> Address read(std::span<const std::byte> bytes) {
  Address address{};
  const std::span<std::byte> into = std::as_writable_bytes(std::span(&address, 1));
  std::ranges::copy(bytes.first(std::min(bytes.size(), into.size())), into.begin());
  return address;
}

// A path ends at its NUL. An abstract name, which begins with a NUL, ends with the address.
std::string unix_text(std::span<const std::byte> bytes) {
  constexpr std::size_t kNameAt = offsetof(sockaddr_un, sun_path);
  if (bytes.size() <= kNameAt)
    return "unix:";
  const std::string_view name(reinterpret_cast<const char*>(bytes.data()) + kNameAt,
                              bytes.size() - kNameAt);
  if (name.front() == 0)
    return fmt::format("unix:@{}", name.substr(1));
  return fmt::format("unix:{}", name.substr(0, name.find(char{})));
}

} // namespace

std::string socket_address_text(std::span<const std::byte> address) {
  char text[INET6_ADDRSTRLEN] = "";
  const sa_family_t family = read<sockaddr>(address).sa_family;
  switch (family) {
  case AF_INET: {
    const auto inet = read<sockaddr_in>(address);
    ::inet_ntop(AF_INET, &inet.sin_addr, text, sizeof(text));
    return fmt::format("{}:{}", text, ntohs(inet.sin_port));
  }
  case AF_INET6: {
    const auto inet = read<sockaddr_in6>(address);
    ::inet_ntop(AF_INET6, &inet.sin6_addr, text, sizeof(text));
    return fmt::format("[{}]:{}", text, ntohs(inet.sin6_port));
  }
  case AF_UNIX:
    return unix_text(address);
  case AF_NETLINK:
    return fmt::format("netlink:{}", read<sockaddr_nl>(address).nl_pid);
  default:
    return fmt::format("family {}", family);
  }
}

} // namespace iotrail::capture::kernel
