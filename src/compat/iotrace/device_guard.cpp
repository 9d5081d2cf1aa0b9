// SPDX-License-Identifier: BSD-3-Clause
#include "compat/iotrace/device_guard.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <algorithm>
#include <cstddef>

namespace iotrail::compat::iotrace {
namespace {

struct Address {
  sockaddr_un socket{};
  socklen_t bytes = 0;

  explicit Address(std::uint32_t device) {
    constexpr unsigned kMinorBits = 20;
    const std::string name = fmt::format("iotrail-iotrace-{}:{}", device >> kMinorBits,
                                         device & ((1U << kMinorBits) - 1));
    socket.sun_family = AF_UNIX;
    std::ranges::copy(name, socket.sun_path + 1); // after a zero: not in the file system
    bytes = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&socket); }
};

// The process that listens there; 0: unknown.
pid_t holder_of(const Address& address) {
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  ucred peer{};
  socklen_t bytes = sizeof peer;
  if (!fd || ::connect(fd.get(), address.get(), address.bytes) != 0 ||
      ::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &bytes) != 0)
    return 0;
  return peer.pid;
}

} // namespace

Result<DeviceGuard> DeviceGuard::take(std::uint32_t device, const std::string& path) {
  const Address address(device);
  Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (fd && ::bind(fd.get(), address.get(), address.bytes) == 0 && ::listen(fd.get(), 1) == 0)
    return DeviceGuard(std::move(fd));
  if (const int code = errno; !fd || code != EADDRINUSE)
    return fail_errno(fmt::format("cannot guard {} against a second tracer", path), code);
  const pid_t holder = holder_of(address);
  return fail(fmt::format("cannot trace {}", path),
              holder == 0 ? "another iotrace traces it"
                          : fmt::format("another iotrace traces it: process {}", holder),
              "Stop that one first (Ctrl-C, or SIGTERM); `iotrail record` may run beside it.");
}

} // namespace iotrail::compat::iotrace
