// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace iotrail::capture::kernel {

// A struct sockaddr as text: "192.0.2.1:80", "[2001:db8::1]:80", "unix:/run/x", "unix:@abstract", "unix:" (no name),
// "netlink:7", else "family 40". The bytes may be any: they come from the memory of a traced program.
std::string socket_address_text(std::span<const std::byte> address);

} // namespace iotrail::capture::kernel
