// SPDX-License-Identifier: BSD-3-Clause
//
// Checks a mount before it is made.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <ranges>
#include <string_view>

#include "capture/fuse/fuse_source.hpp"
#include "capture/selection/mounts.hpp"

namespace iotrail::capture {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFuseDevice = "/dev/fuse";

bool is_inside(const fs::path& path, const fs::path& directory) {
  return std::ranges::mismatch(directory, path).in1 == directory.end();
}

Result<void> check_device() {
  struct stat device{};
  if (::stat(kFuseDevice, &device) != 0)
    return fail("cannot mount: this machine has no /dev/fuse", {},
                "Load the kernel's module (modprobe fuse); in a container, pass the device "
                "(--device /dev/fuse).");
  if (::access(kFuseDevice, R_OK | W_OK) != 0)
    return fail(fmt::format("cannot mount: /dev/fuse has mode {:04o}, which keeps this user out",
                            device.st_mode & 07777U),
                {},
                "As root: chmod 0666 /dev/fuse, as most systems have it; or run iotrail as root.");
  return {};
}

Result<void> check_helper() {
  if (::geteuid() == 0)
    return {};
  const char* const path = std::getenv("PATH");
  for (const auto part : std::views::split(std::string_view(path == nullptr ? "" : path), ':'))
    if (::access((fs::path(std::string_view(part)) / "fusermount3").c_str(), X_OK) == 0)
      return {};
  return fail("cannot mount: there is no program fusermount3 in PATH",
              "a user who is not root mounts through it",
              "Install it (Debian package fuse3), or run iotrail as root.");
}

Result<void> check_directory(std::string_view what, const fs::path& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) == 0)
    return S_ISDIR(found.st_mode)
               ? Result<void>()
               : fail(fmt::format("{} {}", what, path.native()), "it is not a directory");
  if (errno == ENOTCONN)
    return fail(fmt::format("{} {}", what, path.native()),
                "the program of the FUSE mount there has ended",
                fmt::format("Take it away first: fusermount3 -u {}", path.native()));
  return fail_errno(fmt::format("{} {}", what, path.native()));
}

Result<void> check_point(const fs::path& point) {
  const std::vector<Mount> mounts = read_mounts();
  const auto mounted = std::ranges::find(mounts, point.native(), &Mount::point);
  if (mounted != mounts.end())
    return fail(fmt::format("mount point {}", point.native()),
                fmt::format("{} ({}) is mounted there", mounted->source, mounted->type),
                "Name another directory, or unmount that first.");
  std::error_code error;
  if (fs::directory_iterator(point, error) != fs::directory_iterator())
    return fail(fmt::format("mount point {}", point.native()),
                "it is not empty, and the mount would hide its files", "Name an empty directory.");
  return {};
}

} // namespace

Result<void> check_mount_point(const fs::path& point) {
  if (Result<void> checked = check_directory("mount point", point); !checked)
    return checked;
  if (Result<void> checked = check_point(point); !checked)
    return checked;
  if (Result<void> checked = check_device(); !checked)
    return checked;
  return check_helper();
}

Result<void> check_mount(const MountOptions& options) {
  if (Result<void> checked = check_directory("backend", options.backend); !checked)
    return checked;
  if (Result<void> checked = check_directory("mount point", options.point); !checked)
    return checked;
  std::error_code error;
  const fs::path backend = fs::canonical(options.backend, error);
  const fs::path point = fs::canonical(options.point, error);
  if (is_inside(point, backend) || is_inside(backend, point))
    return fail(fmt::format("mount point {}", point.native()),
                fmt::format("it is {} the backend {}, so that the mount would show itself",
                            point == backend            ? "the same directory as"
                            : is_inside(point, backend) ? "inside"
                                                        : "above",
                            backend.native()),
                "Name a directory outside.");
  return check_mount_point(point);
}

} // namespace iotrail::capture
